package ref

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"enhance/internal/usage"
	"enhance/model"
)

// TestConvBlocked compares the blocked convolution with its definition on sizes
// that leave every block, tile and panel partly filled. Inputs and weights are
// below 1, so that a sum of n products in float32 is off by less than n·2^-24·n
// in the worst case and by about √n·2^-24·√n in practice; n·2^-22 is the limit.
func TestConvBlocked(t *testing.T) {
	for _, c := range []struct{ ic, oc, k, h, w int }{
		{1, 1, 1, 1, 1}, {4, 3, 3, 1, 1}, {3, 5, 9, 2, 3}, {1, 2, 9, 1, 7}, {2, 3, 5, 7, 1},
		{4, 32, 3, 16, 16}, {70, 6, 3, 5, 67}, {13, 7, 9, 4, 130}, {21, 4, 5, 3, 64}, {11, 1, 7, 2, 65}, {600, 2, 1, 3, 5},
	} {
		for i, workers := range []int{1, 3, 64} {
			pad := []model.PadMode{model.PadReflect, model.PadZero, model.PadEdge}[i]
			name := fmt.Sprintf("%+v pad=%d workers=%d", c, pad, workers)
			s := model.Shape{C: c.ic, H: c.h, W: c.w}
			src := signed("src", c.ic*c.h*c.w)
			weight, bias := signed("weight", c.oc*c.ic*c.k*c.k), signed("bias", c.oc)
			got := slices.Repeat([]float32{float32(math.NaN())}, c.oc*c.h*c.w)
			p := newPool(Options{Workers: workers}, 0)
			if err := convBlocked(t.Context(), p, got, src, s, weight, bias, c.k, pad); err != nil {
				t.Fatal(err)
			}
			want := make([]float64, len(got))
			if err := convPlain(t.Context(), p, want, widen(src), s, weight, bias, c.k, pad); err != nil {
				t.Fatal(err)
			}
			if d, limit := maxDiff(t, got, want), float64(c.ic*c.k*c.k+1)/(1<<22); d > limit {
				t.Errorf("%s: off by %g, limit %g", name, d, limit)
			}
		}
	}
}

// signed gives n values of -1..1.
func signed(name string, n int) []float32 {
	out := model.FormulaTensor("ref", name, n)
	for i := range out {
		out[i] = 2*out[i] - 1
	}
	return out
}

func widen(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// TestRunAgrees runs small networks with every operation in both precisions.
// A narrow random network on planes of a few samples amplifies rounding about a
// thousandfold (1e-4 was seen); a wrong operation shows above 1e-2.
func TestRunAgrees(t *testing.T) {
	specs := []string{"pynet-s", "pynet-random:b,width=2,norm=false,norm1=false", "pynet-random:b,width=2,norm1=false"}
	for level := range 6 {
		specs = append(specs, fmt.Sprintf("pynet-random:a,width=4,level=%d", level))
	}
	if raceEnabled {
		specs = specs[:3]
	}
	for _, spec := range specs {
		m, err := model.Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		h, w := 32, 48
		if spec == "pynet-s" {
			h, w = 16, 24
		}
		in := model.FormulaTensor("in", "input", 4*h*w)
		kept := slices.Clone(in)
		got, shape, err := Run(t.Context(), m, in, h, w, Options{})
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		want, shape64, err := Run64(t.Context(), m, widen(in), h, w, Options{})
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if shape != shape64 || int64(len(got)) != shape.Elems() {
			t.Errorf("%s: shapes %v and %v, %d samples", spec, shape, shape64, len(got))
		}
		if d := maxDiff(t, got, want); !(d < 1e-3) {
			t.Errorf("%s: differs by %g", spec, d)
		}
		if !slices.Equal(in, kept) {
			t.Errorf("%s: the input was changed", spec)
		}
		one, _, err := Run(t.Context(), m, in, h, w, Options{Workers: 1})
		if err != nil || !slices.Equal(one, got) {
			t.Errorf("%s: one worker gives another result (%v)", spec, err)
		}
	}
}

// TestRunKeepsShared checks that no value is overwritten or dropped that a later node reads.
func TestRunKeepsShared(t *testing.T) {
	b := model.NewBuilder(1)
	r := b.LeakyReLU("r", 0, 0.5)
	s := b.Add("s", r, r)
	q := b.LeakyReLU("q", r, 0.5)
	out := b.Concat("out", 0, r, s, q, 0)
	b.Sigmoid("dead", s)
	g, err := b.Graph(out)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	m := &model.Model{Graph: g, Convention: whole.Convention}
	var order []string
	for _, dump := range []func(string, model.Shape, []float32){
		nil,
		func(node string, _ model.Shape, _ []float32) { order = append(order, node) },
	} {
		got, shape, err := Run(t.Context(), m, []float32{-4, 2}, 1, 2, Options{Dump: dump})
		if err != nil {
			t.Fatal(err)
		}
		if want := []float32{-4, 2, -2, 2, -4, 4, -1, 2, -4, 2}; shape.C != 5 || !slices.Equal(got, want) {
			t.Errorf("%v %v, want %v", shape, got, want)
		}
	}
	if want := []string{"input", "r", "s", "q", "out", "dead"}; !slices.Equal(order, want) {
		t.Errorf("dumped %v, want %v", order, want)
	}
}

func TestRunRefuses(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Run(t.Context(), m, make([]float32, 4*16*16-1), 16, 16, Options{}); err == nil {
		t.Error("an input that is too short is accepted")
	}
	if _, _, err := Run(t.Context(), m, make([]float32, 4*12*16), 12, 16, Options{}); err == nil {
		t.Error("sides that cannot be pooled are accepted")
	}
	broken := *m
	broken.Params = nil
	if _, _, err := Run(t.Context(), &broken, make([]float32, 4*16*16), 16, 16, Options{}); err == nil {
		t.Error("missing parameters are accepted")
	}
}

func TestRunStops(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, _, err = Run(ctx, m, make([]float32, 4*64*64), 64, 64, Options{Workers: 1, Progress: func(done, total int64) {
		calls++
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if calls != 1 {
		t.Errorf("%d tasks ended after one was allowed", calls)
	}
}

func TestRunProgress(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	_, _, err = Run(t.Context(), m, make([]float32, 4*16*40), 16, 40, Options{Progress: func(done, total int64) {
		if done <= last || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := m.Graph.FLOPs(16, 40); last != want {
		t.Errorf("ended at %d of %d", last, want)
	}
}

func BenchmarkConv(b *testing.B) {
	for _, c := range []struct{ ic, oc, k, side int }{
		{4, 32, 3, 128}, {24, 24, 3, 128}, {24, 12, 5, 128}, {128, 32, 9, 64}, {128, 32, 3, 64}, {512, 512, 3, 8}, {16, 3, 3, 128},
	} {
		b.Run(fmt.Sprintf("%dx%dx%dx%d", c.ic, c.oc, c.k, c.side), func(b *testing.B) {
			s := model.Shape{C: c.ic, H: c.side, W: c.side}
			src, dst := signed("src", c.ic*c.side*c.side), make([]float32, c.oc*c.side*c.side)
			weight, bias := signed("weight", c.oc*c.ic*c.k*c.k), signed("bias", c.oc)
			p := newPool(Options{}, 0)
			before := usage.CPUSeconds()
			for b.Loop() {
				if err := convBlocked(b.Context(), p, dst, src, s, weight, bias, c.k, model.PadReflect); err != nil {
					b.Fatal(err)
				}
			}
			flops := 2 * float64(c.k*c.k*c.ic) * float64(len(dst)) * float64(b.N)
			b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(flops/(usage.CPUSeconds()-before)/1e9, "GFLOP/cpu-s")
		})
	}
}
