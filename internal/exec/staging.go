package exec

import (
	"context"

	"enhance/clrt"
	"enhance/internal/planar"
	"enhance/memplan"
)

// inFlight is how many chunks of rows may be between host and device at a time
// in each direction.
const inFlight = 4

// chunkRows is how many rows make a chunk at most: what the host prepares or takes
// while the one before is on its way.
const chunkRows = 64

// Chunks of the input that are being made, ready and on their way; chunks of the output
// that are on their way, being converted and being queued.
const (
	inChunks  = 2*inFlight + 1
	outChunks = inFlight + 8
)

// chunks calls do for consecutive ranges of at most chunkRows rows.
func chunks(y0, y1 int, do func(y0, y1 int) error) error {
	for y := y0; y < y1; y += chunkRows {
		if err := do(y, min(y+chunkRows, y1)); err != nil {
			return err
		}
	}
	return nil
}

// staging is the host's memory of chunks, of an equal size each. Where the device
// has memory of its own it is locked in place, so that transfers run at the full
// rate of the link and beside all else.
type staging struct {
	free chan []byte // nil: not allocated yet
	size int64
	mem  *clrt.HostMemory
}

// chunkSize counts the chunks, at most limit, and the bytes of the largest, that
// moves of a kind cut tensor t's rows into.
func (j *Job) chunkSize(kind memplan.MoveKind, t, limit int) (chunks int, size int64) {
	most := 0
	for _, s := range j.Plan.Sections {
		for _, m := range s.Moves {
			if m.Kind != kind || j.Plan.Rings[m.Index].Tensor != t {
				continue
			}
			rows := int(m.Y1 - m.Y0)
			most = max(most, min(rows, chunkRows))
			chunks += (rows + chunkRows - 1) / chunkRows
		}
	}
	return min(chunks, limit), int64(most) * planar.RowBytes(j.Program.Tensors[t], j.opt.Precision)
}

// newStaging makes room for n chunks.
func (e *Engine) newStaging(n int, size int64, purpose string) (*staging, error) {
	s := &staging{free: make(chan []byte, n), size: size}
	if total := int64(n) * size; e.Shared() || total == 0 || total > e.hostUnit(total) {
		for range n {
			s.free <- nil
		}
		return s, nil
	}
	var err error
	if s.mem, err = e.ctx.NewHostMemory(e.queues.compute, int64(n)*size, purpose); err != nil {
		return nil, err
	}
	for i := range int64(n) {
		s.free <- s.mem.Bytes()[i*size : (i+1)*size : (i+1)*size]
	}
	return s, nil
}

// take waits for memory for n bytes, or for the end of ctx.
func (s *staging) take(ctx context.Context, n int64) ([]byte, error) {
	select {
	case b := <-s.free:
		if b == nil {
			b = make([]byte, s.size)
		}
		return b[:n], nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// give returns what take gave.
func (s *staging) give(b []byte) {
	if b != nil {
		s.free <- b[:s.size]
	}
}

func (s *staging) close() error {
	if s == nil {
		return nil
	}
	return s.mem.Close()
}

// stage makes the engine's staging memory.
func (e *Engine) stage() (err error) {
	n, size := e.chunkSize(memplan.Upload, e.Program.Input, inChunks)
	if e.host.in, err = e.newStaging(n, size, "rows for the device"); err != nil {
		return err
	}
	n, size = e.chunkSize(memplan.Download, e.Program.Output, outChunks)
	e.host.out, err = e.newStaging(n, size, "rows from the device")
	return err
}

// chunk is some rows of the input or the output as the device stores them.
type chunk struct {
	y0, y1 int
	bytes  []byte
	made   <-chan struct{} // closed when all rows are made or taken; nil: they were not begun
	end    func() error    // ends the rows at the source or the sink
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
