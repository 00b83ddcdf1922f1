package clrt

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ref guards a raw handle that several goroutines use and one may close: the
// handle is released by whoever leaves last.
type ref struct {
	id uintptr
	n  atomic.Int64 // users, plus closedBit
}

const closedBit = 1 << 62

// acquire counts a user in, unless the handle is closed.
func (r *ref) acquire() bool {
	for {
		n := r.n.Load()
		if n&closedBit != 0 {
			return false
		}
		if r.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave counts a user out; true means that the caller must release the handle.
func (r *ref) leave() bool { return r.n.Add(-1) == closedBit }

// shut closes the handle. first is false when it was closed before; last means
// that the caller must release it.
func (r *ref) shut() (first, last bool) {
	for {
		n := r.n.Load()
		if n&closedBit != 0 {
			return false, false
		}
		if r.n.CompareAndSwap(n, n|closedBit) {
			return true, n == 0
		}
	}
}

// open reports whether the handle was not closed yet.
func (r *ref) open() bool { return r.n.Load()&closedBit == 0 }

// Context is a device's context. It owns what is made from it.
type Context struct {
	lib *library
	dev *Device
	ref ref

	compiler     Compiler // nil: programs are compiled here
	keepCompiler bool     // see KeepCompiler

	mu       sync.Mutex
	serial   uint64
	objects  map[closer]uint64 // queues, kernels and programs, by serial number
	buffers  map[*Buffer]uint64
	live     int64
	hostLive int64 // bytes of HostMemory
	peak     int64
	programs sharedPrograms

	half halfSupport
}

// halfSupport is what is known of the device's half precision: nil was not asked yet.
type halfSupport struct {
	mu                  sync.Mutex
	storage, arithmetic *bool
}

// closer is what a context closes when it is closed.
type closer interface{ Close() error }

// openContexts keeps open contexts, and through them pinned memory, reachable.
var openContexts sync.Map

// NewContext opens a context with the one device d.
func NewContext(d *Device) (*Context, error) {
	if d == nil {
		return nil, errors.New("clrt: NewContext needs a device")
	}
	const contextPlatform = 0x1084
	props := [3]uintptr{contextPlatform, d.platform, 0}
	var code int32
	id := d.lib.call(symCreateContext, uintptr(unsafe.Pointer(&props)), 1,
		uintptr(unsafe.Pointer(&d.id)), 0, 0, uintptr(unsafe.Pointer(&code)))
	if err := check(symCreateContext, uintptr(code), d.String()); err != nil {
		return nil, err
	}
	c := &Context{lib: d.lib, dev: d, objects: map[closer]uint64{}, buffers: map[*Buffer]uint64{}}
	c.ref.id = id
	openContexts.Store(c, nil)
	return c, nil
}

// Device returns the context's device.
func (c *Context) Device() *Device { return c.dev }

// Close finishes all queues and releases everything made from the context,
// then the context. Later calls do nothing and return nil.
func (c *Context) Close() error {
	first, last := c.ref.shut()
	if !first {
		return nil
	}
	var errs []error
	for _, o := range c.drain() {
		errs = append(errs, o.Close())
	}
	openContexts.Delete(c)
	if last {
		errs = append(errs, c.destroy())
	}
	return errors.Join(errs...)
}

// drain lists what is to be closed: queues first, so that no command runs on
// memory that goes away, then the rest, then the buffers.
func (c *Context) drain() []closer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var queues, rest []closer
	for o := range c.objects {
		if _, ok := o.(*Queue); ok {
			queues = append(queues, o)
		} else {
			rest = append(rest, o)
		}
	}
	rest = append(queues, rest...)
	for b := range c.buffers {
		rest = append(rest, b)
	}
	return rest
}

func (c *Context) destroy() error {
	err := c.releaseShared()
	return errors.Join(err, check(symReleaseContext, c.lib.call(symReleaseContext, c.ref.id), ""))
}

// use counts a call on the context in; done counts it out.
func (c *Context) use() error {
	if c == nil || !c.ref.acquire() {
		return closedError("context")
	}
	return nil
}

func (c *Context) done() {
	if c.ref.leave() {
		c.sweep()
		_ = c.destroy() // the Close that came first has returned already
	}
}

// sweep closes what was made by a call that Close overtook.
func (c *Context) sweep() {
	for _, o := range c.drain() {
		_ = o.Close()
	}
}

func (c *Context) register(o closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	c.objects[o] = c.serial
}

func (c *Context) unregister(o closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, o)
}

// HalfStorage reports whether kernels can keep half-precision numbers in
// buffers (vload_half and vstore_half). It asks the compiler and the device by
// running a kernel, once per context; the two small buffers of that count.
func (c *Context) HalfStorage() (bool, error) {
	c.half.mu.Lock()
	defer c.half.mu.Unlock()
	if c.half.storage == nil {
		ok, err := c.probeHalf(halfStorageSource)
		if err != nil {
			return false, fmt.Errorf("probing half-precision storage: %w", err)
		}
		c.half.storage = &ok
	}
	return *c.half.storage, nil
}

// HalfArithmetic reports whether kernels can calculate in half precision
// (cl_khr_fp16). It asks as HalfStorage does.
func (c *Context) HalfArithmetic() (bool, error) {
	c.half.mu.Lock()
	defer c.half.mu.Unlock()
	if c.half.arithmetic == nil {
		ok := c.dev.info.HasExtension("cl_khr_fp16")
		if ok {
			var err error
			if ok, err = c.probeHalf(halfArithmeticSource); err != nil {
				return false, fmt.Errorf("probing half-precision arithmetic: %w", err)
			}
		}
		c.half.arithmetic = &ok
	}
	return *c.half.arithmetic, nil
}

// Both probes double the number in src.
const (
	halfStorageSource = `
__kernel void probe(__global const half *src, __global half *dst) {
    vstore_half(2.0f * vload_half(0, src), 0, dst);
}`
	halfArithmeticSource = `
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void probe(__global const half *src, __global half *dst) {
    half h = src[0];
    dst[0] = h + h;
}`
)

// probeHalf runs a probe on 1.5, which is 0x3E00 in half precision; a working
// one stores 3, which is 0x4200; devices are little-endian. A program that does not build is no error.
func (c *Context) probeHalf(source string) (ok bool, err error) {
	prog, err := c.Build(source, "")
	if errors.Is(err, &Error{Code: codeBuildProgramFailure}) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer prog.Close()
	k, err := prog.Kernel("probe")
	if err != nil {
		return false, err
	}
	defer k.Close()
	q, err := c.NewQueue()
	if err != nil {
		return false, err
	}
	defer q.Close()
	var bufs [2]*Buffer
	for i := range bufs {
		if bufs[i], err = c.NewBuffer(4, "half probe"); err != nil {
			return false, err
		}
		defer bufs[i].Close()
	}
	p := []byte{0x00, 0x3E, 0, 0}
	if err := q.Write(bufs[0], 0, p); err != nil {
		return false, err
	}
	if err := k.SetArgs(bufs[0], bufs[1]); err != nil {
		return false, err
	}
	if err := q.LaunchQuiet(k, []int{1}, []int{1}); err != nil {
		return false, err
	}
	if err := q.Read(bufs[1], 0, p); err != nil {
		return false, err
	}
	return p[0] == 0x00 && p[1] == 0x42, nil
}
