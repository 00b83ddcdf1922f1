package clrt

import (
	"fmt"
	"os"
	"runtime"
	"slices"
)

// Compiler compiles programs for contexts elsewhere than in the calling thread:
// drivers compile one program at a time in a process, whatever number of threads
// ask (docs/opencl-binding.md). Package internal/compilers has one that starts processes.
// A context without a Compiler compiles by itself.
type Compiler interface {
	// Compile returns a program as [Program.Kept] gives it, and keeps that in the
	// cache, as [Context.Build] does, if it is not disabled. It may be
	// called by many goroutines, which wait for their turns. Without a result, for
	// whatever reason, the caller compiles the program in its own process, and calls
	// done, which is never nil, when it has.
	Compile(d *Device, source, options string) (kept []byte, done func())
	// Width is how many programs for a device are compiled at a time at most.
	Width(d *Device) int
	// Expect says that many programs for a device are to come.
	Expect(d *Device)
	// Rest gives back what the compiler holds of the device and the host's memory
	// while it has nothing to do, and with wait returns when that is done. It may be
	// used again afterwards.
	Rest(wait bool)
}

// CompileWith has the context's programs that are not in the cache compiled by k.
// Call it before the first Build.
func (c *Context) CompileWith(k Compiler) { c.compiler = k }

// KeepCompiler has RestCompiler do nothing: others in need of the context's compiler are at work.
func (c *Context) KeepCompiler() { c.keepCompiler = true }

// ExpectPrograms tells a compiler that many programs for the device are to come, where nothing at
// all is in the cache, so that it can make ready.
func (d *Device) ExpectPrograms(k Compiler) {
	if dir := CacheDir("programs"); dir != "" {
		if f, err := os.Open(dir); err == nil {
			defer f.Close()
			if names, _ := f.Readdirnames(1); len(names) > 0 {
				return
			}
		}
	}
	k.Expect(d)
}

// RestCompiler has the context's compiler, if there is one, give back what it holds,
// as so many bytes of the device's memory are needed next. It waits for that only
// where they may not be there otherwise.
func (c *Context) RestCompiler(need int64) {
	if c.compiler != nil && !c.keepCompiler {
		c.compiler.Rest(c.dev.info.Type != CPU && need > c.dev.info.GlobalMem/8*7)
	}
}

// Compilers is how many programs are compiled at a time at most. Without a Compiler
// that is several on GPUs, where some drivers gain by it, and one on CPUs, whose
// drivers compile on all cores or hold a lock.
func (c *Context) Compilers() int {
	switch {
	case c.compiler != nil:
		return max(1, c.compiler.Width(c.dev))
	case c.dev.info.Type == CPU:
		return 1
	}
	return max(1, min(runtime.NumCPU(), 8))
}

// compile compiles a program that is not in the cache, and keeps it there.
func (c *Context) compile(source, options, full string, cache *cacheEntry) (*Program, error) {
	if c.compiler != nil {
		kept, done := c.compiler.Compile(c.dev, source, options)
		defer done()
		if kept != nil {
			if p, err := c.buildKept(kept, source, full); err == nil {
				p.fromCache = false
				return p, nil
			}
			if cache.enabled() {
				cache.drop() // where the compiler left it
			}
		}
	}
	p, err := c.buildSource(source, full)
	if err != nil {
		return nil, err
	}
	if cache.enabled() {
		if kept, err := p.Kept(); err == nil {
			cache.store(kept)
		}
	}
	return p, nil
}

// Identity says which device of this machine a device is, for another process on
// it that sees the same drivers.
type Identity struct {
	Index         int    `json:"index"` // in Devices
	Cores         int    `json:"cores"` // as Device.Cores has it; 0: the whole device
	Platform      string `json:"platform"`
	Name          string `json:"name"`
	DriverVersion string `json:"driver_version"`
	Version       string `json:"version"`
}

// Identity returns the device's identity.
func (d *Device) Identity() (Identity, error) {
	whole, cores := d, 0
	if d.whole != nil {
		whole, cores = d.whole, d.info.ComputeUnits
	}
	devices, err := Devices()
	if err != nil {
		return Identity{}, err
	}
	i := slices.Index(devices, whole)
	if i < 0 {
		return Identity{}, fmt.Errorf("clrt: %s is not among the devices of this process", d)
	}
	f := &d.info
	return Identity{i, cores, f.Platform, f.Name, f.DriverVersion, f.Version}, nil
}

// FindDevice returns the device of that identity, and an error where there is none
// or another one is in its place.
func FindDevice(id Identity) (*Device, error) {
	devices, err := Devices()
	if err != nil {
		return nil, err
	}
	if id.Index < 0 || id.Index >= len(devices) {
		return nil, fmt.Errorf("clrt: there is no device %d", id.Index)
	}
	d := devices[id.Index]
	if id.Cores != 0 {
		if d, err = d.Cores(id.Cores); err != nil {
			return nil, err
		}
	}
	if got, err := d.Identity(); err != nil || got != id {
		return nil, fmt.Errorf("clrt: device %d is %s, driver %s, and not %s (%s), driver %s",
			id.Index, d, d.info.DriverVersion, id.Name, id.Platform, id.DriverVersion)
	}
	return d, nil
}
