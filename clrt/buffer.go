package clrt

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"
)

// BufferInfo describes a live buffer.
type BufferInfo struct {
	Purpose string `json:"purpose"`
	Size    int64  `json:"size"` // bytes
}

// Buffer is device memory: a cl_mem, or a view (sub-buffer) of one.
type Buffer struct {
	ctx     *Context
	ref     ref
	size    int64
	purpose string
	maps    atomic.Int32 // regions mapped and not yet unmapped
	host    bool         // the host's memory: not on the device's account

	// Of a sub-buffer: the buffer it is a view of, and where it begins there.
	root   *Buffer
	offset int64
	subs   map[*Buffer]struct{} // of a root; guarded by ctx.mu
}

const (
	memReadWrite    = 1      // CL_MEM_READ_WRITE
	memAllocHostPtr = 1 << 4 // CL_MEM_ALLOC_HOST_PTR
)

// NewBuffer creates a buffer of size bytes with undefined content. The purpose
// names it in errors and in LiveBuffers.
func (c *Context) NewBuffer(size int64, purpose string) (*Buffer, error) {
	return c.newBuffer(size, purpose, false)
}

// newBuffer creates a buffer of the device, or of memory of the host's that the
// device reaches.
func (c *Context) newBuffer(size int64, purpose string, host bool) (*Buffer, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	defer c.done()
	if size <= 0 {
		return nil, fmt.Errorf("clrt: buffer %q cannot have %d bytes", purpose, size)
	}
	var code int32
	var id uintptr
	call := symCreateBuffer.String()
	switch at := c.createBufferNV(host); {
	case at != 0:
		call = createBufferNV
		id = c.lib.callAt(at, c.ref.id, memReadWrite, memLocationHostNV, uintptr(size), 0, uintptr(unsafe.Pointer(&code)))
	case host:
		id = c.lib.call(symCreateBuffer, c.ref.id, memReadWrite|memAllocHostPtr, uintptr(size), 0, uintptr(unsafe.Pointer(&code)))
	default:
		id = c.lib.call(symCreateBuffer, c.ref.id, memReadWrite, uintptr(size), 0, uintptr(unsafe.Pointer(&code)))
	}
	if code != 0 {
		return nil, &Error{Call: call, Code: code, Detail: fmt.Sprintf(
			"%d bytes for %q; the device allows %d in one buffer and has %d, and this context holds %d",
			size, purpose, c.dev.info.MaxAlloc, c.dev.info.GlobalMem, c.Live())}
	}
	b := &Buffer{ctx: c, size: size, purpose: purpose, subs: map[*Buffer]struct{}{}, host: host}
	b.ref.id = id
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	c.buffers[b] = c.serial
	if b.host {
		c.hostLive += size
		return b, nil
	}
	c.live += size
	c.peak = max(c.peak, c.live)
	return b, nil
}

// Sub returns a view of size bytes of b from byte off on. The offset, counted
// from the beginning of the underlying buffer, must be a multiple of
// DeviceInfo.BaseAlign. Closing the underlying buffer closes its views. Views must not
// overlap, so a view has none of its own: NVIDIA's driver crashes when it releases such.
func (b *Buffer) Sub(off, size int64) (*Buffer, error) {
	if err := b.check("sub-buffer", off, size); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fmt.Errorf("clrt: sub-buffer of %q cannot have 0 bytes", b.purpose)
	}
	root := b
	if b.root != nil {
		if !b.ref.acquire() {
			return nil, closedError(fmt.Sprintf("buffer %q", b.purpose))
		}
		defer b.put()
		root, off = b.root, b.offset+off
	}
	if align := int64(b.ctx.dev.info.BaseAlign); off%align != 0 {
		return nil, fmt.Errorf("clrt: sub-buffer of %q at byte %d: the device wants a multiple of %d", b.purpose, off, align)
	}
	if !root.ref.acquire() { // the view's hold on its root, given up by destroy
		return nil, closedError(fmt.Sprintf("buffer %q", b.purpose))
	}
	b.ctx.mu.Lock()
	if o := root.overlapping(off, size); o != nil {
		b.ctx.mu.Unlock()
		root.put()
		return nil, fmt.Errorf("clrt: sub-buffer of %q from byte %d to %d overlaps that from %d to %d", b.purpose, off, off+size, o.offset, o.offset+o.size)
	}
	const createTypeRegion = 0x1220
	region := [2]uintptr{uintptr(off), uintptr(size)}
	var code int32
	id := b.ctx.lib.call(symCreateSubBuffer, root.ref.id, memReadWrite, createTypeRegion,
		uintptr(unsafe.Pointer(&region)), uintptr(unsafe.Pointer(&code)))
	if code != 0 {
		b.ctx.mu.Unlock()
		root.put()
		return nil, &Error{Call: symCreateSubBuffer.String(), Code: code, Detail: fmt.Sprintf("bytes %d to %d of %q", off, off+size, b.purpose)}
	}
	s := &Buffer{ctx: b.ctx, size: size, purpose: b.purpose, root: root, offset: off}
	s.ref.id = id
	root.subs[s] = struct{}{}
	b.ctx.mu.Unlock()
	if !root.ref.open() { // closed meanwhile, and may have missed this view
		_ = s.Close()
		return nil, closedError(fmt.Sprintf("buffer %q", b.purpose))
	}
	return s, nil
}

// overlapping is a view of b that has bytes of [off,off+size), nil if there is none. The
// context is locked.
func (b *Buffer) overlapping(off, size int64) *Buffer {
	for s := range b.subs {
		if s.offset < off+size && off < s.offset+s.size {
			return s
		}
	}
	return nil
}

// Size returns the size in bytes.
func (b *Buffer) Size() int64 { return b.size }

// Purpose returns the name given to NewBuffer.
func (b *Buffer) Purpose() string { return b.purpose }

// Context returns the context that owns the buffer.
func (b *Buffer) Context() *Context { return b.ctx }

// Close releases the buffer and its views. Commands that are queued keep the
// memory until they have ended: finish the queue first where the memory must
// be gone. A buffer with mapped regions is not closed but returns an error.
// Later calls do nothing and return nil.
func (b *Buffer) Close() error {
	if b == nil {
		return nil
	}
	if n := b.maps.Load(); n > 0 && b.ref.open() {
		return fmt.Errorf("clrt: buffer %q has %d mapped region(s); unmap them before closing it", b.purpose, n)
	}
	first, last := b.ref.shut()
	if !first {
		return nil
	}
	var errs []error
	for _, s := range b.views() {
		errs = append(errs, s.Close())
	}
	if last {
		errs = append(errs, b.destroy())
	} // else the last user, perhaps a view closed above, has released it or will
	return errors.Join(errs...)
}

func (b *Buffer) views() []*Buffer {
	b.ctx.mu.Lock()
	defer b.ctx.mu.Unlock()
	all := make([]*Buffer, 0, len(b.subs))
	for s := range b.subs {
		all = append(all, s)
	}
	return all
}

// put counts a user of the handle out.
func (b *Buffer) put() {
	if b.ref.leave() {
		_ = b.destroy() // nobody is left to hear of a failure; see Close
	}
}

// destroy releases the handle and takes its bytes off the account.
func (b *Buffer) destroy() error {
	c := b.ctx
	err := check(symReleaseMemObject, c.lib.call(symReleaseMemObject, b.ref.id), b.purpose)
	c.mu.Lock()
	if b.root != nil {
		delete(b.root.subs, b)
	} else {
		delete(c.buffers, b)
		if b.host {
			c.hostLive -= b.size
		} else {
			c.live -= b.size
		}
	}
	c.mu.Unlock()
	if b.root != nil {
		b.root.put()
	}
	return err
}

// check says whether n bytes from off on lie within b.
func (b *Buffer) check(op string, off, n int64) error {
	if b == nil {
		return fmt.Errorf("clrt: %s: no buffer", op)
	}
	if !b.ref.open() {
		return closedError(fmt.Sprintf("buffer %q", b.purpose))
	}
	if off < 0 || n < 0 || off > b.size || n > b.size-off {
		return fmt.Errorf("clrt: %s: %d bytes at %d do not lie within the %d bytes of buffer %q", op, n, off, b.size, b.purpose)
	}
	return nil
}

// Touch makes the device allocate b now by writing zeros to its first and last
// bytes, and waits for it. Some drivers, NVIDIA's among them, allocate a buffer
// only when a command first uses it; an allocation that fails then is reported
// here instead of in the middle of the work. Touch a new buffer: content at
// the ends is lost.
func (b *Buffer) Touch(q *Queue) error {
	if err := b.check("touch", 0, 1); err != nil {
		return err
	}
	// Words, not bytes, and a write where a word's number exceeds 31 bits: NVIDIA's driver fails on fills of
	// single bytes more than 2 GiB into a buffer (580.159, seen on an H200), and of words more than 8 GiB, after which
	// all calls of the process fail.
	n := int64(1)
	if b.size%4 == 0 {
		n = 4
	}
	zeros := make([]byte, n)
	for _, off := range []int64{0, b.size - n} {
		touch := func() error { return q.Fill(b, off, n, zeros) }
		if off/n > math.MaxInt32 {
			touch = func() error { return q.Write(b, off, zeros) }
		}
		if err := touch(); err != nil {
			return fmt.Errorf("allocating %d bytes for %q: %w", b.size, b.purpose, err)
		}
	}
	if err := q.Finish(); err != nil {
		return fmt.Errorf("allocating %d bytes for %q: %w", b.size, b.purpose, err)
	}
	return nil
}

// Live returns the bytes of all live buffers. Sub-buffers add nothing.
func (c *Context) Live() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// Peak returns the largest value of Live since the context was made or
// ResetPeak was called.
func (c *Context) Peak() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peak
}

// ResetPeak sets Peak to the present value of Live.
func (c *Context) ResetPeak() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peak = c.live
}

// LiveBuffers returns the live buffers in the order of their creation.
func (c *Context) LiveBuffers() []BufferInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Buffer, 0, len(c.buffers))
	for b := range c.buffers {
		if !b.host {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(x, y *Buffer) int { return cmp.Compare(c.buffers[x], c.buffers[y]) })
	infos := make([]BufferInfo, len(all))
	for i, b := range all {
		infos[i] = BufferInfo{b.purpose, b.size}
	}
	return infos
}
