package clrt

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

// Program is a compiled program.
type Program struct {
	ctx       *Context
	ref       ref
	log       string
	fromCache bool
}

// BuildError is the failure to compile a program. errors.As finds the *Error of
// the call in it.
type BuildError struct {
	Err     error
	Options string
	Log     string // what the compiler said
}

func (e *BuildError) Error() string {
	log := strings.TrimSpace(e.Log)
	if log == "" {
		log = "the compiler gave no log"
	}
	return fmt.Sprintf("%v (options %q):\n%s", e.Err, e.Options, log)
}

// Unwrap returns the failure of the call.
func (e *BuildError) Unwrap() error { return e.Err }

const (
	programBinarySizes = 0x1165
	programBinaries    = 0x1166
	programKernelNames = 0x1168
	programBuildLog    = 0x1183

	// argInfoOption makes the names and types of kernel arguments available,
	// which SetArgs checks.
	argInfoOption = "-cl-kernel-arg-info"
)

// Build compiles an OpenCL C program for the context's device, or takes it from the cache on disk. The source
// must be complete: a file that it includes is not seen by the cache. What is not there, the context's
// [Compiler] may compile. Lines of inline assembly that begin with "//@sm_90a " are for Hopper GPUs (see
// ptx.go). The error of a failed compilation is a *BuildError.
func (c *Context) Build(source, options string) (*Program, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	defer c.done()
	if source == "" {
		return nil, errors.New("clrt: the program's source is empty")
	}
	if strings.ContainsRune(options, 0) {
		return nil, errors.New("clrt: the build options contain a zero byte")
	}
	full := fullOptions(options)
	cache := c.dev.openCache(source, full)
	if cache.enabled() && c.compiler != nil {
		defer lockBuild(cache.key)()
	}
	if p := c.sharedProgram(&cache); p != nil {
		return p, nil
	}
	if kept := c.dev.takePreloaded(&cache); kept != nil {
		if p, err := c.buildKept(kept, source, full); err == nil {
			c.share(&cache, p)
			return p, nil
		}
		cache.drop() // not this driver's after all
	}
	p, err := c.compile(source, options, full, &cache)
	if err == nil {
		c.share(&cache, p)
	}
	return p, err
}

// fullOptions are what programs are built with.
func fullOptions(options string) string { return strings.TrimSpace(options + " " + argInfoOption) }

func (c *Context) buildSource(source, options string) (*Program, error) {
	text := [1]*byte{unsafe.StringData(source)}
	length := [1]uintptr{uintptr(len(source))}
	var code int32
	id := c.lib.call(symCreateProgramWithSource, c.ref.id, 1, uintptr(unsafe.Pointer(&text)),
		uintptr(unsafe.Pointer(&length)), uintptr(unsafe.Pointer(&code)))
	if err := check(symCreateProgramWithSource, uintptr(code), ""); err != nil {
		return nil, err
	}
	p, err := c.finishBuild(id, options)
	if !strings.Contains(source, latePTX) {
		return p, err
	}
	var late *Program
	if err == nil {
		late, err = c.buildLate(p, options)
		_ = p.Close()
	}
	if err != nil && strings.Contains(source, lateBegin) && !strings.HasPrefix(source, latePlain) {
		return c.buildSource(latePlain+source, options)
	}
	return late, err
}

// buildKept makes a program of what was kept of it.
func (c *Context) buildKept(kept []byte, source, options string) (*Program, error) {
	if string(kept) != keptByDriver {
		return c.buildBinary(kept, options)
	}
	p, err := c.buildSource(source, options)
	if err != nil {
		return nil, err
	}
	p.fromCache = true
	return p, nil
}

func (c *Context) buildBinary(binary []byte, options string) (*Program, error) {
	data := [1]*byte{unsafe.SliceData(binary)}
	length := [1]uintptr{uintptr(len(binary))}
	var status, code int32
	id := c.lib.call(symCreateProgramWithBinary, c.ref.id, 1, uintptr(unsafe.Pointer(&c.dev.id)),
		uintptr(unsafe.Pointer(&length)), uintptr(unsafe.Pointer(&data)),
		uintptr(unsafe.Pointer(&status)), uintptr(unsafe.Pointer(&code)))
	if code == 0 && status != 0 {
		c.lib.call(symReleaseProgram, id)
		code = status
	}
	if err := check(symCreateProgramWithBinary, uintptr(code), ""); err != nil {
		return nil, err
	}
	p, err := c.finishBuild(id, options)
	if err != nil {
		return nil, err
	}
	p.fromCache = true
	return p, nil
}

// finishBuild compiles or links the program and releases it where that fails.
func (c *Context) finishBuild(id uintptr, options string) (*Program, error) {
	opts := append([]byte(options), 0)
	r := c.lib.call(symBuildProgram, id, 1, uintptr(unsafe.Pointer(&c.dev.id)), uintptr(unsafe.Pointer(&opts[0])), 0, 0)
	log, logErr := c.lib.info2(symGetProgramBuildInfo, id, c.dev.id, programBuildLog)
	if err := check(symBuildProgram, r, ""); err != nil {
		c.lib.call(symReleaseProgram, id)
		return nil, &BuildError{Err: err, Options: options, Log: infoString(log)}
	}
	if logErr != nil {
		log = nil // a log is a courtesy
	}
	p := &Program{ctx: c, log: infoString(log)}
	p.ref.id = id
	c.register(p)
	return p, nil
}

// BuildLog returns what the compiler said: warnings, if anything. A program
// from the cache may have none.
func (p *Program) BuildLog() string { return p.log }

// FromCache reports whether the program came from the cache on disk.
func (p *Program) FromCache() bool { return p.fromCache }

// Binary returns the program as compiled for the device.
func (p *Program) Binary() ([]byte, error) {
	if err := p.use(); err != nil {
		return nil, err
	}
	defer p.done()
	lib := p.ctx.lib
	size, err := lib.info(symGetProgramInfo, p.ref.id, programBinarySizes)
	if err != nil {
		return nil, err
	}
	n := infoUint(size)
	if n == 0 || n > maxInfo {
		return nil, &AnswerError{Call: symGetProgramInfo.String(), Detail: fmt.Sprintf("a program binary of %d bytes", n)}
	}
	binary := make([]byte, n)
	list := [1]*byte{&binary[0]}
	r := lib.call(symGetProgramInfo, p.ref.id, programBinaries, unsafe.Sizeof(list), uintptr(unsafe.Pointer(&list)), 0)
	return binary, check(symGetProgramInfo, r, "binaries")
}

// keptByDriver is kept of a program in place of a binary where the driver keeps programs itself.
const keptByDriver = "kept by the driver"

// Kept returns what the program cache keeps of a program: its binary. PoCL keeps programs and
// kernels in a folder of its own, and makes a binary by compiling every kernel of a program once
// more, for work-groups of any size and whether it is used or not: as much work again as a first
// run has without it. Of its programs only is kept that they were compiled.
func (p *Program) Kept() ([]byte, error) {
	if p.ctx.dev.info.Platform == poclPlatform {
		return []byte(keptByDriver), nil
	}
	return p.Binary()
}

const poclPlatform = "Portable Computing Language"

// use counts a call on the program in; done counts it out.
func (p *Program) use() error {
	if p == nil || !p.ref.acquire() {
		return closedError("program")
	}
	return nil
}

func (p *Program) done() {
	if p.ref.leave() {
		_ = p.destroy()
	}
}

func (p *Program) destroy() error {
	return check(symReleaseProgram, p.ctx.lib.call(symReleaseProgram, p.ref.id), "")
}

// Close releases the program; kernels made from it stay usable. Later calls do
// nothing and return nil.
func (p *Program) Close() error {
	if p == nil {
		return nil
	}
	first, last := p.ref.shut()
	if !first {
		return nil
	}
	p.ctx.unregister(p)
	if last {
		return p.destroy()
	}
	return nil
}

// building are the programs that contexts with a Compiler are building, by key of the cache.
var building struct {
	sync.Mutex
	locks map[[32]byte]*buildLock
}

// buildLock is held by the one that builds a program; users hold or want it.
type buildLock struct {
	sync.Mutex
	users int
}

// lockBuild waits until nobody else in this process has a program compiled, which is in the cache then.
func lockBuild(key [32]byte) (unlock func()) {
	building.Lock()
	if building.locks == nil {
		building.locks = map[[32]byte]*buildLock{}
	}
	l := building.locks[key]
	if l == nil {
		l = &buildLock{}
		building.locks[key] = l
	}
	l.users++
	building.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		building.Lock()
		defer building.Unlock()
		if l.users--; l.users == 0 {
			delete(building.locks, key)
		}
	}
}
