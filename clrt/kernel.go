package clrt

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

// Kernel is a function of a program together with its arguments. The arguments
// belong to the object: give each goroutine that launches a Kernel of its own.
type Kernel struct {
	ctx  *Context
	ref  ref
	name string

	mu     sync.Mutex
	params []param
	// The sizes of a launch are here and not on the stack of the launch, whose
	// variables would be allocated anew each time.
	global, local [3]uintptr
	value         [16]byte
}

// param is a parameter and what it is set to.
type param struct {
	name, typ string // empty where the driver does not tell
	space     uint32 // address space, 0 where the driver does not tell
	set       bool
	buf       *Buffer
	size      uintptr // what it was set to
	value     []byte
}

const (
	kernelNumArgs = 0x1191
	maxArgs       = 1 << 10 // far more than any kernel has

	kernelArgAddressQualifier = 0x1196
	kernelArgTypeName         = 0x1198
	kernelArgName             = 0x119A

	spaceGlobal   = 0x119B
	spaceLocal    = 0x119C
	spaceConstant = 0x119D
	spacePrivate  = 0x119E
)

// Kernel makes a kernel object of the program's function of that name.
func (p *Program) Kernel(name string) (*Kernel, error) {
	if err := p.use(); err != nil {
		return nil, err
	}
	defer p.done()
	if err := p.ctx.use(); err != nil {
		return nil, err
	}
	defer p.ctx.done()
	if strings.ContainsRune(name, 0) {
		return nil, fmt.Errorf("clrt: kernel name %q contains a zero byte", name)
	}
	lib := p.ctx.lib
	cname := append([]byte(name), 0)
	var code int32
	id := lib.call(symCreateKernel, p.ref.id, uintptr(unsafe.Pointer(&cname[0])), uintptr(unsafe.Pointer(&code)))
	if code != 0 {
		detail := fmt.Sprintf("kernel %q", name)
		if names, err := lib.info(symGetProgramInfo, p.ref.id, programKernelNames); err == nil && code == codeInvalidKernelName {
			detail += "; the program has " + strings.ReplaceAll(infoString(names), ";", ", ")
		}
		return nil, &Error{Call: symCreateKernel.String(), Code: code, Detail: detail}
	}
	k := &Kernel{ctx: p.ctx, name: name}
	k.ref.id = id
	n, err := lib.info(symGetKernelInfo, id, kernelNumArgs)
	if err != nil {
		lib.call(symReleaseKernel, id)
		return nil, err
	}
	if len(n) < 4 || infoUint(n) > maxArgs {
		lib.call(symReleaseKernel, id)
		return nil, &AnswerError{Call: symGetKernelInfo.String(), Detail: fmt.Sprintf("%d bytes for the number of arguments of %s: %x", len(n), name, n)}
	}
	k.params = make([]param, infoUint(n))
	for i := range k.params {
		k.describe(i)
	}
	p.ctx.register(k)
	return k, nil
}

// describe asks for the name and type of a parameter. A driver may not know,
// of a program from a binary for example; the checks then do without.
func (k *Kernel) describe(i int) {
	ask := func(what uint32) []byte {
		p, err := k.ctx.lib.info2(symGetKernelArgInfo, k.ref.id, uintptr(i), what)
		if err != nil {
			return nil
		}
		return p
	}
	k.params[i].name = infoString(ask(kernelArgName))
	k.params[i].typ = infoString(ask(kernelArgTypeName))
	k.params[i].space = uint32(infoUint(ask(kernelArgAddressQualifier)))
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

func (k *Kernel) use() error {
	if k == nil {
		return closedError("kernel")
	}
	if !k.ref.acquire() {
		return closedError("kernel " + k.name)
	}
	return nil
}

func (k *Kernel) done() {
	if k.ref.leave() {
		_ = k.destroy()
	}
}

func (k *Kernel) destroy() error {
	return check(symReleaseKernel, k.ctx.lib.call(symReleaseKernel, k.ref.id), k.name)
}

// Close releases the kernel. Later calls do nothing and return nil.
func (k *Kernel) Close() error {
	if k == nil {
		return nil
	}
	first, last := k.ref.shut()
	if !first {
		return nil
	}
	k.ctx.unregister(k)
	if last {
		return k.destroy()
	}
	return nil
}

// enqueue checks and queues a launch; ev is nil for none.
func (k *Kernel) enqueue(q *Queue, global, local []int, ev *uintptr) error {
	if err := k.use(); err != nil {
		return err
	}
	defer k.done()
	if k.ctx != q.ctx {
		return fmt.Errorf("clrt: kernel %s belongs to another context than the queue", k.name)
	}
	if err := checkSizes(k.name, global, local); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	held, err := k.holdBuffers()
	defer k.dropBuffers(held)
	if err != nil {
		return err
	}
	for d := range global {
		k.global[d] = uintptr(global[d])
	}
	lp := (*uintptr)(nil)
	if local != nil {
		for d := range local {
			k.local[d] = uintptr(local[d])
		}
		lp = &k.local[0]
	}
	r := k.ctx.lib.call(symEnqueueNDRangeKernel, q.ref.id, k.ref.id, uintptr(len(global)), 0,
		uintptr(unsafe.Pointer(&k.global)), uintptr(unsafe.Pointer(lp)), 0, 0, uintptr(unsafe.Pointer(ev)))
	if int32(r) != 0 {
		return check(symEnqueueNDRangeKernel, r, fmt.Sprintf("kernel %s, global %v, local %v", k.name, global, local))
	}
	return nil
}

// holdBuffers keeps the buffers of the arguments from being released while
// the launch is queued, after which OpenCL holds them. It returns how many
// parameters it went through.
func (k *Kernel) holdBuffers() (int, error) {
	for i := range k.params {
		p := &k.params[i]
		if !p.set {
			return i, fmt.Errorf("clrt: kernel %s: argument %d (%s) is not set", k.name, i, p)
		}
		if p.buf != nil && !p.buf.ref.acquire() {
			return i, k.argError(i, "buffer %q is %w", p.buf.purpose, ErrClosed)
		}
	}
	return len(k.params), nil
}

func (k *Kernel) dropBuffers(n int) {
	for i := range k.params[:n] {
		if b := k.params[i].buf; b != nil {
			b.put()
		}
	}
}

func checkSizes(kernel string, global, local []int) error {
	if len(global) < 1 || len(global) > 3 {
		return fmt.Errorf("clrt: kernel %s: %d dimensions; there are 1 to 3", kernel, len(global))
	}
	if local != nil && len(local) != len(global) {
		return fmt.Errorf("clrt: kernel %s: global size %v and local size %v differ in their dimensions", kernel, global, local)
	}
	for d, g := range global {
		if g <= 0 || local != nil && (local[d] <= 0 || g%local[d] != 0) {
			return fmt.Errorf("clrt: kernel %s: global size %v is not a positive multiple of local size %v", kernel, global, local)
		}
	}
	return nil
}

// WorkGroupInfo says what a kernel needs and allows on its device. Sizes are
// bytes.
type WorkGroupInfo struct {
	MaxSize   int    `json:"max_size"`  // work-items in a work-group
	Preferred int    `json:"preferred"` // a work-group should be a multiple of this
	LocalMem  int64  `json:"local_mem"` // of a work-group, with arguments set so far
	PrivMem   int64  `json:"priv_mem"`  // of a work-item; spilled registers show here
	Required  [3]int `json:"required"`  // reqd_work_group_size, or zeros
}

// WorkGroupInfo asks the driver.
func (k *Kernel) WorkGroupInfo() (*WorkGroupInfo, error) {
	if err := k.use(); err != nil {
		return nil, err
	}
	defer k.done()
	var values [5][]byte
	for i := range values {
		const first = 0x11B0 // max size, required, local, preferred multiple, private
		var err error
		if values[i], err = k.ctx.lib.info2(symGetKernelWorkGroupInfo, k.ref.id, k.ctx.dev.id, first+uint32(i)); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", k.name, err)
		}
	}
	w := &WorkGroupInfo{
		MaxSize:   int(infoUint(values[0])),
		LocalMem:  int64(infoUint(values[2])),
		Preferred: int(infoUint(values[3])),
		PrivMem:   int64(infoUint(values[4])),
	}
	for d := range w.Required {
		if p := values[1]; len(p) >= 8*(d+1) {
			w.Required[d] = int(infoUint(p[8*d:]))
		}
	}
	return w, nil
}
