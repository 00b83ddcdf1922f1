package fuse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/fusetest"
	"enhance/internal/modeltest"
	"enhance/model"
	"enhance/model/ref"
)

// TestRandomGraphs computes fused random networks in float64 and compares with
// the definition. Only the order of a few sums differs.
// ENHANCE_LONG=1 takes ten times as many.
func TestRandomGraphs(t *testing.T) {
	seeds := uint64(400)
	if os.Getenv("ENHANCE_LONG") == "1" {
		seeds *= 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := modeltest.Model("fuse", modeltest.Graph(rng, modeltest.Options{Steps: 1 + int(seed%10)}))
		h, w := modeltest.Sides(rng, m.Graph, 9, 9)
		checkFused(t, fmt.Sprintf("seed %d", seed), m, h, w)
	}
	if absorbed < int(seeds/20) {
		t.Errorf("convolutions took in only %d norms", absorbed)
	}
}

func checkFused(t *testing.T, name string, m *model.Model, h, w int) {
	t.Helper()
	p, err := fuse.Fuse(m.Graph, h, w)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	in := make([]float64, m.Graph.Nodes[0].C*h*w)
	for i, v := range model.FormulaTensor("fuse", "input", len(in)) {
		in[i] = float64(v)
	}
	want, shape, err := ref.Run64(t.Context(), m, in, h, w, ref.Options{Workers: 1})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if out := p.Tensors[p.Output]; out.Shape != shape || out.Storage != fuse.Activation {
		t.Errorf("%s: output is %v, want %v", name, out, shape)
		return
	}
	got, err := fusetest.Run(p, m.Params, in)
	if err != nil {
		t.Errorf("%s (%dx%d): %v\n%s", name, h, w, err, dump(p))
		return
	}
	worst := 0.0
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= worst) {
			worst = d
		}
	}
	if !(worst < 1e-8) {
		t.Errorf("%s (%dx%d): differs from the definition by %g\n%s", name, h, w, worst, dump(p))
	}
	checkWritten(t, name, p)
	checkAbsorbed(t, name, p, m, in, want)
}

// checkAbsorbed computes the program again with norms taken into convolutions.
func checkAbsorbed(t *testing.T, name string, p *fuse.Program, m *model.Model, in, want []float64) {
	t.Helper()
	asked := 0
	q, was := p.Absorb(func(i int) bool {
		if p.Steps[i].Kind != fuse.Conv {
			t.Errorf("%s: asked whether step %d, %s, can take in a norm", name, i, p.Steps[i].Kind)
		}
		asked++
		return asked%3 != 0
	})
	if gone := len(p.Steps) - len(q.Steps); gone != asked-asked/3 || len(was) != len(q.Steps) {
		t.Errorf("%s: %d steps are gone where %d of %d were allowed", name, gone, asked-asked/3, asked)
	}
	for i, o := range was {
		if q.Steps[i].Name != p.Steps[o].Name || q.Steps[i].Kind != p.Steps[o].Kind || i > 0 && was[i-1] >= o {
			t.Errorf("%s: step %d is said to have been step %d", name, i, o)
		}
	}
	got, err := fusetest.Run(q, m.Params, in)
	if err != nil {
		t.Errorf("%s: norms in convolutions: %v\n%s", name, err, dump(q))
		return
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d < 1e-8) {
			t.Errorf("%s: norms in convolutions: differs from the definition by %g\n%s", name, d, dump(q))
			break
		}
	}
	checkWritten(t, name, q)
	absorbed += asked - asked/3
}

// absorbed counts steps that convolutions took in.
var absorbed int

// checkWritten checks that every channel of every tensor is written by exactly
// one step, that writers come before readers, and that only needed steps exist.
func checkWritten(t *testing.T, name string, p *fuse.Program) {
	t.Helper()
	writers := make([][]int, len(p.Tensors))
	for i := range p.Tensors {
		writers[i] = make([]int, p.Tensors[i].C)
	}
	for c := range writers[p.Input] {
		writers[p.Input][c] = 1
	}
	read := make([]bool, len(p.Tensors))
	read[p.Output] = true
	for i := range p.Steps {
		s := &p.Steps[i]
		views := append([]fuse.View{s.Res}, s.Src...)
		if s.Affine != fuse.None {
			views = append(views, fuse.View{Tensor: s.Affine, C: p.Tensors[s.Affine].C})
		}
		for _, v := range views {
			if v.Tensor == fuse.None {
				continue
			}
			read[v.Tensor] = true
			for c := v.C0; c < v.C0+v.C; c++ {
				if n := writers[v.Tensor][c]; n != 1 {
					t.Errorf("%s: step %d reads %s, whose channel %d was written %d times by then", name, i, p.Tensors[v.Tensor].Name, c, n)
				}
			}
		}
		for c := s.Dst.C0; c < s.Dst.C0+s.Dst.C; c++ {
			writers[s.Dst.Tensor][c]++
		}
		if len(s.Src) > fuse.MaxSources {
			t.Errorf("%s: step %d has %d sources", name, i, len(s.Src))
		}
	}
	for i, r := range read {
		if !r && i != p.Input {
			t.Errorf("%s: nobody reads %s", name, p.Tensors[i].Name)
		}
	}
}

// TestRows checks Need and Oldest against the definition of every step: rows
// [Oldest(begin), Need(end)) cover what destination rows [begin,end) touch,
// both are monotonic, and no row is kept without a reason (for steps whose
// sources grow and shrink row by row).
func TestRows(t *testing.T) {
	kinds := map[fuse.Kind]int{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		g := modeltest.Graph(rng, modeltest.Options{Steps: 4})
		h, w := modeltest.Sides(rng, g, 1+rng.IntN(40), 3)
		p, err := fuse.Fuse(g, h, w)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Steps {
			s := &p.Steps[i]
			kinds[s.Kind]++
			for _, tensor := range s.Reads() {
				checkRows(t, fmt.Sprintf("seed %d step %d (%s k=%d, %d rows)", seed, i, s.Kind, s.K, p.Tensors[tensor].H), p, s, tensor)
			}
		}
	}
	for k := fuse.Conv; k <= fuse.Affine; k++ {
		if kinds[k] < 20 {
			t.Errorf("only %d steps of kind %s", kinds[k], k)
		}
	}
}

func checkRows(t *testing.T, name string, p *fuse.Program, s *fuse.Step, tensor int) {
	h := p.Tensors[s.Dst.Tensor].H
	lowest, highest := make([]int, h+1), make([]int, h+1)
	lowest[h] = p.Tensors[tensor].H
	for y := h - 1; y >= 0; y-- {
		rows := fusetest.Touched(p, s, tensor, y)
		lowest[y] = min(lowest[y+1], slices.Min(rows))
	}
	for y := range h {
		highest[y+1] = max(highest[y], slices.Max(fusetest.Touched(p, s, tensor, y))+1)
	}
	for y := range h + 1 {
		if o := p.Oldest(s, tensor, y); o > lowest[y] || o < 0 {
			t.Errorf("%s: rows from %d on touch row %d, Oldest says %d", name, y, lowest[y], o)
		}
		n := p.Need(s, tensor, y)
		if y > 0 && n < highest[y] || n > p.Tensors[tensor].H {
			t.Errorf("%s: rows before %d touch rows before %d, Need says %d", name, y, highest[y], n)
		}
		if y > 0 && p.Need(s, tensor, y-1) > n || y > 0 && p.Oldest(s, tensor, y-1) > p.Oldest(s, tensor, y) {
			t.Errorf("%s: Need or Oldest is not monotonic at %d", name, y)
		}
	}
	// Never more than one row too many: exactly the definition's extremes, but for
	// rows that reflection happens not to reach in a plane barely above the padding.
	for y := 1; y < h; y++ {
		if slack := p.Need(s, tensor, y) - highest[y]; slack > 1 && p.Tensors[tensor].H > s.K {
			t.Errorf("%s: Need of %d rows is %d rows too many", name, y, slack)
		}
		if slack := lowest[y] - p.Oldest(s, tensor, y); slack > 1 && p.Tensors[tensor].H > s.K {
			t.Errorf("%s: Oldest at %d keeps %d rows too many", name, y, slack)
		}
	}
	for y := -2 * h; y < 0; y++ {
		if p.Need(s, tensor, y) > p.Need(s, tensor, y+1) {
			t.Errorf("%s: Need is not monotonic at %d", name, y)
		}
	}
}

func TestReflect(t *testing.T) {
	for n := 1; n < 12; n++ {
		line := make([]int, 0, 8*n)
		for len(line) < 8*n { // the line, walked to and fro
			for i := 0; i < n-1; i++ {
				line = append(line, i)
			}
			for i := n - 1; i > 0; i-- {
				line = append(line, i)
			}
			if n == 1 {
				line = append(line, 0)
			}
		}
		for i, want := range line {
			if a, b := fuse.Reflect(i, n), fuse.Reflect(-i, n); a != want || b != want {
				t.Errorf("Reflect(±%d, %d) = %d and %d, want %d", i, n, a, b, want)
			}
		}
	}
}

func TestUpsampleSource(t *testing.T) {
	for _, h := range []int{1, 2, 3, 5, 100, 46341, 1 << 20} {
		for _, y := range []int{0, 1, 2, h - 1, h, 2*h - 2, 2*h - 1} {
			if y >= 2*h {
				continue
			}
			for _, align := range []bool{false, true} {
				y0, num, den := fuse.UpsampleSource(y, h, align)
				want := max(0, (float64(y)+0.5)/2-0.5)
				if align {
					want = float64(y) * float64(h-1) / float64(2*h-1)
				}
				if got := float64(y0) + float64(num)/float64(den); math.Abs(got-want) > 1e-9*max(1, want) || y0 < 0 || y0 >= h || num < 0 || num >= den {
					t.Errorf("row %d of %d, align %v: %d + %d/%d, want %g", y, h, align, y0, num, den, want)
				}
			}
		}
	}
}

func TestFuseErrors(t *testing.T) {
	b := model.NewBuilder(1)
	x := b.MaxPool("pool", 0)
	g, err := b.Graph(x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fuse.Fuse(g, 1, 8); err == nil {
		t.Error("a plane of one row was pooled")
	}
	if _, err := fuse.Fuse(&model.Graph{}, 8, 8); err == nil {
		t.Error("an empty graph was fused")
	}
}
