package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/model"
)

// gate lets callers through once a row has been reached.
type gate struct {
	row    int
	once   sync.Once
	opened chan struct{}
}

func newGate(row int) *gate { return &gate{row: row, opened: make(chan struct{})} }

// reach opens the gate if rows up to y1 go beyond its row.
func (g *gate) reach(y1 int) {
	if y1 > g.row {
		g.once.Do(func() { close(g.opened) })
	}
}

// pass waits for the gate.
func (g *gate) pass(ctx context.Context) error {
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("row %d was not reached", g.row)
	}
}

// gated is a source or sink that waits at row from for gate in, and opens gate out.
type gated struct {
	of interface {
		Rows(y0, y1 int) (exec.Rows, error)
	}
	ctx     context.Context
	from    int
	in, out *gate
}

func (s gated) Rows(y0, y1 int) (exec.Rows, error) {
	if s.out != nil {
		s.out.reach(y1)
	}
	if s.in != nil && y1 > s.from {
		if err := s.in.pass(s.ctx); err != nil {
			return nil, err
		}
	}
	return s.of.Rows(y0, y1)
}

// transfers are the rows that a strip uploads of the input, and the end of those that it downloads.
type transfers struct{ up0, up1, down1 int }

// transfersOf lists those of the strips of a plan's only section.
func transfersOf(t *testing.T, p *memplan.Plan, input int) (all []transfers) {
	t.Helper()
	if len(p.Sections) != 1 {
		t.Fatalf("the plan has %d sections", len(p.Sections))
	}
	for _, m := range p.Sections[0].Moves {
		switch last := len(all) - 1; {
		case m.Kind == memplan.NextStrip:
			all = append(all, transfers{})
		case m.Kind == memplan.Upload && last >= 0 && p.Rings[m.Index].Tensor == input:
			all[last].up0, all[last].up1 = int(m.Y0), int(m.Y1)
		case m.Kind == memplan.Download:
			all[last].down1 = int(m.Y1)
		}
	}
	return all
}

// TestQueuesWaitForRowsOnly: on a device with memory of its own, a strip is computed and leaves though the source
// holds back what the next needs, and the source is asked for rows of later strips though the sink takes none.
func TestQueuesWaitForRowsOnly(t *testing.T) {
	m := &model.Model{Graph: model.PyNETS([4]int{2, 2, 2, 2})}
	m.Params = model.FormulaParams("queues", m.Graph)
	const h, w, rows = 4096, 16, 2048 // of the output: more chunks than there is memory for on the host
	job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), exec.Options{Rows: rows, Discrete: true, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	e, done := open(t, job)
	defer done()
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("queues", "input", 4*h*w)}
	free := &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, 3*4*h*w)}
	if err := e.Run(t.Context(), source{in}, sink{free}, nil); err != nil {
		t.Fatal(err)
	}
	strips := transfersOf(t, job.Plan, job.Program.Input)
	for _, c := range []struct {
		name     string
		src, dst func(s, d *gated)
	}{
		{"source", func(s, d *gated) {
			g := newGate(strips[1].down1 - 1) // the sink has all of the second strip
			s.from, s.in, d.out = strips[1].up0, g, g
		}, nil},
		{"sink", nil, func(s, d *gated) {
			g := newGate(strips[2].up1 - 1) // the source is asked for all that is uploaded in the third strip
			d.from, d.in, s.out = 0, g, g
		}},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("the run waits for ever"))
		out := &tensor{c: 3, h: 2 * h, w: 2 * w, v: make([]float32, len(free.v))}
		src, dst := &gated{of: source{in}, ctx: ctx}, &gated{of: sink{out}, ctx: ctx}
		for _, set := range []func(s, d *gated){c.src, c.dst} {
			if set != nil {
				set(src, dst)
			}
		}
		err := e.Run(ctx, src, dst, nil)
		cancel()
		if err != nil {
			t.Fatalf("%s holds back: %v", c.name, err)
		}
		for i, v := range out.v {
			if math.Float32bits(v) != math.Float32bits(free.v[i]) {
				t.Fatalf("%s holds back: sample %d is %v, was %v", c.name, i, v, free.v[i])
			}
		}
	}
}
