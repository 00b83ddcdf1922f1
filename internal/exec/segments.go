package exec

import (
	"errors"
	"fmt"

	"enhance/clrt"
)

// segments are buffers that continue each other: byte x of all is in the one that holds it.
type segments []*clrt.Buffer

// newSegments creates buffers of the given sizes.
func (e *Engine) newSegments(sizes []int64, purpose string) (segments, error) {
	var s segments
	for _, n := range sizes {
		b, err := e.newBuffer(n, purpose)
		if err != nil {
			return s, err
		}
		s = append(s, b)
	}
	return s, nil
}

// at finds the buffer that holds n bytes from off on, and where in it they are.
func (s segments) at(off, n int64) (*clrt.Buffer, int64, error) {
	for _, b := range s {
		if off < b.Size() {
			if off+n > b.Size() {
				break
			}
			return b, off, nil
		}
		off -= b.Size()
	}
	return nil, 0, fmt.Errorf("exec: %d bytes are in no buffer, or in two: a defect of the plan", n)
}

// hostSegments are pieces of host memory that continue each other, of unit bytes each but
// for the last.
type hostSegments struct {
	unit  int64
	parts []*clrt.HostMemory
}

// hostUnit is the size of a piece of host memory of n bytes: all, or as many whole pages
// as the driver allocates at a time, where it does that.
func (j *Job) hostUnit(n int64) int64 {
	const page = 4096
	if most := j.Info.MaxAlloc / page * page; most > 0 && !j.Shared() {
		return min(n, most)
	}
	return n
}

// newHostSegments allocates n bytes of host memory.
func (e *Engine) newHostSegments(n int64, purpose string) (*hostSegments, error) {
	s := &hostSegments{unit: e.hostUnit(n)}
	for n > 0 {
		m, err := e.hostMemory(min(n, s.unit), purpose)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.parts = append(s.parts, m)
		n -= s.unit
	}
	return s, nil
}

// hostMemory is memory of the host's for what waits there: locked in place, or, where the
// device shares the host's memory and a driver's buffer would be the device's, plain.
func (e *Engine) hostMemory(n int64, purpose string) (*clrt.HostMemory, error) {
	if e.Shared() {
		return e.ctx.NewPlainMemory(n)
	}
	return e.ctx.NewHostMemory(e.queues.compute, n, purpose)
}

// each calls do for the pieces of n bytes from off on, in order, with how many bytes precede it.
func (s *hostSegments) each(off, n int64, do func(before int64, piece []byte) error) error {
	for before := int64(0); before < n; {
		at := (off + before) % s.unit
		size := min(n-before, s.unit-at)
		if err := do(before, s.parts[(off+before)/s.unit].Bytes()[at:at+size]); err != nil {
			return err
		}
		before += size
	}
	return nil
}

func (s *hostSegments) close() (err error) {
	if s == nil {
		return nil
	}
	for _, p := range s.parts {
		err = errors.Join(err, p.Close())
	}
	return err
}
