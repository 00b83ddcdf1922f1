package exec_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/internal/trace"
	"enhance/model"
)

// slowSink takes rows, and its time.
type slowSink struct {
	sink
	fail error // at the end of the first rows
}

func (s slowSink) Rows(y0, y1 int) (exec.Rows, error) {
	rows, err := s.sink.Rows(y0, y1)
	return slowRows{rows, s.fail}, err
}

type slowRows struct {
	exec.Rows
	fail error
}

func (r slowRows) End() error {
	time.Sleep(5 * time.Millisecond)
	return errors.Join(r.Rows.End(), r.fail)
}

// TestRunAhead: runs that begin when those before are still delivering give the same
// samples as runs alone, on engines of one queue and of several, also beside one whose
// sink fails, and one profile counts them all.
func TestRunAhead(t *testing.T) {
	m := &model.Model{Graph: model.PyNETS([4]int{2, 4, 2, 2})}
	m.Params = model.FormulaParams("ahead", m.Graph)
	const h, w, runs, bad = 160, 24, 6, 3
	ours := errors.New("our own")
	for _, opt := range []exec.Options{{WholePlanes: true}, {Rows: 6}, {Rows: 10, Discrete: true}, {WholePlanes: true, Discrete: true, Precision: planar.FP16}, {Rows: 6, Discrete: true, Poison: true}} {
		name := fmt.Sprintf("rows %d, discrete %v, %s", opt.Rows, opt.Discrete, opt.Precision)
		tr := trace.New(io.Discard)
		profile := exec.NewProfile("test", tr, 0, nil)
		opt.Profiler = profile
		job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt)
		if err != nil {
			t.Fatal(err)
		}
		e, done := open(t, job)
		var in, want, got [runs]*tensor
		for k := range runs {
			in[k] = &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("ahead", fmt.Sprint("input", k), 4*h*w)}
			want[k] = &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, 3*4*h*w)}
			got[k] = &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, 3*4*h*w)}
			if err := e.Run(t.Context(), source{in[k]}, sink{want[k]}, nil); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		overlapped := 0
		for k := range runs {
			free := make(chan struct{})
			ended := make(chan struct{})
			all.Go(func() {
				defer close(ended)
				s := slowSink{sink: sink{got[k]}}
				if k == bad {
					s.fail = ours
				}
				err := e.RunAhead(t.Context(), source{in[k]}, s, nil, func() { close(free) })
				if !errors.Is(err, s.fail) {
					t.Errorf("%s, run %d: error %v, want %v", name, k, err, s.fail)
				}
			})
			select {
			case <-free:
				overlapped++
			case <-ended: // failed before
			}
		}
		all.Wait()
		if overlapped < runs-1 {
			t.Errorf("%s: only %d of %d runs let the next begin", name, overlapped, runs)
		}
		if !e.Failed() {
			t.Errorf("%s: the engine does not know that a run failed", name)
		}
		for k := range runs {
			for i, v := range got[k].v {
				if k != bad && math.Float32bits(v) != math.Float32bits(want[k].v[i]) {
					t.Fatalf("%s, run %d: sample %d is %v, alone it was %v", name, k, i, v, want[k].v[i])
				}
			}
		}
		if r := profile.Report(nil); r.Runs != 2*runs {
			t.Errorf("%s: the profile counts %d runs of %d", name, r.Runs, 2*runs)
		}
		done()
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
}
