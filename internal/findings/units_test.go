package findings

import (
	"testing"

	"enhance/clrt"
	"enhance/conv"
)

// described is a device that is known by its description alone.
func described(t *testing.T) *Device {
	t.Helper()
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	return &Device{Info: &clrt.DeviceInfo{Platform: "p", Name: t.Name(), DriverVersion: "1"}}
}

// TestNotedUnits: units that work are noted, and those that do not are asked for again.
func TestNotedUnits(t *testing.T) {
	matrix, both := conv.Units{Matrix: true}, conv.Units{Matrix: true, Warpgroup: true}
	for _, c := range []struct{ units, asked, want conv.Units }{
		{conv.Units{}, matrix, conv.Units{}},
		{matrix, matrix, matrix},
		{matrix, both, matrix},
		{both, both, both},
	} {
		d := described(t)
		d.NoteUnits(t.Context(), &Units{c.units, c.asked})
		got := d.NotedUnits()
		if got != (Units{c.want, c.want}) {
			t.Errorf("%v of %v: noted %v of %v", c.units, c.asked, got.Units, got.asked)
		}
		never := func() bool { return false }
		always := func() bool { return true }
		if got.AskedMatrix() != c.want.Matrix || got.Known(never) != c.want.Matrix || got.Known(always) != c.want.Warpgroup {
			t.Errorf("%v of %v: asked %v, known %v without warpgroups, %v with them", c.units, c.asked, got.AskedMatrix(), got.Known(never), got.Known(always))
		}
	}
	if u := GPUUnits(false, false); !u.Known(func() bool { return true }) {
		t.Error("a GPU that is known to have no matrix units is to be asked for them")
	}
}
