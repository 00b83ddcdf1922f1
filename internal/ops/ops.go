// Package ops holds the steps of a network that are not convolutions: pooling,
// enlargement, pointwise arithmetic, pixel shuffle and instance normalisation.
package ops

import (
	_ "embed"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed lines.cl
var linesCL string

//go:embed enlarge.cl
var enlargeCL string

//go:embed ops.cl
var opsCL string

//go:embed rowstats.cl
var rowStatsCL string

//go:embed norm.cl
var normCL string

// Source is the text of the kernels of Ops, without the prelude. Those of norms are left out where nobody
// needs them, as compilers take as long for them as for the rest.
func Source(c conv.Caps, norms bool) string {
	if !norms {
		return linesCL + enlargeCL + opsCL
	}
	rowStats := kerneltext.Define(rowStatsCL, "NAME", "norm_row_stats", "LS", reduceItems(c), "STORED", "data_t",
		"LINE", "__global const data_t *line = src + ring_row(rs, y) + (size_t)c * R_PITCH(rs);", "EIGHT(x)", "load8(line + (x))")
	return linesCL + enlargeCL + opsCL + rowStats + kerneltext.Define(normCL, "MS", mergeItems(c), "SIDE", mergeSide(c), "ACROSS", across(c), "SLICES", slices(c))
}

// mergeItems is the number of work-items that merge the statistics of a plane,
// for mergeSide channels.
func mergeItems(c conv.Caps) int {
	if c.CPU || c.MaxWorkGroup < 256 {
		return reduceItems(c)
	}
	return 256
}

// across and slices are the sides of a group that merges tiles.
func across(c conv.Caps) int { return min(32, max(c.MaxWorkGroup, 1)) }

func slices(c conv.Caps) int {
	if c.CPU || c.MaxWorkGroup < 8*across(c) {
		return 1
	}
	return 8
}

func mergeSide(c conv.Caps) int { return min(2, mergeItems(c)) }

// reduceItems is the number of work-items that share a reduction.
func reduceItems(c conv.Caps) int {
	if c.CPU || c.MaxWorkGroup < 64 {
		return 1
	}
	return 64
}

// columns is the local size along a line: whole vectors for a CPU, whose work-item
// loop the compiler vectorises, and a warp or two for a GPU.
func columns(c conv.Caps) int { return min(64, max(c.MaxWorkGroup, 1)) }

// local is the local size along a line of so many work-items. Drivers of CPUs compile a kernel
// once more for each size of its work-groups: there all lines have the same.
func local(c conv.Caps, items int) int {
	if c.CPU {
		return columns(c)
	}
	return min(columns(c), items)
}

// Makes reports whether a step of a program is done by Ops, and whether by the kernels of norms.
func Makes(p *fuse.Program, s *fuse.Step) (makes, norms bool) {
	switch s.Kind {
	case fuse.MaxPool, fuse.Upsample, fuse.Shuffle, fuse.Pointwise:
		return !MakesOctets(p, s) && !MakesPairs(p, s), false
	case fuse.RowStats, fuse.Affine:
		return true, true
	}
	return false, false
}

// Ops are the kernels of Source, compiled.
type Ops struct{ kernels }

// New takes the kernels from a program built with Source.
func New(p *clrt.Program, q *clrt.Queue, c conv.Caps, norms bool) (*Ops, error) {
	names := []string{"ops_max_pool", "ops_upsample", "ops_pointwise", "ops_shuffle"}
	if norms {
		names = append(names, "norm_row_stats", "norm_merge_tiles", "norm_affine", "norm_group")
	}
	k, err := takeKernels(p, q, c, names...)
	if err != nil {
		return nil, err
	}
	return &Ops{k}, nil
}

// Close releases the kernels.
func (o *Ops) Close() {
	if o != nil {
		o.release()
	}
}

// samples launches a kernel with a work-item for every eight columns of rows [y0,y1) of
// dst.
func (o *Ops) samples(name string, dst planar.Ring, y0, y1 int, args *conv.KernelArgs) error {
	items := (dst.W + 7) / 8
	lx := local(o.caps, items)
	ly := channels(o.caps, lx, dst.C)
	return args.Launch(o.q, o.all[name], []int{(items + lx - 1) / lx * lx, dst.C, y1 - y0}, []int{lx, ly, 1})
}

// channels is the local size across c channels beside lx work-items along a line:
// groups of two or three warps keep too few bytes on their way on large GPUs,
// which start only so many groups at a time.
func channels(c conv.Caps, lx, all int) int {
	ly := 1
	for !c.CPU && all%(2*ly) == 0 && 2*ly*lx <= min(256, c.MaxWorkGroup) {
		ly *= 2
	}
	return ly
}

// MaxPool makes rows [y0,y1) of dst, each sample the largest of a 2×2 block of src.
func (o *Ops) MaxPool(src, dst planar.Ring, y0, y1 int) error {
	return o.samples("ops_max_pool", dst, y0, y1, new(conv.KernelArgs).Ring(src).Ring(dst).Int(y0))
}

// Upsample makes rows [y0,y1) of dst by bilinear enlargement of src, plus res, which may
// have no buffer.
func (o *Ops) Upsample(src, res, dst planar.Ring, y0, y1 int, alignCorners bool) error {
	align := 0
	if alignCorners {
		align = 1
	}
	return o.samples("ops_upsample", dst, y0, y1, new(conv.KernelArgs).Ring(src).Ring(res).Ring(dst).Int(y0, align))
}

// Pointwise makes rows [y0,y1) of dst = act(src·scale+shift) + res. scales is what
// Affine made, c0 the channel of it that src's first is; scales.Buf and res.Buf
// may be nil.
func (o *Ops) Pointwise(src, scales planar.Ring, c0 int, res, dst planar.Ring, y0, y1 int, act fuse.Act, slope float32) error {
	if res.Buf == nil {
		res = dst
		res.Buf = nil
	}
	args := new(conv.KernelArgs).Ring(src).Ring(scales).Int(c0).Ring(res).Ring(dst).Int(y0, int(act)).Float(slope)
	return o.samples("ops_pointwise", dst, y0, y1, args)
}

// Shuffle makes rows [y0,y1) of dst by the pixel shuffle of src.
func (o *Ops) Shuffle(src, dst planar.Ring, y0, y1 int) error {
	return o.samples("ops_shuffle", dst, y0, y1, new(conv.KernelArgs).Ring(src).Ring(dst).Int(y0))
}

// RowStats writes the statistics of rows [y0,y1) of src to stats, which has as
// many channels.
func (o *Ops) RowStats(src, stats planar.Ring, y0, y1 int) error {
	ls := reduceItems(o.caps)
	return new(conv.KernelArgs).Ring(src).Ring(stats).Int(y0).Launch(o.q, o.all["norm_row_stats"], []int{ls, src.C, y1 - y0}, []int{ls, 1, 1})
}

// MergeStats writes the statistics of rows [y0,y1) to stats from those of their
// tiles; the rows of a tile share its statistics evenly.
func (o *Ops) MergeStats(buf *clrt.Buffer, p conv.StatsTile, stats planar.Ring, y0, y1 int) error {
	args := new(conv.KernelArgs).Buffer(buf).Int(p.Rows, p.Columns).Ring(stats).Int(y0, y1)
	lx, n := across(o.caps), slices(o.caps)
	return args.Launch(o.q, o.all["norm_merge_tiles"], []int{(stats.C + lx - 1) / lx * lx, (y1 - y0 + p.Rows - 1) / p.Rows * n}, []int{lx, n})
}

// Affine merges all rows of statistics of a plane into scales; params holds a
// weight for each channel, then a bias for each, then an eps for each. together is how many
// channels have mean and variance in common; 0: every channel has its own.
func (o *Ops) Affine(stats planar.Ring, params *clrt.Buffer, scales planar.Ring, together int) error {
	side, ms := mergeSide(o.caps), mergeItems(o.caps)
	args := new(conv.KernelArgs).Ring(stats).Buffer(params).Ring(scales).Int(min(together, 1))
	err := args.Launch(o.q, o.all["norm_affine"], []int{(stats.C + side - 1) / side * ms}, []int{ms})
	if err != nil || together == 0 {
		return err
	}
	samples := float32(stats.H) * float32(stats.W)
	return new(conv.KernelArgs).Ring(scales).Buffer(params).Int(together).Float(samples).Launch(o.q, o.all["norm_group"], []int{stats.C / together}, []int{1})
}
