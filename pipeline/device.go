package pipeline

import (
	"errors"
	"io/fs"

	"enhance/clrt"
	"enhance/internal/devices"
	"enhance/internal/findings"
	"enhance/internal/hostmemory"
	"enhance/internal/profile"
	"enhance/pipeline/facts"
)

// device is what a session runs on: an OpenCL device with its context, which is opened
// when it is first needed, or the host executor.
type device struct {
	set     *Settings        // of the session
	profile *profile.Profile // limits the device, or stands for it; nil: none
	choice  devices.Choice
	info    *clrt.DeviceInfo // what is planned for: the device's own limits, or a profile's; nil: the host executor
	early   *earlyContext    // nil: none, or taken
	cl      *clrt.Context    // nil: not open
	units   findings.Units   // those that it has
}

// loadProfile reads the profile that the settings name.
func (d *device) loadProfile() (err error) {
	if d.set.Profile == "" {
		return nil
	}
	if d.profile, err = profile.Load(d.set.Profile); errors.As(err, new(*fs.PathError)) {
		err = &FileError{Path: d.set.Profile, Err: err}
	}
	return err
}

// chooseDevice finds the device and what is planned for: the device itself, or
// the profile's limits on it, or the profile alone.
func (d *device) chooseDevice() (err error) {
	if err = d.loadProfile(); err != nil {
		return err
	}
	p := d.profile
	if p != nil && d.set.PlanOnly {
		d.choice = devices.Choice{Index: -1, Why: "a profile, planned for and not run"}
		d.info = p.Info()
		return nil
	}
	if d.choice, err = devices.ChooseCores(d.set.Device, d.set.Cores); err != nil {
		return err
	}
	if d.choice.Device == nil {
		if p != nil {
			return optionErrorf("device-profile", "the host executor has no limits to set: choose an OpenCL device, or plan without one (dry run)")
		}
		return nil
	}
	if d.info = d.choice.Device.Info(); p != nil {
		d.info = p.Limit(d.info)
	}
	return nil
}

// probe asks the device once for the units that the network can use. A GPU is asked for matrix units and, if
// warpgroups says so, for Hopper's; a CPU for products of bytes if the network has codes, and for those of
// bfloat16 if that is the precision. ahead, if not nil, is called before Hopper's units are tried, if the
// device should have them.
func (d *device) probe(warpgroups func() bool, codes, bf16 bool, ahead func()) error {
	here := d.choice.Device != nil
	switch {
	case d.info == nil:
		return nil
	case d.info.Type == clrt.CPU && here && (codes || bf16):
		if err := d.openContext(); err != nil {
			return err
		}
		return d.units.AskCPU(d.cl, d.compiler(), codes, bf16)
	case d.info.Type != clrt.GPU || d.units.Known(warpgroups):
		return nil
	case !here:
		d.units = findings.GPUUnits(d.profile.Matrix, d.profile.Warpgroups)
		return nil
	}
	if err := d.openContext(); err != nil {
		return err
	}
	return d.units.AskGPU(d.cl, warpgroups, ahead)
}

// earlyContext is a context that is being opened.
type earlyContext struct {
	opened chan struct{}
	cl     *clrt.Context // nil: it could not be
}

// openEarly begins to open the session's device.
func (d *device) openEarly() {
	e := &earlyContext{opened: make(chan struct{})}
	d.early = e
	go func() {
		defer close(e.opened)
		if k := d.compiler(); k != nil && d.choice.Device.Info().Type != clrt.CPU { // a CPU's open at once
			d.choice.Device.ExpectPrograms(k)
		}
		e.cl, _ = d.newContext() // openContext tries again, and tells
	}()
}

// takeEarly makes d.cl the context that was opened early, if one was.
func (d *device) takeEarly() {
	if e := d.early; e != nil {
		<-e.opened
		d.early, d.cl = nil, e.cl
	}
}

// newContext makes a context that compiles as the settings say.
func (d *device) newContext() (*clrt.Context, error) {
	c, err := clrt.NewContext(d.choice.Device)
	if k := d.compiler(); err == nil && k != nil {
		c.CompileWith(k)
	}
	return c, err
}

// usableContext is newContext, whose error names the device as it was asked for.
func (d *device) usableContext() (*clrt.Context, error) {
	c, err := d.newContext()
	if err != nil {
		return nil, &devices.Error{Selector: d.set.Device, Problem: d.choice.Device.String() + " cannot be used", Err: err}
	}
	return c, nil
}

// compiler is the settings', nil where the host's memory is bounded.
func (d *device) compiler() clrt.Compiler {
	if d.set.HostMemory.Limited() {
		return nil
	}
	return d.set.Compiler
}

// openContext makes d.cl.
func (d *device) openContext() error {
	if d.cl == nil {
		d.takeEarly()
	}
	if d.cl != nil {
		return nil
	}
	c, err := d.usableContext()
	d.cl = c
	return err
}

// findings is the device as package findings examines it. There must be one that is no profile's.
func (d *device) findings() *findings.Device {
	return &findings.Device{Info: d.choice.Device.Info(), Open: d.newContext, Tell: d.set.Tell, Debug: d.set.Debug, Progress: d.set.Tuning}
}

// deviceFacts name the device, and the profile that limits it.
func (d *device) deviceFacts() facts.Device {
	f := facts.Device{Index: -1, Name: "host executor (no OpenCL)", Why: d.choice.Why, Info: d.info}
	switch {
	case d.choice.Device != nil:
		f.Index, f.Name = d.choice.Index, d.choice.Device.String()
	case d.info != nil:
		f.Name = d.info.Name
	}
	if d.profile != nil {
		f.Profile = d.profile.Name
	}
	return f
}

// sharesHost reports whether device buffers are really in the host's memory,
// whatever a profile says.
func (d *device) sharesHost() bool {
	if d.choice.Device == nil {
		return d.info != nil && d.info.Unified
	}
	real := d.choice.Device.Info()
	return real.Unified || real.Type == clrt.CPU
}

// hostRest reports whether the host has memory besides what a device that shares it
// lends, where tensors and parameters may wait.
func (d *device) hostRest() bool {
	switch p := d.profile; {
	case p != nil:
		return p.Unified && p.HostMem > p.GlobalMem
	case d.info == nil || !d.info.Unified || d.info.Type == clrt.CPU:
		return false
	}
	total, ok := hostmemory.Total()
	return ok && total > d.info.GlobalMem
}

// discrete reports whether the profile wants a device that shares the host's
// memory planned for as if it had its own.
func (d *device) discrete() bool { return d.profile != nil && !d.profile.Unified }

// shared reports whether runs plan for memory that host and device share.
func (d *device) shared() bool {
	return (d.info.Unified || d.info.Type == clrt.CPU) && !d.discrete()
}

// close releases the context.
func (d *device) close() (err error) {
	d.takeEarly()
	if d.cl != nil {
		err = d.cl.Close()
		d.cl = nil
	}
	return err
}
