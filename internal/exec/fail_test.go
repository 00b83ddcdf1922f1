package exec_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/model"
)

// act is a source or sink that does something when the range with a row begins, or
// ends.
type act struct {
	of interface {
		Rows(y0, y1 int) (exec.Rows, error)
	}
	row   int
	do    func() error
	atEnd bool
}

func (a act) Rows(y0, y1 int) (exec.Rows, error) {
	rows, err := a.of.Rows(y0, y1)
	switch {
	case err != nil || a.row < y0 || a.row >= y1:
		return rows, err
	case a.atEnd:
		return actRows{rows, a.do}, nil
	}
	if err := a.do(); err != nil {
		return nil, err
	}
	return rows, nil
}

type actRows struct {
	exec.Rows
	do func() error
}

func (r actRows) End() error { return errors.Join(r.Rows.End(), r.do()) }

// TestRunFails stops runs of one engine in every way at the first, a middle and
// the last row. Each must return the cause, leave no goroutine behind, and leave
// the engine fit for the next run.
func TestRunFails(t *testing.T) {
	m := &model.Model{Graph: model.PyNETS([4]int{2, 2, 2, 2})}
	m.Params = model.FormulaParams("fail", m.Graph)
	const h, w = 64, 16
	job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), exec.Options{Rows: 4})
	if err != nil {
		t.Fatal(err)
	}
	e, done := open(t, job)
	defer done()
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("fail", "input", 4*h*w)}
	good := &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, 3*4*h*w)}
	if err := e.Run(t.Context(), source{in}, sink{good}, nil); err != nil {
		t.Fatal(err)
	}
	ours := errors.New("our own")
	for _, c := range []struct {
		name string
		want error
		run  func(ctx context.Context, row int, out *tensor) error
	}{
		{"source", ours, func(ctx context.Context, row int, out *tensor) error {
			return e.Run(ctx, act{of: source{in}, row: row, do: func() error { return ours }}, sink{out}, nil)
		}},
		{"source at an end", ours, func(ctx context.Context, row int, out *tensor) error {
			return e.Run(ctx, act{of: source{in}, row: row, do: func() error { return ours }, atEnd: true}, sink{out}, nil)
		}},
		{"sink at a beginning", ours, func(ctx context.Context, row int, out *tensor) error {
			return e.Run(ctx, source{in}, act{of: sink{out}, row: row, do: func() error { return ours }}, nil)
		}},
		{"sink", ours, func(ctx context.Context, row int, out *tensor) error {
			return e.Run(ctx, source{in}, act{of: sink{out}, row: row, do: func() error { return ours }, atEnd: true}, nil)
		}},
		{"cancelled by the source", context.Canceled, func(ctx context.Context, row int, out *tensor) error {
			ctx, cancel := context.WithCancel(ctx)
			return e.Run(ctx, act{of: source{in}, row: row, do: func() error { cancel(); <-ctx.Done(); return nil }}, sink{out}, nil)
		}},
		{"cancelled with a cause", ours, func(ctx context.Context, row int, out *tensor) error {
			ctx, cancel := context.WithCancelCause(ctx)
			return e.Run(ctx, act{of: source{in}, row: row, do: func() error { cancel(ours); return nil }}, sink{out}, nil)
		}},
		{"cancelled before", context.Canceled, func(ctx context.Context, _ int, out *tensor) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return e.Run(ctx, source{in}, sink{out}, nil)
		}},
		{"too late", context.DeadlineExceeded, func(ctx context.Context, row int, out *tensor) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			return e.Run(ctx, act{of: source{in}, row: row, do: func() error { <-ctx.Done(); return nil }}, sink{out}, nil)
		}},
	} {
		for _, row := range []int{0, h / 2, h - 1} {
			before := runtime.NumGoroutine()
			out := &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, len(good.v))}
			if err := c.run(t.Context(), row, out); !errors.Is(err, c.want) {
				t.Errorf("%s, row %d: error %v, want %v", c.name, row, err, c.want)
			}
			settle(t, before)
			again := &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, len(good.v))}
			if err := e.Run(t.Context(), source{in}, sink{again}, nil); err != nil {
				t.Fatalf("after %s, row %d: %v", c.name, row, err)
			}
			for i, v := range again.v {
				if math.Float32bits(v) != math.Float32bits(good.v[i]) {
					t.Fatalf("after %s, row %d: sample %d is %v, was %v", c.name, row, i, v, good.v[i])
				}
			}
		}
	}
}

// TestSinkErrorWhileReading: the sink fails while the engine waits for a source
// that ends only then; the sink's error is the one that counts.
func TestSinkErrorWhileReading(t *testing.T) {
	m := &model.Model{Graph: model.PyNETS([4]int{2, 2, 2, 2})}
	m.Params = model.FormulaParams("fail", m.Graph)
	const h, w = 256, 16
	job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), exec.Options{Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, done := open(t, job)
	defer done()
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("fail", "input", 4*h*w)}
	out := &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, 3*4*h*w)}
	ours, failed := errors.New("our own"), make(chan struct{})
	bad := act{of: sink{out}, do: func() error { close(failed); return ours }}
	slow := act{of: source{in}, row: h - 1, do: func() error { <-failed; time.Sleep(20 * time.Millisecond); return nil }}
	if err := e.Run(t.Context(), slow, bad, nil); !errors.Is(err, ours) {
		t.Errorf("error %v, want the sink's", err)
	}
}

// settle waits for goroutines that are ending and fails if more are left than
// there were.
func settle(t *testing.T, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestProgress: it rises, and ends at its total, which is the network's.
func TestProgress(t *testing.T) {
	m := &model.Model{Graph: model.PyNETS([4]int{2, 2, 2, 2})}
	m.Params = model.FormulaParams("fail", m.Graph)
	job, err := exec.Prepare(m, 64, 16, convtest.Device(t).Info(), exec.Options{Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, done := open(t, job)
	defer done()
	in := &tensor{c: 4, h: 64, w: 16, v: model.FormulaTensor("fail", "input", 4*64*16)}
	out := &tensor{c: 3, h: 128, w: 32, v: make([]float32, 3*128*32)}
	flops, err := m.Graph.FLOPs(64, 16)
	if err != nil {
		t.Fatal(err)
	}
	last, calls := int64(0), 0
	err = e.Run(t.Context(), source{in}, sink{out}, func(n, total int64) {
		if n < last || n > total || total > flops {
			t.Errorf("%d of %d after %d; the network has %d", n, total, last, flops)
		}
		if n == total {
			last = total
		}
		last, calls = n, calls+1
	})
	if err != nil || last != job.Plan.Cost.FLOPs || calls < 3 {
		t.Errorf("%d calls, the last with %d of %d, error %v", calls, last, job.Plan.Cost.FLOPs, err)
	}
}
