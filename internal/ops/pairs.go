package ops

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

//go:embed pairs.cl
var pairsCL string

// PairsSource is the text of the kernels of steps that write pairs or split samples, without the prelude: a program
// of its own, which jobs without them do not compile.
func PairsSource() string { return enlargeCL + planar.PairsSource() + pairsCL }

// Pairs has the kernels of PairsSource.
type Pairs struct{ kernels }

// NewPairs takes the kernels from a program built with PairsSource.
func NewPairs(p *clrt.Program, q *clrt.Queue, c conv.Caps) (*Pairs, error) {
	k, err := takeKernels(p, q, c, "pairs_split", "pairs_max_pool", "pairs_upsample", "pairs_pointwise")
	if err != nil {
		return nil, err
	}
	return &Pairs{k}, nil
}

// Close releases the kernels.
func (o *Pairs) Close() {
	if o != nil {
		o.release()
	}
}

// MakesPairs reports whether a step of a program is done by Pairs: it is no convolution, and writes pairs or split samples.
func MakesPairs(p *fuse.Program, s *fuse.Step) bool {
	to := p.Tensors[s.Dst.Tensor].Storage
	return s.Kind != fuse.Conv && (to == fuse.Pairs || to == fuse.Split)
}

// Make makes rows [y0,y1) of dst by step s; res may have no buffer.
func (o *Pairs) Make(s *fuse.Step, src, res, dst planar.Ring, y0, y1 int) error {
	args := new(conv.KernelArgs).Ring(src)
	if res.Buf == nil {
		res = dst
		res.Buf = nil
	}
	var name string
	lines := dst.C
	switch s.Kind {
	case fuse.Convert:
		name, args, lines = "pairs_split", args.Ring(dst).Int(y0), dst.C/planar.LinesInSplit
	case fuse.MaxPool:
		name, args = "pairs_max_pool", args.Ring(dst).Int(y0)
	case fuse.Upsample:
		align := 0
		if s.AlignCorners {
			align = 1
		}
		name, args = "pairs_upsample", args.Ring(res).Ring(dst).Int(y0, align)
	case fuse.Pointwise:
		name, args = "pairs_pointwise", args.Ring(res).Ring(dst).Int(y0, int(s.Act)).Float(s.Slope).Int(s.Dst.C)
	default:
		return fmt.Errorf("ops: step %s: kind %s is not done in pairs", s.Name, s.Kind)
	}
	return args.Launch(o.q, o.all[name], []int{lines, y1 - y0}, []int{1, 1})
}
