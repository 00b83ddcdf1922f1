package clrt

import (
	"errors"
	"fmt"
	"unsafe"
)

// HostMemory is memory of the host's that the driver allocated, locked in place,
// so that the device copies to and from it at the full rate of the link and
// without the host waiting. It is not on the device's account (Live, Peak) but on
// one of its own (HostLive).
//
// NVIDIA's driver sets as much memory of the device aside for a buffer with
// CL_MEM_ALLOC_HOST_PTR once it is mapped, which would break any budget; a buffer of its
// extension cl_nv_create_buffer that lies with the host takes none.
type HostMemory struct {
	q     *Queue
	buf   *Buffer
	p     []byte
	plain *Context // not nil: memory of NewPlainMemory
}

// NewHostMemory allocates size bytes of host memory; q maps them.
func (c *Context) NewHostMemory(q *Queue, size int64, purpose string) (*HostMemory, error) {
	b, err := c.newBuffer(size, purpose, true)
	if err != nil {
		return nil, err
	}
	p, err := q.Map(b, true, 0, size)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &HostMemory{q: q, buf: b, p: p}, nil
}

// NewPlainMemory allocates size bytes of the system's memory, which no driver knows of: where
// a device shares the host's memory, a buffer with the host would take what the device lends.
func (c *Context) NewPlainMemory(size int64) (*HostMemory, error) {
	p, err := systemMemory(size)
	if err != nil {
		return nil, fmt.Errorf("clrt: %d bytes of host memory: %w", size, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hostLive += size
	return &HostMemory{p: p, plain: c}, nil
}

// Bytes is the memory. Transfers take slices of it as they take any other.
func (h *HostMemory) Bytes() []byte { return h.p }

// Close gives the memory back. No transfer may be under way.
func (h *HostMemory) Close() error {
	if h == nil || h.buf == nil && h.plain == nil {
		return nil
	}
	if c := h.plain; c != nil {
		c.mu.Lock()
		c.hostLive -= int64(len(h.p))
		c.mu.Unlock()
		err := freeSystemMemory(h.p)
		h.p, h.plain = nil, nil
		return err
	}
	err := h.q.Unmap(h.buf, h.p)
	err = errors.Join(err, h.q.Finish(), h.buf.Close())
	h.buf, h.p = nil, nil
	return err
}

// HostLive returns the bytes of HostMemory that are not closed.
func (c *Context) HostLive() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hostLive
}

const (
	extNVCreateBuffer = "cl_nv_create_buffer"
	createBufferNV    = "clCreateBufferNV"
	memLocationHostNV = 1 // CL_MEM_LOCATION_HOST_NV
)

// createBufferNV is the address of clCreateBufferNV if the buffer is the host's and
// the device has the extension, else 0.
func (c *Context) createBufferNV(host bool) uintptr {
	if !host || !c.dev.info.HasExtension(extNVCreateBuffer) {
		return 0
	}
	name := append([]byte(createBufferNV), 0)
	return c.lib.call(symGetExtensionFunctionAddressForPlatform, c.dev.platform, uintptr(unsafe.Pointer(&name[0])))
}
