package tune_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/tune"
)

// spoilt is a convolution with something done to it.
type spoilt struct {
	conv.Algo
	name   string
	weight func(w float32) float32                             // nil: as it is
	launch func(do func(*conv.Args) error, a *conv.Args) error // nil: as it is
	refuse bool
}

func (s spoilt) Name() string { return s.name }

func (s spoilt) New(c conv.Caps, shape conv.Shape, p planar.Precision) (conv.Impl, error) {
	if s.refuse {
		return nil, errors.New("not this one")
	}
	impl, err := s.Algo.New(c, shape, p)
	return &spoiltImpl{impl, s}, err
}

type spoiltImpl struct {
	conv.Impl
	by spoilt
}

func (i *spoiltImpl) Pack(weights, bias []float32) []float32 {
	if i.by.weight == nil {
		return i.Impl.Pack(weights, bias)
	}
	w := make([]float32, len(weights))
	for k, v := range weights {
		w[k] = i.by.weight(v)
	}
	return i.Impl.Pack(w, bias)
}

func (i *spoiltImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	do := func(a *conv.Args) error { return i.Impl.Launch(q, k, packed, a) }
	if i.by.launch == nil {
		return do(a)
	}
	return i.by.launch(do, a)
}

func nothing(func(*conv.Args) error, *conv.Args) error { return nil }

func lessRows(do func(*conv.Args) error, a *conv.Args) error {
	b := *a
	b.Y1--
	return do(&b)
}

func otherSlope(do func(*conv.Args) error, a *conv.Args) error {
	b := *a
	b.Slope = 0
	return do(&b)
}

func oneSource(do func(*conv.Args) error, a *conv.Args) error {
	b := *a
	b.Src = []planar.Ring{a.Src[1], a.Src[0]}
	return do(&b)
}

func run(t *testing.T, p planar.Precision, tasks []tune.Task, o tune.Options) []tune.Outcome {
	t.Helper()
	dev := convtest.Device(t)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	limits := tune.Defaults(dev.Info(), 64<<20)
	limits.FLOPs, limits.Runs = 2e7, 2
	m, err := tune.NewMeter(ctx, conv.CapsOf(dev.Info()), p, limits)
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.Run(context.Background(), tasks, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if ctx.Live() != 0 {
		t.Errorf("%d bytes are left on the device", ctx.Live())
	}
	return all
}

// TestWrongCannotWin puts a slow right default against fast wrong candidates.
func TestWrongCannotWin(t *testing.T) {
	dev := convtest.Device(t)
	caps := conv.CapsOf(dev.Info())
	direct := conv.Direct(caps)
	s := conv.Shape{K: 3, SrcC: []int{8, 8}, OutC: 16, H: 61, W: 130, Act: fuse.LeakyReLU}
	wrong := []conv.Algo{
		spoilt{Algo: direct, name: "nothing", launch: nothing},
		spoilt{Algo: direct, name: "a row less", launch: lessRows},
		spoilt{Algo: direct, name: "plain ReLU", launch: otherSlope},
		spoilt{Algo: direct, name: "sources swapped", launch: oneSource},
		spoilt{Algo: direct, name: "weights 0.3 % off", weight: func(w float32) float32 { return w * 1.003 }},
		spoilt{Algo: direct, name: "NaN", weight: func(w float32) float32 { return w / (w - w) }},
		spoilt{Algo: direct, name: "refused", refuse: true},
	}
	slow := conv.Algo(conv.Simple{})
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		key := tune.Key(s, p.String())
		task := tune.Task{Key: key, Precision: p.String(), Shape: s, Candidates: append([]conv.Algo{slow}, wrong...)}
		out := run(t, p, []tune.Task{task}, tune.Options{})[0]
		if out.Problem != "" || out.Choice.Algo != slow.Name() || !out.Choice.Measured() || out.Choice.Tried != 1 {
			t.Errorf("%s: chose %+v (%s)", p, out.Choice, out.Problem)
		}
		for i, r := range out.Results {
			if (r.Problem == "") != (i == 0) {
				t.Errorf("%s: %s: problem %q, relative error %.2g", p, r.Algo, r.Problem, r.Error)
			}
		}
		// Beside all of them the right fast one wins.
		task.Candidates = append(task.Candidates, direct)
		out = run(t, p, []tune.Task{task}, tune.Options{})[0]
		if out.Choice.Algo != direct.Name() || out.Choice.Default != slow.Name() || out.Choice.Gain() <= 1 || out.Choice.Tried != 2 {
			t.Errorf("%s: chose %+v, gain %.2f", p, out.Choice, out.Choice.Gain())
		}
	}
}

// TestWrongDefault: where the default itself is wrong, a right candidate replaces it.
func TestWrongDefault(t *testing.T) {
	dev := convtest.Device(t)
	direct := conv.Direct(conv.CapsOf(dev.Info()))
	s := conv.Shape{K: 5, SrcC: []int{3}, OutC: 8, H: 9, W: 40}
	task := tune.Task{Key: "k", Precision: "fp32", Shape: s, Candidates: []conv.Algo{spoilt{Algo: direct, name: "nothing", launch: nothing}, direct}}
	out := run(t, planar.FP32, []tune.Task{task}, tune.Options{})[0]
	if out.Choice.Algo != direct.Name() || out.Choice.Before != 0 || !strings.HasPrefix(out.Results[0].Problem, "wrong: ") {
		t.Errorf("%+v, %+v", out.Choice, out.Results)
	}
}

// TestSlowerNeverWins: a candidate that is slower than the default does not replace it, though its score
// is higher for being more exact.
func TestSlowerNeverWins(t *testing.T) {
	dev := convtest.Device(t)
	direct := conv.Direct(conv.CapsOf(dev.Info()))
	coarse := spoilt{Algo: direct, name: "within the tolerance", weight: func(w float32) float32 { return w * (1 + 1.4e-5) }}
	twice := spoilt{Algo: direct, name: "exact, made twice", launch: func(do func(*conv.Args) error, a *conv.Args) error {
		return errors.Join(do(a), do(a))
	}}
	s := conv.Shape{K: 5, SrcC: []int{16}, OutC: 16, H: 61, W: 130}
	task := tune.Task{Key: "k", Precision: "fp32", Shape: s, Candidates: []conv.Algo{coarse, twice}}
	out := run(t, planar.FP32, []tune.Task{task}, tune.Options{})[0]
	if out.Choice.Algo != coarse.Name() || out.Choice.Tried != 2 || out.Results[1].Score < 1.03*out.Results[0].Score {
		t.Errorf("chose %+v of %+v", out.Choice, out.Results)
	}
}

// TestOutOfTime: what is not measured keeps its default and says so.
func TestOutOfTime(t *testing.T) {
	dev := convtest.Device(t)
	direct := conv.Direct(conv.CapsOf(dev.Info()))
	var tasks []tune.Task
	for _, k := range []string{"a", "b"} {
		tasks = append(tasks, tune.Task{Key: k, Precision: "fp32", Shape: conv.Shape{K: 3, SrcC: []int{4}, OutC: 4, H: 8, W: 16}, Candidates: []conv.Algo{direct, conv.Simple{}}})
	}
	told := 0
	out := run(t, planar.FP32, tasks, tune.Options{Until: time.Now(), Done: func(*tune.Outcome) { told++ }})
	for _, o := range out {
		if o.Choice.Measured() || o.Choice.Algo != direct.Name() || o.Problem == "" {
			t.Errorf("%+v", o)
		}
	}
	if told != 2 {
		t.Errorf("told of %d of 2 outcomes", told)
	}
}

func TestCancelled(t *testing.T) {
	dev := convtest.Device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	caps := conv.CapsOf(dev.Info())
	m, err := tune.NewMeter(cl, caps, planar.FP32, tune.Defaults(dev.Info(), 0))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	task := tune.Task{Key: "a", Precision: "fp32", Shape: conv.Shape{K: 3, SrcC: []int{4}, OutC: 4, H: 8, W: 16}, Candidates: []conv.Algo{conv.Direct(caps)}}
	if _, err := m.Run(ctx, []tune.Task{task}, tune.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestScore(t *testing.T) {
	small, large := conv.Shape{K: 3, SrcC: []int{64}, OutC: 64}, conv.Shape{K: 7, SrcC: []int{128, 64}, OutC: 64}
	nan := math.NaN()
	for _, c := range []struct {
		what      string
		relError  float64
		precision string
		shape     conv.Shape
		want      float64
	}{
		{"exact", 0, "fp32", small, 1},
		{"at the tolerance", 1e-5, "fp32", small, 0.5},
		{"beyond twice it", 2.1e-5, "fp32", small, 0},
		{"nonsense", 1, "fp32", small, 0},
		{"not a number", nan, "fp32", small, 0},
		{"many terms, cut off by matrix units", 6.7e-5, "fp32", large, 0.81},
		{"many terms, beyond what that explains", 3e-4, "fp32", large, 0},
		{"weights of 11 bits", 3e-4, "fp16", small, 0.92},
		{"weights of 11 bits, many terms", 3e-4, "fp16", large, 0.92},
	} {
		if got := tune.Score(1, c.relError, c.precision, c.shape); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s: %.3f, want %.2f", c.what, got, c.want)
		}
	}
	if got := tune.Score(0.5, 0, "fp32", small); got != 2 {
		t.Errorf("twice the speed: %g", got)
	}
}

// TestTinyBudget: a shape that does not fit the memory has a reason, not a crash.
func TestTinyBudget(t *testing.T) {
	dev := convtest.Device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	caps := conv.CapsOf(dev.Info())
	m, err := tune.NewMeter(cl, caps, planar.FP32, tune.Defaults(dev.Info(), 10<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	task := tune.Task{Key: "a", Precision: "fp32", Shape: conv.Shape{K: 3, SrcC: []int{64}, OutC: 64, H: 80, W: 1600}, Candidates: []conv.Algo{conv.Direct(caps)}}
	out, err := m.Run(t.Context(), []tune.Task{task}, tune.Options{})
	if err != nil || !strings.Contains(out[0].Problem, "fits") || out[0].Choice.Measured() {
		t.Errorf("%+v, %v", out, err)
	}
}
