package exec

import (
	"context"
	"sync/atomic"

	"enhance/planar"
	"enhance/trace"
)

// drain hands the output's rows to the sink. One goroutine waits for chunks to come
// and begins them, the crew converts their rows and gives them to the sink, and
// another goroutine ends chunks in order.
type drain struct {
	e      *Engine
	crew   *crew
	queue  chan *chunk      // on their way from the device
	begun  chan *delivery   // in order
	spare  chan [][]float32 // rows of a Sink that takes them one by one
	row    [][][]float32    // by worker
	ended  chan error
	failed atomic.Bool
	rows   planar.Rows
	sink   Sink
	stages *trace.Stages
}

// delivery is a chunk whose rows are being given to the sink.
type delivery struct {
	*chunk
	done <-chan struct{} // nil: nothing is given
	end  func() error
}

func newDrain(e *Engine, crew *crew, sink Sink, cancel context.CancelCauseFunc) *drain {
	out := e.Program.Tensors[e.Program.Output]
	d := &drain{e: e, crew: crew, sink: sink, stages: e.opt.Profiler.Stages(), rows: planar.Rows{C: out.C, W: out.W, Precision: e.opt.Precision},
		queue: make(chan *chunk, inFlight), begun: make(chan *delivery, outChunks), row: make([][][]float32, crew.workers), ended: make(chan error, 1)}
	if _, ok := sink.(RowsSink); !ok {
		d.spare = spareRows()
	}
	go d.begin()
	go func() { d.ended <- d.finish(cancel) }()
	return d
}

// spareRows is room for the rows of two chunks, to be made when first used.
func spareRows() chan [][]float32 {
	c := make(chan [][]float32, 2*piece)
	for range cap(c) {
		c <- nil
	}
	return c
}

// begin begins chunks when they have come.
func (d *drain) begin() {
	defer close(d.begun)
	for c := range d.queue {
		v := &delivery{chunk: c}
		if err := c.wait(); c.err == nil {
			c.err = err
		}
		if c.err == nil && !d.failed.Load() {
			d.give(v)
		}
		d.begun <- v
	}
}

// give has the crew give a chunk's rows to the sink.
func (d *drain) give(v *delivery) {
	put, end, err := d.open(v.chunk)
	if err != nil {
		v.err = err
		return
	}
	v.end = end
	v.done = d.crew.start(v.y0, v.y1, func(worker, y int) {
		row := d.row[worker]
		if row == nil {
			row = planes(d.rows.C, d.rows.W)
			d.row[worker] = row
		}
		stored := v.bytes[d.rows.Bytes(y-v.y0):]
		for k, line := range row {
			d.rows.Get(stored, k, line)
		}
		put(y, row)
	}, func() {})
}

// open says how a chunk's rows are given to the sink.
func (d *drain) open(c *chunk) (put func(y int, planes [][]float32), end func() error, err error) {
	if s, ok := d.sink.(RowsSink); ok {
		return s.Rows(c.y0, c.y1)
	}
	lines := make([][][]float32, c.y1-c.y0)
	for i := range lines {
		if lines[i] = <-d.spare; lines[i] == nil {
			lines[i] = planes(d.rows.C, d.rows.W)
		}
	}
	stop := d.stages.Begin("unpack")
	put = func(y int, planes [][]float32) {
		for k, line := range planes {
			copy(lines[y-c.y0][k], line)
		}
	}
	return put, func() (err error) {
		stop()
		for i, planes := range lines {
			if err == nil {
				err = d.sink.Row(c.y0+i, planes)
			}
			d.spare <- planes
		}
		return err
	}, nil
}

// finish ends chunks in order until there are no more and returns the first error.
func (d *drain) finish(cancel context.CancelCauseFunc) (first error) {
	for v := range d.begun {
		err := v.err
		if v.done != nil {
			<-v.done
			err = v.end()
		}
		if err != nil && first == nil {
			first = err
			d.failed.Store(true)
			cancel(err)
		}
		d.e.out.give(v.bytes)
	}
	return first
}

// download starts the download of rows [y0,y1) of the output, piece by piece.
func (d *drain) download(ring planar.Ring, rowBytes int64, y0, y1 int) error {
	return pieces(y0, y1, func(y0, y1 int) error { return d.piece(ring, rowBytes, y0, y1) })
}

func (d *drain) piece(ring planar.Ring, rowBytes int64, y0, y1 int) error {
	c := &chunk{y0: y0, y1: y1}
	// The goroutines give back whatever happens: no need to look at a context.
	c.bytes, _ = d.e.out.take(context.Background(), rowBytes*int64(y1-y0))
	c.err = slots(ring, rowBytes, y0, y1, func(off int64, y, n int) error {
		at := int64(y-y0) * rowBytes
		ev, err := d.e.down.ReadAsync(ring.Buf, off, c.bytes[at:at+int64(n)*rowBytes])
		if err == nil {
			c.events = append(c.events, ev)
		}
		return err
	})
	if c.err == nil {
		c.err = d.e.down.Flush()
	}
	err := c.err
	d.queue <- c // from here on it is the goroutines'
	return err
}

// close waits until the sink has taken everything.
func (d *drain) close() error {
	close(d.queue)
	return <-d.ended
}
