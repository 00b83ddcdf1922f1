package exec_test

import (
	"errors"
	"fmt"
	"slices"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// naive is direct-naive with the kernels of all sides in every program, so
// that all random networks are compiled as one. It claims a granule, and refuses
// launches that do not keep it.
type naive struct {
	conv.Simple
	granule int
}

var sides = []int{1, 3, 5, 7, 9}

func (m naive) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	c.MaxWorkGroup = min(c.MaxWorkGroup, 16) // planes are narrow, and drivers of CPUs make all of a work-group
	impl, err := m.Simple.New(c, s, p)
	if err != nil {
		return nil, err
	}
	d := &naiveImpl{Impl: impl, granule: m.granule, h: s.H, at: slices.Index(sides, s.K)}
	for _, k := range sides {
		s.K = k
		other, err := m.Simple.New(c, s, p)
		if err != nil {
			return nil, err
		}
		d.kernels = append(d.kernels, other.Kernels()...)
	}
	d.kernels = append(d.kernels, conv.Kernel{Name: "test_pieces", Source: piecesCL}, conv.Kernel{Name: "test_norm", Source: normCL})
	d.shape, d.precision = s, p
	return d, nil
}

// piecesCL makes partial statistics (see conv.Summing) of what was stored.
const piecesCL = `
__kernel void test_pieces(__global const data_t *src, ring_t r, __global float *pieces, int rows, int columns, int y0) {
    const int i = get_global_id(0), c = get_global_id(1), down = get_global_id(2), all = R_C(r);
    const int x0 = i * columns, x1 = min(x0 + columns, R_W(r));
    const int first = y0 + down * rows, end = min(first + rows, R_H(r));
    float mean = 0.0f, m2 = 0.0f;
    for (int k = 0; k < 2; k++)
        for (int y = first; y < end; y++) {
            __global const data_t *line = src + ring_row(r, y) + (size_t)c * R_PITCH(r);
            for (int x = x0; x < x1; x++) {
                if (k == 0) mean += LD1(line, x) / (float)((x1 - x0) * (end - first));
                else m2 += (LD1(line, x) - mean) * (LD1(line, x) - mean);
            }
        }
    __global float *to = pieces + ((size_t)down * get_global_size(0) + i) * (2 * all) + c;
    to[0] = mean;
    to[all] = m2;
}
`

// normCL normalises all slots of a ring into another.
const normCL = `
__kernel void test_norm(__global const data_t *src, ring_t r, __global data_t *dst, ring_t rd, __global const float *scales, ring_t rs, int act, float slope) {
    const int x = (int)get_global_id(0) - RIM, c = get_global_id(1), y = get_global_id(2);
    scales += R_FLOATS(rs) + R_FIRST(rs) + c;
    const float v = fma(LD1(src, ring_row(r, y) + (size_t)c * R_PITCH(r) + x), scales[0], scales[R_ALL(rs)]);
    ST1(activate(v, act, slope), dst, ring_row(rd, y) + (size_t)c * R_PITCH(rd) + x);
}
`

type naiveImpl struct {
	conv.Impl
	granule, h, at int
	kernels        []conv.Kernel
	shape          conv.Shape
	precision      planar.Precision
	sums, scaled   bool
	pre            fuse.Act
}

// Scaled implements conv.Scaling, by a copy of the source in scratch.
func (d *naiveImpl) Scaled(pre fuse.Act) conv.Impl {
	s := *d
	s.scaled, s.pre = true, pre
	return &s
}

// source is the tensor that a convolution with one source reads.
func (d *naiveImpl) source() fuse.Tensor {
	return fuse.Tensor{Shape: model.Shape{C: d.shape.InC(), H: d.shape.H, W: d.shape.W}}
}

// Summed implements conv.Summing.
func (d *naiveImpl) Summed() (conv.Impl, conv.StatsTile) {
	s := *d
	s.sums = true
	return &s, d.statsTile()
}

func (d *naiveImpl) statsTile() conv.StatsTile { return conv.StatsTile{Rows: d.granule, Columns: 5} }

func (d *naiveImpl) Kernels() []conv.Kernel { return d.kernels }

func (d *naiveImpl) Granule() int { return d.granule }

func (d *naiveImpl) Scratch(rows int) int64 {
	n := int64(rows+d.granule-1) / int64(d.granule) * 100
	if d.sums {
		n += d.statsTile().Bytes(d.shape, rows)
	}
	if d.scaled {
		n = (n+63)/64*64 + planar.RowBytes(d.source(), d.precision)*int64(d.shape.H) + planar.RimBytes(d.source(), d.precision)
	}
	return n
}

func (d *naiveImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	if a.Y0%d.granule != 0 || a.Y1%d.granule != 0 && a.Y1 != d.h {
		return fmt.Errorf("rows %d to %d of %d are not in granules of %d", a.Y0, a.Y1, d.h, d.granule)
	}
	if a.Scratch == nil || a.Scratch.Size() < d.Scratch(a.Y1-a.Y0) {
		return errors.New("too little scratch")
	}
	if err := q.Fill(a.Scratch, 0, d.Scratch(a.Y1-a.Y0), []byte{0xff}); err != nil {
		return err
	}
	if d.scaled {
		if err := d.normalise(q, k[len(sides)+1], a); err != nil {
			return err
		}
	}
	if err := d.Impl.Launch(q, k[d.at:d.at+1], packed, a); err != nil || !d.sums {
		return err
	}
	pieces, p := k[len(sides)], d.statsTile()
	if err := pieces.SetArgs(a.Dst.Buf, a.Dst.Arg(), a.Scratch, int32(p.Rows), int32(p.Columns), int32(a.Y0)); err != nil {
		return err
	}
	return q.LaunchQuiet(pieces, []int{(a.Dst.W + p.Columns - 1) / p.Columns, a.Dst.C, (a.Y1 - a.Y0 + p.Rows - 1) / p.Rows}, nil)
}

// normalise puts the normalised source into scratch, at its end, and makes it the
// launch's.
func (d *naiveImpl) normalise(q *clrt.Queue, kernel *clrt.Kernel, a *conv.Args) error {
	t, src := d.source(), a.Src[0]
	base := d.Scratch(a.Y1-a.Y0) - planar.RowBytes(t, d.precision)*int64(t.H) - planar.RimBytes(t, d.precision)
	dst := planar.NewRing(a.Scratch, base, t, src.Rows)
	err := kernel.SetArgs(src.Buf, src.Arg(), dst.Buf, dst.Arg(), a.Scales.Buf, a.Scales.Arg(), int32(d.pre), a.PreSlope)
	if err != nil {
		return err
	}
	a.Src = []planar.Ring{dst}
	return q.LaunchQuiet(kernel, []int{t.W + 2*planar.Rim, t.C, src.Rows}, nil)
}
