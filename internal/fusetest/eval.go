package fusetest

import (
	"fmt"
	"math"

	"enhance/internal/fuse"
	"enhance/model"
)

// Run computes a fused program in float64, one step after another over whole
// planes, from input samples (planar) and the model's parameters. It refuses to
// read what was not written, so a step that comes too early is an error.
func Run(p *fuse.Program, params map[string]*model.Tensor, in []float64) ([]float64, error) {
	e := &evaluator{p: p, params: params, vals: make([][]float64, len(p.Tensors))}
	for t, s := range p.Tensors {
		n := s.Elems()
		switch s.Storage {
		case fuse.Stats: // per channel and row: mean, then sum of squared deviations
			n = 2 * int64(s.C) * int64(s.H)
		case fuse.Scales:
			n = 2 * int64(s.C)
		}
		e.vals[t] = make([]float64, n)
		for i := range e.vals[t] {
			e.vals[t][i] = math.NaN()
		}
	}
	copy(e.vals[p.Input], in)
	for i := range p.Steps {
		e.step(&p.Steps[i])
		if err := e.written(&p.Steps[i]); err != nil {
			return nil, fmt.Errorf("step %d %s: %w", i, p.Steps[i].Name, err)
		}
	}
	return e.vals[p.Output], nil
}

type evaluator struct {
	p      *fuse.Program
	params map[string]*model.Tensor
	vals   [][]float64
}

// written checks that a step's result has no NaN: inputs are finite, so one
// comes from what was not written.
func (e *evaluator) written(s *fuse.Step) error {
	t := e.p.Tensors[s.Dst.Tensor]
	per := len(e.vals[s.Dst.Tensor]) / t.C
	for _, v := range e.vals[s.Dst.Tensor][s.Dst.C0*per : (s.Dst.C0+s.Dst.C)*per] {
		if math.IsNaN(v) {
			return fmt.Errorf("reads a value before it is complete")
		}
	}
	return nil
}

// at is channel c, row y of a view.
func (e *evaluator) at(v fuse.View, c, y int) []float64 {
	t := e.p.Tensors[v.Tensor]
	return e.vals[v.Tensor][((v.C0+c)*t.H+y)*t.W:][:t.W]
}

func (e *evaluator) step(s *fuse.Step) {
	switch s.Kind {
	case fuse.RowStats:
		e.rowStats(s)
		return
	case fuse.Affine:
		e.affine(s)
		return
	}
	t := e.p.Tensors[s.Dst.Tensor]
	for c := range s.Dst.C {
		for y := range t.H {
			line := e.at(s.Dst, c, y)
			for x := range line {
				v, res := e.sample(s, c, y, x), 0.0
				if s.Res.Tensor != fuse.None {
					res = e.at(s.Res, c, y)[x]
				}
				if s.ResFirst {
					line[x] = activate(v+res, s.Act, float64(s.Slope))
				} else {
					line[x] = activate(v, s.Act, float64(s.Slope)) + res
				}
			}
		}
	}
}

// sample is one output of a step before its activation.
func (e *evaluator) sample(s *fuse.Step, c, y, x int) float64 {
	src := s.Src[0]
	in := e.p.Tensors[src.Tensor]
	switch s.Kind {
	case fuse.Conv:
		return e.conv(s, c, y, x)
	case fuse.MaxPool:
		a, b := e.at(src, c, 2*y), e.at(src, c, 2*y+1)
		return max(a[2*x], a[2*x+1], b[2*x], b[2*x+1])
	case fuse.Upsample:
		y0, fy := source(y, in.H, s.AlignCorners)
		x0, fx := source(x, in.W, s.AlignCorners)
		x1 := min(x0+1, in.W-1)
		a, b := e.at(src, c, y0), e.at(src, c, min(y0+1, in.H-1))
		return (1-fy)*((1-fx)*a[x0]+fx*a[x1]) + fy*((1-fx)*b[x0]+fx*b[x1])
	case fuse.Shuffle:
		return e.at(src, 4*c+2*(y%2)+x%2, y/2)[x/2]
	}
	v := e.at(src, c, y)[x]
	if s.Affine != fuse.None {
		scales, all := e.vals[s.Affine], e.p.Tensors[s.Affine].C
		v = v*scales[src.C0+c] + scales[all+src.C0+c]
	}
	return v
}

func source(i, n int, alignCorners bool) (int, float64) {
	at := max(0, (float64(i)+0.5)/2-0.5)
	if alignCorners {
		at = float64(i*(n-1)) / float64(2*n-1)
	}
	i0 := min(int(at), n-1)
	return i0, at - float64(i0)
}

func (e *evaluator) conv(s *fuse.Step, o, y, x int) float64 {
	w := e.params[s.Weight].Data
	h, width := e.p.Tensors[s.Dst.Tensor].H, e.p.Tensors[s.Dst.Tensor].W
	all := 0
	for _, v := range s.Src {
		all += v.C
	}
	sum, i := float64(e.params[s.Bias].Data[o]), o*all*s.K*s.K
	scale := func(_ fuse.View, _ int, x float64) float64 { return x }
	if s.Affine != fuse.None {
		scale = func(v fuse.View, c int, x float64) float64 {
			scales := e.vals[s.Affine][v.C0+c:]
			return activate(x*scales[0]+scales[e.p.Tensors[s.Affine].C], s.Pre, float64(s.PreSlope))
		}
	}
	for _, v := range s.Src {
		for c := range v.C {
			for ky := range s.K {
				row := beside(e.p.Pad, y+ky-s.K/2, h)
				for kx := range s.K {
					if xx := beside(e.p.Pad, x+kx-s.K/2, width); row >= 0 && xx >= 0 {
						sum += float64(w[i]) * scale(v, c, e.at(v, c, row)[xx])
					}
					i++
				}
			}
		}
	}
	return sum
}

func activate(v float64, act fuse.Act, slope float64) float64 {
	switch {
	case act == fuse.LeakyReLU && v < 0:
		return v * slope
	case act == fuse.Sigmoid:
		return 1 / (1 + math.Exp(-v))
	}
	return v
}

func (e *evaluator) rowStats(s *fuse.Step) {
	t, out := e.p.Tensors[s.Src[0].Tensor], e.vals[s.Dst.Tensor]
	for c := range s.Src[0].C {
		for y := range t.H {
			line := e.at(s.Src[0], c, y)
			var mean, m2 float64
			for _, v := range line {
				mean += v / float64(t.W)
			}
			for _, v := range line {
				m2 += (v - mean) * (v - mean)
			}
			at := ((s.Dst.C0+c)*t.H + y) * 2
			out[at], out[at+1] = mean, m2
		}
	}
}

func (e *evaluator) affine(s *fuse.Step) {
	t := e.p.Tensors[s.Src[0].Tensor]
	stats, out := e.vals[s.Src[0].Tensor], e.vals[s.Dst.Tensor]
	for _, n := range s.Norm {
		for i := range n.C {
			rows := stats[(n.C0+i)*t.H*2:][:t.H*2]
			var mean, m2 float64
			for y := range t.H {
				mean += rows[2*y] / float64(t.H)
			}
			for y := range t.H {
				m2 += rows[2*y+1] + float64(t.W)*(rows[2*y]-mean)*(rows[2*y]-mean)
			}
			scale := float64(e.params[n.Weight].Data[i]) / math.Sqrt(m2/float64(t.H*t.W)+float64(n.Eps))
			out[n.C0+i] = scale
			out[t.C+n.C0+i] = float64(e.params[n.Bias].Data[i]) - mean*scale
		}
	}
}
