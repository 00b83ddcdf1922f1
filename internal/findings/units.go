package findings

import (
	"context"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/amx"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
)

// Units are the arithmetic units that a device has, of those it was asked for. Kernels depend on whether
// it has matrix units, and which. A process finds that out by trying them. That they work is noted, so that
// later processes plan while the device is still being opened; that they do not is found out again by each.
type Units struct {
	// Units are those found. Octets need no question of their own, and are not among them.
	conv.Units
	asked conv.Units // a CPU with tile registers is asked for no others
}

const (
	matrixNote    = "matrix units"
	warpgroupNote = "matrix units of warpgroups"
	unitsWork     = "right"
)

// GPUUnits are those of a GPU, known without asking it.
func GPUUnits(matrix, warpgroup bool) Units {
	return Units{conv.Units{Matrix: matrix, Warpgroup: warpgroup}, conv.Units{Matrix: true, Warpgroup: true}}
}

// HasPairs reports whether products of bfloat16 were asked for and found.
func (u *Units) HasPairs() bool { return u.Tiles || u.Pairs }

// AskedMatrix reports whether a GPU was asked for its matrix units.
func (u *Units) AskedMatrix() bool { return u.asked.Matrix }

// Known reports whether a GPU was asked for its matrix units, and for Hopper's where these may be used.
func (u *Units) Known(warpgroups func() bool) bool {
	return u.asked.Matrix && (!u.Matrix || u.asked.Warpgroup || !warpgroups())
}

// askOnce finds out whether the device has one of its units, unless that was asked before.
func askOnce(has, asked *bool, ask func() (bool, error)) (err error) {
	if !*asked {
		*has, err = ask()
		*asked = err == nil
	}
	return err
}

// AskCPU asks a CPU once for tile registers and, if there are none, for products of codes or of bfloat16
// without them, which k compiles.
func (u *Units) AskCPU(cl *clrt.Context, k clrt.Compiler, codes, bf16 bool) error {
	err := askOnce(&u.Tiles, &u.asked.Tiles, func() (bool, error) { return amx.Probe(cl) })
	if err == nil && codes && !u.Tiles {
		err = askOnce(&u.VNNI, &u.asked.VNNI, func() (bool, error) { return conv.ProbeVNNI(cl, k) })
	}
	if err == nil && bf16 && !u.Tiles {
		err = askOnce(&u.Pairs, &u.asked.Pairs, func() (bool, error) { return conv.ProbePairs(cl, k) })
	}
	return err
}

// AskGPU asks a GPU once for matrix units and, if warpgroups says so, for Hopper's. Ahead, if not nil, is called
// before Hopper's are tried, if the device should have them.
func (u *Units) AskGPU(cl *clrt.Context, warpgroups func() bool, ahead func()) error {
	err := askOnce(&u.Matrix, &u.asked.Matrix, func() (bool, error) { return mma.Probe(cl) })
	if err != nil || !u.Matrix || !warpgroups() {
		return err
	}
	return askOnce(&u.Warpgroup, &u.asked.Warpgroup, func() (bool, error) {
		if ahead != nil && wgmma.Likely(cl) {
			ahead()
		}
		return wgmma.Probe(cl)
	})
}

// NotedUnits are those of a GPU that were found to work before.
func (d *Device) NotedUnits() Units {
	table, _ := d.Store().Load()
	var found conv.Units
	found.Matrix = table.Notes[matrixNote] == unitsWork
	found.Warpgroup = found.Matrix && table.Notes[warpgroupNote] == unitsWork
	return Units{found, found} // what does not work is found out again
}

// NoteUnits notes a GPU's units that work.
func (d *Device) NoteUnits(ctx context.Context, u *Units) {
	found := map[string]bool{matrixNote: u.Matrix, warpgroupNote: u.Warpgroup}
	d.keepNotes(ctx, func(notes map[string]string) {
		for note, works := range found {
			if works {
				notes[note] = unitsWork
			}
		}
	})
}
