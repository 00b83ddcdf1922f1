package exec

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"enhance/clrt"
	"enhance/memplan"
	"enhance/planar"
	"enhance/trace"
)

// inFlight is how many chunks of rows may be between host and device at a time
// in each direction.
const inFlight = 4

// piece is how many rows make a chunk at most: what the host prepares or takes
// while the one before is on its way.
const piece = 64

// pieces calls do for consecutive ranges of at most piece rows.
func pieces(y0, y1 int, do func(y0, y1 int) error) error {
	for y := y0; y < y1; y += piece {
		if err := do(y, min(y+piece, y1)); err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls do for rows 0 to n-1 on all cores.
func eachRow(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// chunk is some rows of the input or the output as the device stores them.
type chunk struct {
	y0, y1 int
	bytes  []byte
	events []*clrt.Event
	err    error
}

// wait waits for the transfers of the chunk.
func (c *chunk) wait() error {
	var first error
	for _, ev := range c.events {
		if err := ev.Wait(); err != nil && first == nil {
			first = err
		}
		ev.Close()
	}
	c.events = nil
	return first
}

// feeder prepares the input's chunks ahead of the uploads, in a goroutine of its
// own, so that decoding and device work overlap.
type feeder struct {
	ready chan *chunk
	free  chan []byte
	sents []*chunk
	done  chan struct{}
	ctx   context.Context

	stages *trace.Stages
}

func newFeeder(ctx context.Context, e *Engine, src Source) *feeder {
	f := &feeder{ready: make(chan *chunk, inFlight), free: make(chan []byte, 2*inFlight+2), done: make(chan struct{}), ctx: ctx, stages: e.opt.Profiler.Stages()}
	in := e.Program.Tensors[e.Program.Input]
	rows := planar.Rows{C: in.C, W: in.W, Precision: e.opt.Precision}
	go func() {
		defer close(f.done)
		defer close(f.ready)
		lines := make([][][]float32, piece)
		for i := range lines {
			lines[i] = planes(in.C, in.W)
		}
		for _, sec := range e.Plan.Sections {
			for _, m := range sec.Moves {
				if m.Kind != memplan.Upload || e.Plan.Rings[m.Index].Tensor != e.Program.Input {
					continue
				}
				err := pieces(int(m.Y0), int(m.Y1), func(y0, y1 int) error {
					c := f.fill(src, rows, lines, y0, y1)
					select {
					case f.ready <- c:
						return c.err
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if err != nil {
					return
				}
			}
		}
	}()
	return f
}

func planes(c, w int) [][]float32 {
	ls := make([][]float32, c)
	all := make([]float32, c*w)
	for i := range ls {
		ls[i] = all[i*w : (i+1)*w]
	}
	return ls
}

func (f *feeder) fill(src Source, rows planar.Rows, lines [][][]float32, y0, y1 int) *chunk {
	c := &chunk{y0: y0, y1: y1}
	need := rows.Bytes(c.y1 - c.y0)
	select {
	case b := <-f.free:
		if int64(cap(b)) >= need {
			c.bytes = b[:need]
		}
	default:
	}
	if c.bytes == nil {
		c.bytes = make([]byte, need)
	}
	for i := range y1 - y0 {
		if c.err = src.Row(y0+i, lines[i]); c.err != nil {
			return c
		}
	}
	defer f.stages.Begin("pack")()
	eachRow(y1-y0, func(i int) {
		row := c.bytes[rows.Bytes(i):]
		for k, line := range lines[i] {
			rows.Put(row, k, line)
		}
	})
	return c
}

// next returns the chunk that the plan uploads next.
func (f *feeder) next(y0, y1 int) (*chunk, error) {
	// Buffers go back to the goroutine once the device has read them.
	for len(f.sents) >= inFlight {
		c := f.sents[0]
		f.sents = f.sents[1:]
		if err := c.wait(); err != nil {
			return nil, err
		}
		select {
		case f.free <- c.bytes:
		default:
		}
	}
	c, ok := <-f.ready
	switch {
	case !ok: // the goroutine ends early only when the run is over
		return nil, context.Cause(f.ctx)
	case c.err != nil:
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
	for range f.ready {
	}
	<-f.done
	for _, c := range f.sents {
		c.wait()
	}
}

// drain hands the output's rows to the sink, in a goroutine of its own.
type drain struct {
	e     *Engine
	queue chan *chunk
	free  chan []byte
	ended chan error
}

func newDrain(e *Engine, sink Sink, cancel context.CancelCauseFunc) *drain {
	d := &drain{e: e, queue: make(chan *chunk, inFlight), free: make(chan []byte, inFlight+2), ended: make(chan error, 1)}
	out := e.Program.Tensors[e.Program.Output]
	rows := planar.Rows{C: out.C, W: out.W, Precision: e.opt.Precision}
	go func() {
		lines := make([][][]float32, piece)
		for i := range lines {
			lines[i] = planes(out.C, out.W)
		}
		var first error
		for c := range d.queue {
			err := c.wait()
			if err == nil && first == nil {
				err = deliver(c, rows, lines, sink, e.opt.Profiler.Stages())
			}
			if err != nil && first == nil {
				first = err
				cancel(err)
			}
			select {
			case d.free <- c.bytes:
			default:
			}
		}
		d.ended <- first
	}()
	return d
}

func deliver(c *chunk, rows planar.Rows, lines [][][]float32, sink Sink, stages *trace.Stages) error {
	end := stages.Begin("unpack")
	eachRow(c.y1-c.y0, func(i int) {
		row := c.bytes[rows.Bytes(i):]
		for k, line := range lines[i] {
			rows.Get(row, k, line)
		}
	})
	end()
	for i := range c.y1 - c.y0 {
		if err := sink.Row(c.y0+i, lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// rows starts the download of rows [y0,y1) of the output, piece by piece.
func (d *drain) rows(ring planar.Ring, rowBytes int64, y0, y1 int) error {
	return pieces(y0, y1, func(y0, y1 int) error { return d.piece(ring, rowBytes, y0, y1) })
}

func (d *drain) piece(ring planar.Ring, rowBytes int64, y0, y1 int) error {
	c := &chunk{y0: y0, y1: y1}
	need := rowBytes * int64(y1-y0)
	select {
	case b := <-d.free:
		if int64(cap(b)) >= need {
			c.bytes = b[:need]
		}
	default:
	}
	if c.bytes == nil {
		c.bytes = make([]byte, need)
	}
	err := slots(ring, rowBytes, y0, y1, func(off int64, y, n int) error {
		at := int64(y-y0) * rowBytes
		ev, err := d.e.down.ReadAsync(ring.Buf, off, c.bytes[at:at+int64(n)*rowBytes])
		if err == nil {
			c.events = append(c.events, ev)
		}
		return err
	})
	if err == nil {
		err = d.e.down.Flush()
	}
	d.queue <- c
	return err
}

// close waits until the sink has taken everything.
func (d *drain) close() error {
	close(d.queue)
	return <-d.ended
}
