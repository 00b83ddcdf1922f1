package ops

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed octets.cl
var octetsCL string

// OctetsSource is the text of the kernels of steps that read or write octets, without the prelude: a program
// of its own, which jobs without octets do not compile. That of statistics is left out without norms.
func OctetsSource(c conv.Caps, norms bool) string {
	if !norms {
		return linesCL + enlargeCL + planar.OctetsSource() + octetsCL
	}
	rowStats := kerneltext.Define(rowStatsCL, "NAME", "octets_row_stats", "LS", reduceItems(c), "STORED", "octet_t",
		"LINE", "__global const octet_t *line = OCTETS_OF(src, rs, c / 8, y);", "EIGHT(x)", "octets_eight(line + (x), c % 8)")
	return linesCL + enlargeCL + planar.OctetsSource() + octetsCL + rowStats
}

// Octets has the kernels of OctetsSource.
type Octets struct{ kernels }

// NewOctets takes the kernels from a program built with OctetsSource.
func NewOctets(p *clrt.Program, q *clrt.Queue, c conv.Caps, norms bool) (*Octets, error) {
	names := []string{"octets_max_pool", "octets_upsample", "octets_pointwise", "octets_shuffle", "octets_convert"}
	if norms {
		names = append(names, "octets_row_stats")
	}
	k, err := takeKernels(p, q, c, names...)
	if err != nil {
		return nil, err
	}
	return &Octets{k}, nil
}

// Close releases the kernels.
func (o *Octets) Close() {
	if o != nil {
		o.release()
	}
}

// MakesOctets reports whether a step of a program is done by Octets: it is neither a convolution nor an
// Unpack, and reads or writes octets.
func MakesOctets(p *fuse.Program, s *fuse.Step) bool {
	return s.Kind != fuse.Conv && s.Kind != fuse.Unpack && (p.Tensors[s.Dst.Tensor].Storage == fuse.Octets || p.Tensors[s.Src[0].Tensor].Storage == fuse.Octets)
}

// Make makes rows [y0,y1) of dst by step s; res may have no buffer, and scales has none if s applies none.
func (o *Octets) Make(s *fuse.Step, src, scales, res, dst planar.Ring, y0, y1 int) error {
	args := new(conv.KernelArgs).Ring(src)
	if res.Buf == nil {
		res = dst
		res.Buf = nil
	}
	switch s.Kind {
	case fuse.MaxPool:
		return o.launch("octets_max_pool", args.Ring(dst).Int(y0), dst.W, dst.C, y1-y0)
	case fuse.Upsample:
		align := 0
		if s.AlignCorners {
			align = 1
		}
		return o.launch("octets_upsample", args.Ring(res).Ring(dst).Int(y0, align), src.W, dst.C, y1-y0)
	case fuse.Pointwise:
		return o.launch("octets_pointwise", args.Ring(scales).Int(s.Src[0].C0).Ring(res).Ring(dst).Int(y0, int(s.Act)).Float(s.Slope).Int(s.Dst.C), dst.W, dst.C, y1-y0)
	case fuse.RowStats:
		ls := reduceItems(o.caps)
		return args.Ring(dst).Int(y0).Launch(o.q, o.all["octets_row_stats"], []int{ls, dst.C, y1 - y0}, []int{ls, 1, 1})
	case fuse.Shuffle:
		return o.launch("octets_shuffle", args.Ring(dst).Int(y0, y1), (src.W+3)/4, src.C, (y1+1)/2-y0/2)
	case fuse.Convert:
		return o.launch("octets_convert", args.Ring(dst).Int(y0), (dst.W+1)/2, dst.C, y1-y0)
	}
	return fmt.Errorf("ops: step %s: kind %s is not done in octets", s.Name, s.Kind)
}

// launch starts a kernel over items along lines, octets and rows.
func (o *Octets) launch(name string, args *conv.KernelArgs, items, octets, rows int) error {
	lx := columns(o.caps)
	if !o.caps.CPU {
		lx = min(256, max(o.caps.MaxWorkGroup, 1), (items+31)/32*32)
	}
	return args.Launch(o.q, o.all[name], []int{(items + lx - 1) / lx * lx, octets, rows}, []int{lx, 1, 1})
}
