package clrt

import "errors"

// HostMemory is memory of the host's that the driver allocated, locked in place
// (CL_MEM_ALLOC_HOST_PTR), so that the device copies to and from it at the full
// rate of the link and without the host waiting. It is not on the device's
// account (Live, Peak) but on one of its own (HostLive).
type HostMemory struct {
	q   *Queue
	buf *Buffer
	p   []byte
}

// NewHostMemory allocates size bytes of host memory; q maps them.
func (c *Context) NewHostMemory(q *Queue, size int64, purpose string) (*HostMemory, error) {
	b, err := c.newBuffer(size, purpose, memReadWrite|memAllocHostPtr)
	if err != nil {
		return nil, err
	}
	p, err := q.Map(b, true, 0, size)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &HostMemory{q: q, buf: b, p: p}, nil
}

// Bytes is the memory. Transfers take slices of it as they take any other.
func (h *HostMemory) Bytes() []byte { return h.p }

// Close gives the memory back. No transfer may be under way.
func (h *HostMemory) Close() error {
	if h == nil || h.buf == nil {
		return nil
	}
	err := h.q.Unmap(h.buf, h.p)
	err = errors.Join(err, h.q.Finish(), h.buf.Close())
	h.buf, h.p = nil, nil
	return err
}

// HostLive returns the bytes of host memory that NewHostMemory allocated and
// that are not closed.
func (c *Context) HostLive() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hostLive
}
