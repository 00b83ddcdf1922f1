package octets

import (
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

// streamForm is how a work-group divides its work whose weights pass through local memory (see stream.cl).
type streamForm struct {
	nt     int // octets of outputs
	r      int // rows of a team
	teams  int // warpgroups, one below the other
	slots  int // patches of a stage in local memory, at least 2
	pieces int // pieces of weights in local memory, at least 3
	frags  int // rows of pixels in registers, at least 2
}

// String is the part of a name that says the form.
func (f streamForm) String() string {
	return fmt.Sprintf("n%d_r%d_t%d_s%d_p%d_f%d", f.nt, f.r, f.teams, f.slots, f.pieces, f.frags)
}

// resident is the variant whose weights are packed alike.
func (f streamForm) resident() variant {
	return variant{nt: f.nt, r: f.r, teams: f.teams, os: 2, slots: 2}
}

// localBytes is the size of pieces, patches, biases, slopes, scales and barriers, as stream.cl defines them.
func (f streamForm) localBytes(k, stages int, scaled bool) int {
	patch := 2 * (f.r*f.teams + k - 1) * (tileW + k - 1) * 16
	n := f.pieces*(k*f.nt*8*32+16) + f.slots*(patch+16) + f.nt*8*8
	if scaled {
		n += mostStages(stages) * 128
	}
	return n
}

// mostStages is for how many stages a kernel has memory that has them for stages: few programs do for all networks.
func mostStages(stages int) int { return ceilDiv(stages, 32) * 32 }

// sums is how many sums a lane can have beside what it else needs.
const sums = 128

// chooseStream gives the form for a shape by what the work-group with most tiles has to do on cores compute
// units. Each row of a team costs a little more than its products: the fewer rows, the more often pixels and
// weights are read. Every number of rows is a program of its own, which takes a second to compile, so there are
// few.
func chooseStream(s conv.Shape, cores int) streamForm {
	const extra = 0.25 // rows' worth
	tiles, across := ceilDiv(s.OutC, 8), ceilDiv(s.W, tileW)
	var best streamForm
	least := math.Inf(1)
	for _, most := range []int{maxOctets, maxOctets / 2} {
		groups := ceilDiv(tiles, most)
		nt := ceilDiv(tiles, groups)
		for _, r := range []int{6, 4, 3, 2, 1} {
			if r > 1 && 4*nt*r > sums {
				continue
			}
			f := streamForm{nt: nt, r: r, teams: 3, frags: 3}
			turns := ceilDiv(ceilDiv(s.H, r*f.teams)*across, max(cores/groups, 1))
			if cost := float64(turns*nt) * (float64(r) + extra); cost < least*0.99 && f.fill(s) {
				best, least = f, cost
			}
		}
	}
	return best
}

// fill gives patches and pieces the local memory that there is, and reports whether that is enough.
func (f *streamForm) fill(s conv.Shape) bool {
	for _, try := range [][2]int{{4, 6}, {3, 6}, {3, 4}, {2, 4}, {2, 3}} {
		f.slots, f.pieces = try[0], try[1]
		if f.localBytes(s.K, f.stages(s), true) <= localMem {
			for more := *f; more.pieces < 16 && more.localBytes(s.K, more.stages(s), true) <= localMem; more.pieces++ {
				*f = more
			}
			return true
		}
	}
	return false
}

func (f streamForm) stages(s conv.Shape) int { return ceilDiv(len(octetOrder(s.SrcC)), 2) }

// stream is a convolution whose weights pass through local memory.
type stream struct {
	*impl
	form   streamForm
	sums   bool // leaves statistics behind
	scaled bool // applies scales, then pre, to its source
	pre    fuse.Act
}

func newStream(m *impl, f streamForm) (*stream, error) {
	if f.nt == 0 {
		return nil, fmt.Errorf("conv: octets has no form for %v in %d bytes of local memory", m.shape, localMem)
	}
	s := *m
	s.variant = f.resident()
	if n := f.localBytes(s.shape.K, s.stages(), true); n > localMem {
		return nil, fmt.Errorf("conv: octets needs %d bytes of local memory for %s, there are %d", n, f, localMem)
	}
	return &stream{impl: &s, form: f}, nil
}

// Scaled implements [conv.Scaling].
func (m *stream) Scaled(pre fuse.Act) conv.Impl {
	if len(m.shape.SrcC) != 1 {
		return nil
	}
	s := *m
	s.scaled, s.pre = true, pre
	return &s
}

// Summed implements [conv.Summing].
func (m *stream) Summed() (conv.Impl, conv.StatsTile) {
	s := *m
	s.sums = true
	return &s, m.statsTile()
}

// statsTile is what a warp makes of a tile.
func (m *stream) statsTile() conv.StatsTile {
	return conv.StatsTile{Rows: m.form.r, Columns: tileW / 4}
}

func (m *stream) name() string {
	s := m.shape
	name := fmt.Sprintf("conv_octets_stream_k%d_%s_m%d_act%d_%d%d%d", s.K, m.form, mostStages(m.stages()), s.Act, m.residuals(), b2i(s.OutC%8 != 0), b2i(!s.OctetsOut))
	if m.normed() {
		name += fmt.Sprintf("_pre%d", m.preCompiled())
	}
	if m.sums {
		name += "_sums"
	}
	return name
}

// normed reports whether the kernel can apply a norm to its source: with statistics it always can, so that a network has one
// program of both.
func (m *stream) normed() bool { return m.scaled || m.sums }

// preCompiled is the activation behind the norm that the kernel is compiled for: none is leaky ReLU by 1, to the bit.
func (m *stream) preCompiled() fuse.Act {
	if m.pre == fuse.NoAct {
		return fuse.LeakyReLU
	}
	return m.pre
}

// residuals is impl's, but that there are none beside statistics.
func (m *stream) residuals() int {
	if m.sums || m.shape.NoResidual {
		return 0
	}
	return m.impl.residuals()
}

func (m *stream) Kernels() []conv.Kernel {
	f, s := m.form, m.shape
	text := kerneltext.Define(streamedCL(), "NAME", m.name(), "END_NAME", m.name()+"_end", "KS", s.K, "NT", f.nt, "R", f.r, "TEAMS", f.teams, "SLOTS", f.slots, "PIECES", f.pieces,
		"FRAGS", f.frags, "MOST_STAGES", mostStages(m.stages()), "ACT", int(s.Act), "RESIDUALS", m.residuals(), "RAGGED", b2i(s.OutC%8 != 0), "PLANAR", b2i(!s.OctetsOut),
		"SUMS", b2i(m.sums), "SCALED", b2i(m.normed()), "PRE", int(m.preCompiled()))
	return []conv.Kernel{{Name: m.name(), Source: planar.OctetsSource() + instructionsCL() + text}}
}

func (m *stream) Granule() int {
	if m.sums { // the tiles of statistics lie at multiples of their height in the plane
		return m.form.r
	}
	return 1
}

func (m *stream) Scratch(rows int) int64 {
	if m.sums {
		return m.statsTile().Bytes(m.shape, rows)
	}
	return 0
}

// Shared counts tiles that all work-groups compute while one has its last.
func (m *stream) Shared(rows int) float64 {
	across, tileH := ceilDiv(max(m.shape.W, 1), tileW), m.form.r*m.form.teams
	workers := max(m.cores/m.groups(), 1)
	return float64(ceilDiv(across*ceilDiv(rows, tileH), workers)*workers*tileH) / float64(across)
}

func (m *stream) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args, global, local := m.launch(packed, a)
	return args.Launch(q, k[0], global, local)
}

// launch lists the kernel's arguments and sizes.
func (m *stream) launch(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int) {
	f := m.form
	args = m.arguments(packed, a, a.Slope)
	if m.sums {
		args.Buffer(a.Scratch)
	}
	switch {
	case m.scaled && m.pre == fuse.NoAct:
		args.Ring(a.Scales).Float(1)
	case m.scaled:
		args.Ring(a.Scales).Float(a.PreSlope)
	case m.sums:
		none := a.Dst
		none.Buf = nil
		args.Ring(none).Float(0)
	}
	tiles := ceilDiv(a.Y1-a.Y0, f.r*f.teams) * ceilDiv(a.Dst.W, tileW)
	workers := min(tiles, max(m.cores/m.groups(), 1))
	return args, []int{workers * m.groups() * team * f.teams}, []int{team * f.teams}
}
