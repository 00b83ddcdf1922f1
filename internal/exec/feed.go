package exec

import (
	"context"
	"fmt"

	"enhance/clrt"
	"enhance/internal/planar"
	"enhance/internal/trace"
	"enhance/internal/workers"
	"enhance/memplan"
)

// feeder has the source make the input's chunks ahead of the uploads, so that decoding
// and device work overlap. One goroutine begins chunks, the pool makes their rows, and
// another goroutine ends them, in order.
type feeder struct {
	pool     *workers.Pool
	begun    chan *chunk // being made
	ready    chan *chunk // made
	uploaded []*chunk    // on their way to the device
	done     chan struct{}
	ctx      context.Context
	rows     planar.Rows
	rowBytes int64
	samples  int           // in a line, where rows are of stored samples; else 0
	row      [][][]float32 // by worker
	memory   *staging
	stages   *trace.Stages
}

func newFeeder(ctx context.Context, e *Engine, pool *workers.Pool, src Source) *feeder {
	in := e.Program.Tensors[e.Program.Input]
	f := &feeder{ctx: ctx, pool: pool, memory: e.host.in, stages: e.opt.Profiler.Stages(),
		rows:     planar.Rows{C: in.C, W: in.W, Precision: e.opt.Precision, Pad: e.Program.Pad},
		rowBytes: planar.RowBytes(in, e.opt.Precision), row: make([][][]float32, pool.Workers()),
		begun: make(chan *chunk, inFlight), ready: make(chan *chunk, inFlight), done: make(chan struct{})}
	if e.TakesSamples() {
		f.samples = in.W
	}
	go f.begin(e.Plan, e.Program.Input, src)
	go f.end()
	return f
}

// begin begins the chunks that the plan uploads of tensor input.
func (f *feeder) begin(p *memplan.Plan, input int, src Source) {
	defer close(f.begun)
	for _, sec := range p.Sections {
		for _, m := range sec.Moves {
			if m.Kind != memplan.Upload || p.Rings[m.Index].Tensor != input {
				continue
			}
			err := chunks(int(m.Y0), int(m.Y1), func(y0, y1 int) error {
				c := &chunk{y0: y0, y1: y1}
				err := f.fill(src, c)
				c.err = err
				f.begun <- c // from here on the chunk is end's
				return err
			})
			if err != nil {
				return
			}
		}
	}
}

// fill has the pool make the rows of a chunk.
func (f *feeder) fill(src Source, c *chunk) (err error) {
	if err := context.Cause(f.ctx); err != nil {
		return err
	}
	if c.bytes, err = f.memory.take(f.ctx, f.rowBytes*int64(c.y1-c.y0)); err != nil {
		return err
	}
	rows, err := src.Rows(c.y0, c.y1)
	if err != nil {
		return err
	}
	endStage := f.stages.Begin("pack")
	c.end = func() error {
		endStage()
		return rows.End()
	}
	if f.samples > 0 {
		c.made = f.pool.Start(c.y0, c.y1, func(_, y int) {
			storeSamples(rows.(SampleRows), y, f.samples, c.bytes[int64(y-c.y0)*f.rowBytes:])
		})
		return nil
	}
	c.made = f.pool.Start(c.y0, c.y1, func(worker, y int) {
		row := f.row[worker]
		if row == nil {
			row = lines(f.rows.C, f.rows.W)
			f.row[worker] = row
		}
		rows.Row(y, row)
		stored := c.bytes[int64(y-c.y0)*f.rowBytes:]
		for k, line := range row {
			f.rows.Put(stored, k, line)
		}
	})
	return nil
}

// end ends chunks in order and hands them on.
func (f *feeder) end() {
	defer close(f.done)
	defer close(f.ready)
	for c := range f.begun {
		if c.made != nil {
			<-c.made
			c.err = c.end()
		}
		if f.ctx.Err() != nil { // chunks must not be missing between others: no more are handed on
			f.memory.give(c.bytes)
			continue
		}
		select {
		case f.ready <- c:
		case <-f.ctx.Done():
			f.memory.give(c.bytes)
		}
	}
}

// next returns the chunk that the plan uploads next.
func (f *feeder) next(y0, y1 int) (*chunk, error) {
	// Memory goes back to the goroutine once the device has read it.
	for len(f.uploaded) >= inFlight {
		c := f.uploaded[0]
		f.uploaded = f.uploaded[1:]
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
		f.memory.give(c.bytes)
		return nil, fmt.Errorf("exec: rows %d to %d were prepared where %d to %d are due", c.y0, c.y1, y0, y1)
	}
	f.uploaded = append(f.uploaded, c)
	return c, nil
}

// sent takes the event of the upload of a chunk.
func (f *feeder) sent(c *chunk, ev *clrt.Event) { c.events = append(c.events, ev) }

// wait returns once the goroutines have ended and the device has all that was sent;
// the context must be done, or all chunks have been taken.
func (f *feeder) wait() {
	for c := range f.ready {
		f.memory.give(c.bytes)
	}
	<-f.done
	for _, c := range f.uploaded {
		c.wait()
		f.memory.give(c.bytes)
	}
	f.uploaded = nil
}
