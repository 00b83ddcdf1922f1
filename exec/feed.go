package exec

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
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

// eachRow calls do for rows 0 to n-1, which take about so long each, on as many
// cores as that is worth; worker numbers the goroutine, from 0.
func eachRow(n int, each time.Duration, do func(worker, i int)) {
	workers := Workers(n, each)
	if workers == 1 {
		for i := range n {
			do(0, i)
		}
		return
	}
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				do(k, i)
			}
		})
	}
	wg.Wait()
}

// EachRow is for Sources that make rows on all cores: it calls do for 0 to n-1, which
// take about so many ns each, on as many cores as that is worth.
func EachRow(n, ns int, do func(i int)) {
	eachRow(n, time.Duration(ns), func(_, i int) { do(i) })
}

// rowTime is about how long the samples of a row take to convert: as long as they
// take through the memory.
func rowTime(r planar.Rows) time.Duration { return time.Duration(r.C * r.W / 2) }

// feeder prepares the input's chunks ahead of the uploads, in a goroutine of its
// own, so that decoding and device work overlap.
type feeder struct {
	ready  chan *chunk
	sents  []*chunk
	done   chan struct{}
	ctx    context.Context
	rows   planar.Rows
	memory *staging
	stages *trace.Stages
	lines  [][][]float32 // of a Source that makes rows one by one
}

func newFeeder(ctx context.Context, e *Engine, src Source) *feeder {
	in := e.Program.Tensors[e.Program.Input]
	f := &feeder{ready: make(chan *chunk, inFlight), done: make(chan struct{}), ctx: ctx, memory: e.in, stages: e.opt.Profiler.Stages(),
		rows: planar.Rows{C: in.C, W: in.W, Precision: e.opt.Precision}}
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

// push prepares a chunk and hands it on.
func (f *feeder) push(src Source, y0, y1 int) error {
	c := &chunk{y0: y0, y1: y1}
	if c.bytes, c.err = f.memory.take(f.ctx, f.rows.Bytes(y1-y0)); c.err == nil {
		c.err = f.fill(src, c)
	}
	select {
	case f.ready <- c:
		return c.err
	case <-f.ctx.Done():
		f.memory.give(c.bytes)
		return f.ctx.Err()
	}
}

// fill makes the rows of a chunk.
func (f *feeder) fill(src Source, c *chunk) error {
	put := func(y int, planes [][]float32) {
		row := c.bytes[f.rows.Bytes(y-c.y0):]
		for k, line := range planes {
			f.rows.Put(row, k, line)
		}
	}
	if s, ok := src.(RowsSource); ok {
		return s.Rows(c.y0, c.y1, put)
	}
	if f.lines == nil {
		f.lines = make([][][]float32, piece)
		for i := range f.lines {
			f.lines[i] = planes(f.rows.C, f.rows.W)
		}
	}
	for y := c.y0; y < c.y1; y++ {
		if err := src.Row(y, f.lines[y-c.y0]); err != nil {
			return err
		}
	}
	defer f.stages.Begin("pack")()
	eachRow(c.y1-c.y0, rowTime(f.rows), func(_, i int) { put(c.y0+i, f.lines[i]) })
	return nil
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
		f.memory.give(c.bytes)
		return nil, c.err
	case c.y0 != y0 || c.y1 != y1:
		return nil, fmt.Errorf("exec: rows %d to %d were prepared where %d to %d are due", c.y0, c.y1, y0, y1)
	}
	f.sents = append(f.sents, c)
	return c, nil
}

func (f *feeder) sent(c *chunk, ev *clrt.Event) { c.events = append(c.events, ev) }

// wait returns once the goroutine has ended; the context must be done.
func (f *feeder) wait() {
	for c := range f.ready {
		f.memory.give(c.bytes)
	}
	<-f.done
	for _, c := range f.sents {
		c.wait()
		f.memory.give(c.bytes)
	}
}
