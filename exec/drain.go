package exec

import (
	"context"
	"runtime"

	"enhance/planar"
	"enhance/trace"
)

// sinkTime is about how many times as long as converting it a sink takes with a
// row that it is given on all cores.
const sinkTime = 16

// drain hands the output's rows to the sink, in a goroutine of its own.
type drain struct {
	e      *Engine
	queue  chan *chunk
	ended  chan error
	rows   planar.Rows
	sink   Sink
	stages *trace.Stages
	lines  [][][]float32 // of a Sink that takes rows one by one
	work   [][][]float32 // by worker
}

func newDrain(e *Engine, sink Sink, cancel context.CancelCauseFunc) *drain {
	out := e.Program.Tensors[e.Program.Output]
	d := &drain{e: e, queue: make(chan *chunk, inFlight), ended: make(chan error, 1), sink: sink, stages: e.opt.Profiler.Stages(),
		rows: planar.Rows{C: out.C, W: out.W, Precision: e.opt.Precision}}
	go func() {
		var first error
		for c := range d.queue {
			err := c.wait()
			if err == nil && c.err == nil && first == nil {
				err = d.deliver(c)
			}
			if err != nil && first == nil {
				first = err
				cancel(err)
			}
			e.out.give(c.bytes)
		}
		d.ended <- first
	}()
	return d
}

// deliver gives a chunk's rows to the sink.
func (d *drain) deliver(c *chunk) error {
	get := func(y int, planes [][]float32) {
		row := c.bytes[d.rows.Bytes(y-c.y0):]
		for k, line := range planes {
			d.rows.Get(row, k, line)
		}
	}
	if s, ok := d.sink.(RowsSink); ok {
		for len(d.work) < runtime.GOMAXPROCS(0) {
			d.work = append(d.work, nil)
		}
		return s.Rows(c.y0, c.y1, func(do func(y int, planes [][]float32)) {
			eachRow(c.y1-c.y0, sinkTime*rowTime(d.rows), func(worker, i int) {
				if d.work[worker] == nil {
					d.work[worker] = planes(d.rows.C, d.rows.W)
				}
				get(c.y0+i, d.work[worker])
				do(c.y0+i, d.work[worker])
			})
		})
	}
	if d.lines == nil {
		d.lines = make([][][]float32, piece)
		for i := range d.lines {
			d.lines[i] = planes(d.rows.C, d.rows.W)
		}
	}
	end := d.stages.Begin("unpack")
	eachRow(c.y1-c.y0, rowTime(d.rows), func(_, i int) { get(c.y0+i, d.lines[i]) })
	end()
	for y := c.y0; y < c.y1; y++ {
		if err := d.sink.Row(y, d.lines[y-c.y0]); err != nil {
			return err
		}
	}
	return nil
}

// download starts the download of rows [y0,y1) of the output, piece by piece.
func (d *drain) download(ring planar.Ring, rowBytes int64, y0, y1 int) error {
	return pieces(y0, y1, func(y0, y1 int) error { return d.piece(ring, rowBytes, y0, y1) })
}

func (d *drain) piece(ring planar.Ring, rowBytes int64, y0, y1 int) error {
	c := &chunk{y0: y0, y1: y1}
	// The goroutine gives back whatever happens: no need to look at a context.
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
	d.queue <- c // from here on it is the goroutine's
	return err
}

// close waits until the sink has taken everything.
func (d *drain) close() error {
	close(d.queue)
	return <-d.ended
}
