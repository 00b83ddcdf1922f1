package tune_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
	"enhance/internal/tune"
)

// grouped is an algorithm with neighbours.
type grouped struct {
	spoilt
	next []conv.Algo
}

func (g grouped) Neighbours(conv.Caps, conv.Shape, planar.Precision) []conv.Algo { return g.next }

// TestSearchGroups: the search goes from neighbour to neighbour as long as they are
// faster, tries none twice and no more than it may; a shape with other samples is
// out, as is one that is wrong or refused, and what loses changes nothing.
func TestSearchGroups(t *testing.T) {
	dev := convtest.Device(t)
	direct := conv.Direct(conv.CapsOf(dev.Info()))
	times := func(n int) func(func(*conv.Args) error, *conv.Args) error {
		return func(do func(*conv.Args) error, a *conv.Args) (err error) {
			for range n {
				err = errors.Join(err, do(a))
			}
			return err
		}
	}
	fastest := grouped{spoilt: spoilt{Algo: direct, name: "once"}}
	otherBytes := spoilt{Algo: direct, name: "other bytes", weight: func(w float32) float32 { return w * (1 + 1e-6) }}
	wrong := spoilt{Algo: direct, name: "wrong", launch: otherSlope}
	refused := spoilt{Algo: direct, name: "refused", refuse: true}
	middle := grouped{spoilt{Algo: direct, name: "four times", launch: times(4)}, []conv.Algo{otherBytes, fastest, spoilt{Algo: direct, name: "sixteen times", launch: times(16)}}}
	own := grouped{spoilt{Algo: direct, name: "sixteen times", launch: times(16)}, []conv.Algo{refused, middle, wrong}}
	s := conv.Shape{K: 5, SrcC: []int{16}, OutC: 16, H: 61, W: 130, Act: 1}
	search := func(first conv.Algo, groups int) (tune.Outcome, []string) {
		task := tune.Task{Key: "k", Precision: "fp32", Shape: s, Candidates: []conv.Algo{first}}
		out := run(t, planar.FP32, []tune.Task{task}, tune.Options{Groups: groups})[0]
		var names []string
		for _, r := range out.Results {
			names = append(names, r.Algo)
		}
		return out, names
	}
	out, names := search(own, 10)
	if want := []string{"sixteen times", "refused", "four times", "wrong", "other bytes", "once"}; !slices.Equal(names, want) || out.Choice.Algo != "once" || out.Choice.Default != "sixteen times" || out.Choice.Tried != 3 {
		t.Errorf("tried %q, chose %+v", names, out.Choice)
	}
	for _, r := range out.Results {
		want := map[string]string{"refused": "not this one", "wrong": "wrong: ", "other bytes": "its samples are not those of sixteen times"}[r.Algo]
		if !strings.HasPrefix(r.Problem, want) || want == "" && r.Problem != "" {
			t.Errorf("%s: problem %q", r.Algo, r.Problem)
		}
	}
	if out, names = search(own, 2); !slices.Equal(names, []string{"sixteen times", "refused", "four times"}) || out.Choice.Algo != "four times" {
		t.Errorf("with two: tried %q, chose %+v", names, out.Choice)
	}
	if out, names = search(own, 0); len(names) != 1 || out.Choice.Algo != out.Choice.Default {
		t.Errorf("with none: tried %q, chose %+v", names, out.Choice)
	}
	best := grouped{spoilt{Algo: direct, name: "once"}, []conv.Algo{own, middle}}
	if out, names = search(best, 10); len(names) != 3 || out.Choice.Algo != "once" || out.Choice.Gain() != 1 {
		t.Errorf("the default is the best: tried %q, chose %+v", names, out.Choice)
	}
}

// TestSearchGroupsOfKernels searches around the kernels for GPUs, which CPUs run too.
func TestSearchGroupsOfKernels(t *testing.T) {
	dev := convtest.Device(t)
	if conv.CapsOf(dev.Info()).CPU && convtest.Cases(1) == 1 {
		t.Skip("SKIPPED: a CPU's compiler takes minutes for a GPU's kernels; ENHANCE_LONG=1 and GPUs try them")
	}
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	caps := conv.Caps{Vector: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024}
	m, err := tune.NewMeter(cl, caps, planar.FP32, tune.Limits{Bytes: 64 << 20, FLOPs: 1e7, Runs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, name := range []string{"direct-tile-o4y2n1c2", "implicit-gemm-m4x8-n4x4-k4"} {
		var first conv.Algo
		if g, ok := conv.TileGroupNamed(name); ok {
			first = g
		} else if g, ok := conv.ImplicitGroupNamed(name); ok {
			first = g
		}
		s := conv.Shape{K: 1, SrcC: []int{16}, OutC: 16, H: 20, W: 70}
		out, err := m.Run(t.Context(), []tune.Task{{Key: name, Precision: "fp32", Shape: s, Candidates: []conv.Algo{first}}}, tune.Options{Groups: 3})
		if err != nil || len(out[0].Results) < 2 || len(out[0].Results) > 4 {
			t.Fatalf("%s: %+v, error %v", name, out, err)
		}
		for _, r := range out[0].Results {
			t.Logf("%s: %.2f ms, error %.1e %s", r.Algo, 1e3*r.Seconds, r.Error, r.Problem)
			if r.Problem != "" {
				t.Errorf("%s: %s", r.Algo, r.Problem)
			}
		}
	}
}
