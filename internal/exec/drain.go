package exec

import (
	"context"
	"sync/atomic"

	"enhance/internal/planar"
	"enhance/internal/workers"
)

// drain hands the output's rows to the sink. One goroutine waits for chunks to come
// and begins them, the pool converts their rows and gives them to the sink, and
// another goroutine ends chunks in order.
type drain struct {
	e        *Engine
	pool     *workers.Pool
	queue    chan *chunk // on their way from the device
	begun    chan *chunk // being taken
	ended    chan error
	failed   atomic.Bool
	rows     planar.Rows
	rowBytes int64
	row      [][][]float32 // by worker
	sink     Sink
}

func newDrain(e *Engine, pool *workers.Pool, sink Sink, cancel context.CancelCauseFunc) *drain {
	out := e.Program.Tensors[e.Program.Output]
	d := &drain{e: e, pool: pool, sink: sink,
		rows:     planar.Rows{C: out.C, W: out.W, Precision: e.opt.Precision, Pad: e.Program.Pad},
		rowBytes: planar.RowBytes(out, e.opt.Precision), row: make([][][]float32, pool.Workers()),
		queue: make(chan *chunk, inFlight), begun: make(chan *chunk, outChunks), ended: make(chan error, 1)}
	go d.begin()
	go func() { d.ended <- d.finish(cancel) }()
	return d
}

// begin begins chunks when they have come.
func (d *drain) begin() {
	defer close(d.begun)
	for c := range d.queue {
		if err := c.wait(); c.err == nil {
			c.err = err
		}
		if c.err == nil && !d.failed.Load() {
			c.err = d.give(c)
		}
		d.begun <- c
	}
}

// give has the pool give a chunk's rows to the sink.
func (d *drain) give(c *chunk) error {
	rows, err := d.sink.Rows(c.y0, c.y1)
	if err != nil {
		return err
	}
	c.end = rows.End
	if d.e.MakesPixels() {
		d.givePixels(c, rows.(PixelRows))
		return nil
	}
	c.made = d.pool.Start(c.y0, c.y1, func(worker, y int) {
		row := d.row[worker]
		if row == nil {
			row = lines(d.rows.C, d.rows.W)
			d.row[worker] = row
		}
		stored := c.bytes[d.rows.Bytes(y-c.y0):]
		for k, line := range row {
			d.rows.Get(stored, k, line)
		}
		rows.Row(y, row)
	})
	return nil
}

// finish ends chunks in order until there are no more and returns the first error.
func (d *drain) finish(cancel context.CancelCauseFunc) (first error) {
	for c := range d.begun {
		if c.made != nil {
			<-c.made
			c.err = c.end()
		}
		if c.err != nil && first == nil {
			first = c.err
			d.failed.Store(true)
			cancel(first)
		}
		d.e.host.out.give(c.bytes)
	}
	return first
}

// download starts the download of rows [y0,y1) of the output, chunk by chunk.
func (d *drain) download(ring planar.Ring, y0, y1 int) error {
	return chunks(y0, y1, func(y0, y1 int) error { return d.chunk(ring, y0, y1) })
}

func (d *drain) chunk(ring planar.Ring, y0, y1 int) error {
	c := &chunk{y0: y0, y1: y1}
	// The goroutines give back whatever happens: no need to look at a context.
	c.bytes, _ = d.e.host.out.take(context.Background(), d.rowBytes*int64(y1-y0))
	c.err = slots(ring, d.rowBytes, y0, y1, func(off int64, y, n int) error {
		at := int64(y-y0) * d.rowBytes
		ev, err := d.e.queues.download.ReadAsync(ring.Buf, off, c.bytes[at:at+int64(n)*d.rowBytes])
		if err == nil {
			c.events = append(c.events, ev)
		}
		return err
	})
	if c.err == nil {
		c.err = d.e.queues.download.Flush()
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
