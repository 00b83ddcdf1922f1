package exec

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"enhance/clrt"
	"enhance/memplan"
	"enhance/planar"
	"enhance/trace"
)

// wakeTime is about how long waking one more goroutine takes. They are woken one
// after the other, so that k of them do a work of T in k·wakeTime + T/k: least for
// the square root of T/wakeTime.
const wakeTime = 8 * time.Microsecond

// Workers is how many goroutines should share n pieces of work of about so long
// each.
func Workers(n int, each time.Duration) int {
	best := math.Sqrt(float64(n) * float64(each) / float64(wakeTime))
	return max(1, min(runtime.GOMAXPROCS(0), n, int(best)))
}

// feeder prepares the input's chunks ahead of the uploads, in a goroutine of its
// own, so that decoding and device work overlap.
type feeder struct {
	ready  chan *chunk
	sents  []*chunk
	done   chan struct{}
	ctx    context.Context
	rows   planar.Rows
	crew   *crew
	memory *staging
	stages *trace.Stages
	spare  chan [][]float32 // rows of a Source that makes them one by one
}

func newFeeder(ctx context.Context, e *Engine, crew *crew, src Source) *feeder {
	in := e.Program.Tensors[e.Program.Input]
	f := &feeder{ready: make(chan *chunk, inFlight), done: make(chan struct{}), ctx: ctx, crew: crew, memory: e.in, stages: e.opt.Profiler.Stages(),
		rows: planar.Rows{C: in.C, W: in.W, Precision: e.opt.Precision}}
	if _, ok := src.(RowsSource); !ok {
		f.spare = spareRows()
	}
	go func() {
		defer close(f.done)
		defer close(f.ready)
		for _, sec := range e.Plan.Sections {
			for _, m := range sec.Moves {
				if m.Kind != memplan.Upload || e.Plan.Rings[m.Index].Tensor != e.Program.Input {
					continue
				}
				err := pieces(int(m.Y0), int(m.Y1), func(y0, y1 int) error { return f.push(src, y0, y1) })
				if err != nil {
					return
				}
			}
		}
	}()
	return f
}

// push begins a chunk and hands it on.
func (f *feeder) push(src Source, y0, y1 int) error {
	c := &chunk{y0: y0, y1: y1}
	if c.bytes, c.err = f.memory.take(f.ctx, f.rows.Bytes(y1-y0)); c.err == nil {
		c.err = f.fill(src, c)
	}
	err := c.err
	select {
	case f.ready <- c:
		return err
	case <-f.ctx.Done():
		f.giveUp(c)
		return f.ctx.Err()
	}
}

// giveUp takes back a chunk that is not sent.
func (f *feeder) giveUp(c *chunk) {
	if c.filled != nil {
		<-c.filled
	}
	f.memory.give(c.bytes)
}

// fill has the crew make the rows of a chunk.
func (f *feeder) fill(src Source, c *chunk) error {
	row, end, err := f.open(src, c)
	if err != nil {
		return err
	}
	stop := f.stages.Begin("pack")
	c.filled = f.crew.start(c.y0, c.y1, func(_, y int) {
		row(y, func(planes [][]float32) {
			stored := c.bytes[f.rows.Bytes(y-c.y0):]
			for k, line := range planes {
				f.rows.Put(stored, k, line)
			}
		})
	}, func() {
		end()
		stop()
	})
	return nil
}

// open says how a chunk's rows are made.
func (f *feeder) open(src Source, c *chunk) (row func(y int, put func(planes [][]float32)), end func(), err error) {
	if s, ok := src.(RowsSource); ok {
		return s.Rows(c.y0, c.y1)
	}
	lines := make([][][]float32, 0, c.y1-c.y0)
	end = func() {
		for _, planes := range lines {
			f.spare <- planes
		}
	}
	for y := c.y0; y < c.y1; y++ {
		next := <-f.spare
		if next == nil {
			next = planes(f.rows.C, f.rows.W)
		}
		lines = append(lines, next)
		if err := src.Row(y, next); err != nil {
			end()
			return nil, nil, err
		}
	}
	return func(y int, put func(planes [][]float32)) { put(lines[y-c.y0]) }, end, nil
}

func planes(c, w int) [][]float32 {
	ls := make([][]float32, c)
	all := make([]float32, c*w)
	for i := range ls {
		ls[i] = all[i*w : (i+1)*w]
	}
	return ls
}

// next returns the chunk that the plan uploads next.
func (f *feeder) next(y0, y1 int) (*chunk, error) {
	// Memory goes back to the goroutine once the device has read it.
	for len(f.sents) >= inFlight {
		c := f.sents[0]
		f.sents = f.sents[1:]
		err := c.wait()
		f.memory.give(c.bytes)
		if err != nil {
			return nil, err
		}
	}
	c, ok := <-f.ready
	switch {
	case !ok: // the goroutine ends early only when the run is over
		return nil, context.Cause(f.ctx)
	case c.err != nil:
		f.giveUp(c)
		return nil, c.err
	case c.y0 != y0 || c.y1 != y1:
		return nil, fmt.Errorf("exec: rows %d to %d were prepared where %d to %d are due", c.y0, c.y1, y0, y1)
	}
	<-c.filled
	f.sents = append(f.sents, c)
	return c, nil
}

func (f *feeder) sent(c *chunk, ev *clrt.Event) { c.events = append(c.events, ev) }

// wait returns once the goroutine has ended and the device has all that was sent;
// the context must be done, or all chunks have been taken.
func (f *feeder) wait() {
	for c := range f.ready {
		f.giveUp(c)
	}
	<-f.done
	for _, c := range f.sents {
		c.wait()
		f.memory.give(c.bytes)
	}
	f.sents = nil
}
