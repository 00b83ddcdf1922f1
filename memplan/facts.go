package memplan

import (
	"math"

	"enhance/internal/fuse"
)

// facts are what plans ask of a request again and again, looked up once. Lists
// are by step or by tensor.
type facts struct {
	reads   [][]int   // tensors a step reads
	flops   []int64   // of one row of a step's destination
	seconds []float64 // what such a row takes on a busy device
	samples []float64 // of such a row, where a device computes in waves; else infinite
	weights []int64   // bytes of a step's parameters
	groups  [][]int64 // and of a group of them, in 2, 4 and so on

	// less are the sizes of scratch below what launches of a step want, levels how many
	// sizes plans are tried with: what launches want, and the longest of these lists.
	less   [][]int64
	levels int

	rowBytes, rimBytes []int64
	writer             []int // the last step that writes a tensor, -1 if none does
	granule            []int // rows that a tensor's writers, which advance together, can all run in multiples of
}

func (r *Request) gather() *facts {
	p := r.Program
	f := &facts{reads: make([][]int, len(p.Steps)), flops: make([]int64, len(p.Steps)), seconds: make([]float64, len(p.Steps)),
		samples: make([]float64, len(p.Steps)), weights: make([]int64, len(p.Steps)), groups: make([][]int64,
			len(p.Steps)), less: make([][]int64, len(p.Steps)), levels: 1,
		rowBytes: make([]int64, len(p.Tensors)), rimBytes: make([]int64, len(p.Tensors)),
		writer: make([]int, len(p.Tensors)), granule: make([]int, len(p.Tensors))}
	for t := range p.Tensors {
		f.rowBytes[t], f.rimBytes[t] = r.RowBytes(t), r.RimBytes(t)
		f.writer[t], f.granule[t] = -1, 1
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		t := s.Dst.Tensor
		f.reads[i] = s.Reads()
		f.flops[i], f.weights[i] = p.FLOPs(s, 1), r.Weights(i)
		if r.LessScratch != nil {
			f.less[i] = r.LessScratch(i)
			f.levels = max(f.levels, 1+len(f.less[i]))
		}
		if r.GroupWeights != nil {
			f.groups[i] = r.GroupWeights(i)
		}
		f.samples[i] = math.Inf(1)
		if s.Kind == fuse.Conv {
			f.samples[i] = float64(p.Tensors[t].W) * float64(s.Dst.C)
		}
		f.writer[t] = i
		f.granule[t] = lcm(f.granule[t], max(r.Granule(i), 1))
		f.seconds[i] = r.rowSeconds(i, f)
	}
	return f
}

// scratch is what a launch of step i that wants so many bytes of scratch works with at a
// level: at level 0 what it wants, at each further one the next smaller size.
func (f *facts) scratch(i int, want int64, level int) int64 {
	if n := len(f.less[i]); level > 0 && n > 0 {
		return min(want, f.less[i][min(level, n)-1])
	}
	return want
}

// rowSeconds is what one row of step i takes on a busy device: the longer of its
// operations, as the request or the model says, and its bytes.
func (r *Request) rowSeconds(i int, f *facts) float64 {
	s, m, seconds := &r.Program.Steps[i], &r.Model, 0.0
	switch {
	case r.RowSeconds != nil:
		seconds = r.RowSeconds(i)
	case m.FLOPRate > 0:
		seconds = float64(f.flops[i]) / m.FLOPRate
	}
	if m.MemoryRate > 0 {
		n := r.viewRow(s.Dst, s.Dst.Tensor, f)
		for _, v := range s.Src {
			n += r.viewRow(v, s.Dst.Tensor, f)
		}
		if s.Res.Tensor != fuse.None {
			n += r.viewRow(s.Res, s.Dst.Tensor, f)
		}
		seconds = max(seconds, n/m.MemoryRate)
	}
	return seconds
}

// viewRow is how many bytes of a view go with one row of tensor dst.
func (r *Request) viewRow(v fuse.View, dst int, f *facts) float64 {
	t := &r.Program.Tensors[v.Tensor]
	return float64(f.rowBytes[v.Tensor]) * float64(v.C) / float64(max(t.C, 1)) * float64(t.H) / float64(max(r.Program.Tensors[dst].H, 1))
}

// lcm is the least common multiple of two positive numbers.
func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
