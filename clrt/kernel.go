package clrt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
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
}

// Local is a kernel argument: that many bytes of local memory.
type Local int

// Raw is a kernel argument passed as these bytes, for vectors and structs by
// value.
type Raw []byte

const (
	kernelNumArgs = 0x1191

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

// NumArgs returns the number of its arguments.
func (k *Kernel) NumArgs() int { return len(k.params) }

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

// SetArgs sets all arguments. An argument is one of
//
//   - *Buffer, or nil for the null pointer
//   - Local for local memory
//   - int8 to int64, uint8 to uint64, float32, float64 (not int, whose size
//     is not OpenCL's)
//   - an array of those, as a vector; 3-vectors are passed as arrays of 4
//   - Raw for any other value
//
// The kernel keeps the buffers reachable but not open. Where the driver tells
// the parameters' types, SetArgs checks them.
func (k *Kernel) SetArgs(args ...any) error {
	if err := k.use(); err != nil {
		return err
	}
	defer k.done()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(args) != len(k.params) {
		at := min(len(args), len(k.params))
		what := "extra"
		if at < len(k.params) {
			what = "missing " + k.params[at].String()
		}
		return fmt.Errorf("clrt: kernel %s takes %d arguments but was given %d: argument %d is %s", k.name, len(k.params), len(args), at, what)
	}
	for i, v := range args {
		if err := k.setLocked(i, v); err != nil {
			return err
		}
	}
	return nil
}

// SetArg sets argument i, counted from 0, as SetArgs does.
func (k *Kernel) SetArg(i int, v any) error {
	if err := k.use(); err != nil {
		return err
	}
	defer k.done()
	k.mu.Lock()
	defer k.mu.Unlock()
	if i < 0 || i >= len(k.params) {
		return fmt.Errorf("clrt: kernel %s takes %d arguments and has no argument %d", k.name, len(k.params), i)
	}
	return k.setLocked(i, v)
}

// String describes the parameter as it stands in the source.
func (p *param) String() string {
	switch {
	case p.name == "":
		return "of unknown name"
	case p.typ == "":
		return p.name
	}
	return p.typ + " " + p.name
}

func (k *Kernel) argError(i int, format string, a ...any) error {
	return fmt.Errorf("clrt: kernel %s, argument %d (%s): %w", k.name, i, &k.params[i], fmt.Errorf(format, a...))
}

func (k *Kernel) setLocked(i int, v any) error {
	p := &k.params[i]
	if b, ok := v.(*Buffer); ok || v == nil {
		return k.setBuffer(i, b)
	}
	if n, ok := v.(Local); ok {
		if p.space != 0 && p.space != spaceLocal {
			return k.argError(i, "is not in local memory")
		}
		if n <= 0 {
			return k.argError(i, "%d bytes of local memory", int(n))
		}
		return k.setRaw(i, uintptr(n), nil, nil)
	}
	if p.space != 0 && p.space != spacePrivate {
		return k.argError(i, "is a pointer and was given %T", v)
	}
	val, err := k.encode(v)
	if err != nil {
		return k.argError(i, "%w", err)
	}
	if err := checkScalar(p.typ, v); err != nil {
		return k.argError(i, "%w", err)
	}
	return k.setRaw(i, uintptr(len(val)), val, nil)
}

func (k *Kernel) setBuffer(i int, b *Buffer) error {
	if s := k.params[i].space; s != 0 && s != spaceGlobal && s != spaceConstant {
		return k.argError(i, "is no global or constant pointer and was given a buffer")
	}
	if b == nil {
		clear(k.value[:8])
		return k.setRaw(i, 8, k.value[:8], nil)
	}
	if b.ctx != k.ctx {
		return k.argError(i, "buffer %q belongs to another context", b.purpose)
	}
	if !b.ref.acquire() {
		return k.argError(i, "buffer %q is %w", b.purpose, ErrClosed)
	}
	defer b.put()
	binary.NativeEndian.PutUint64(k.value[:], uint64(b.ref.id))
	return k.setRaw(i, 8, k.value[:8], b)
}

// setRaw passes the value, or for local memory the size alone.
func (k *Kernel) setRaw(i int, size uintptr, val []byte, b *Buffer) error {
	r := k.ctx.lib.call(symSetKernelArg, k.ref.id, uintptr(i), size, uintptr(unsafe.Pointer(unsafe.SliceData(val))))
	if err := check(symSetKernelArg, r, ""); err != nil {
		return k.argError(i, "%d bytes: %w", size, err)
	}
	k.params[i].set, k.params[i].buf = true, b
	return nil
}

// encode returns the bytes of a value, those of common types in k.value.
func (k *Kernel) encode(v any) ([]byte, error) {
	e := binary.NativeEndian
	switch x := v.(type) {
	case int32:
		e.PutUint32(k.value[:], uint32(x))
		return k.value[:4], nil
	case uint32:
		e.PutUint32(k.value[:], x)
		return k.value[:4], nil
	case float32:
		e.PutUint32(k.value[:], math.Float32bits(x))
		return k.value[:4], nil
	case int64:
		e.PutUint64(k.value[:], uint64(x))
		return k.value[:8], nil
	case uint64:
		e.PutUint64(k.value[:], x)
		return k.value[:8], nil
	case Raw:
		if len(x) == 0 {
			return nil, errors.New("an empty value")
		}
		return x, nil
	case int, uint:
		return nil, fmt.Errorf("%T has no fixed size; convert it to int32 or int64", v)
	}
	t := reflect.TypeOf(v)
	elem := t
	if t.Kind() == reflect.Array {
		elem = t.Elem()
	}
	switch elem.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if p, err := binary.Append(nil, e, v); err == nil && len(p) > 0 {
			return p, nil
		}
	}
	return nil, fmt.Errorf("a value of type %T cannot be an argument", v)
}

// checkScalar catches what the driver cannot, which sees only the size: an
// integer for a float or a float for an integer.
func checkScalar(typ string, v any) error {
	var isFloat bool
	switch reflect.TypeOf(v).Kind() {
	case reflect.Float32, reflect.Float64:
		isFloat = true
	case reflect.Slice, reflect.Array:
		return nil
	}
	switch typ {
	case "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "size_t",
		"unsigned char", "unsigned short", "unsigned int", "unsigned long":
		if isFloat {
			return fmt.Errorf("was given %T", v)
		}
	case "float", "double":
		if !isFloat {
			return fmt.Errorf("was given %T", v)
		}
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
