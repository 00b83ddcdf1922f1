package pipeline

import (
	"errors"
	"io/fs"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/amx"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/internal/devices"
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
	// units are those that the device has, asked those that it was asked for. A CPU with tile registers
	// is asked for no others, and octets need no question of their own.
	units, asked conv.Units
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

// askOnce finds out whether the device has one of its units, unless that was asked before.
func askOnce(has, asked *bool, ask func() (bool, error)) (err error) {
	if !*asked {
		*has, err = ask()
		*asked = err == nil
	}
	return err
}

// probeCPU asks a CPU once for tile registers and, if there are none, for products of codes or of bfloat16 without them.
func (d *device) probeCPU(codes, bf16 bool) error {
	if d.info == nil || d.info.Type != clrt.CPU || d.choice.Device == nil || !codes && !bf16 {
		return nil
	}
	if err := d.openContext(); err != nil {
		return err
	}
	err := askOnce(&d.units.Tiles, &d.asked.Tiles, func() (bool, error) { return amx.Probe(d.cl) })
	if err == nil && codes && !d.units.Tiles {
		err = askOnce(&d.units.VNNI, &d.asked.VNNI, func() (bool, error) { return conv.ProbeVNNI(d.cl, d.compiler()) })
	}
	if err == nil && bf16 && !d.units.Tiles {
		err = askOnce(&d.units.Pairs, &d.asked.Pairs, func() (bool, error) { return conv.ProbePairs(d.cl, d.compiler()) })
	}
	return err
}

// hasPairs reports whether products of bfloat16 were asked for and found.
func (d *device) hasPairs() bool { return d.units.Tiles || d.units.Pairs }

// knowsMatrix reports whether a GPU was asked for its matrix units, and for Hopper's where these may be used.
func (d *device) knowsMatrix(warpgroups func() bool) bool {
	return d.asked.Matrix && (!d.units.Matrix || d.asked.Warpgroup || !warpgroups())
}

// probe asks the device once for the units that the network can use. A GPU is asked for matrix units and, if
// warpgroups says so, for Hopper's; a CPU for products of bytes if the network has codes, and for those of
// bfloat16 if that is the precision. ahead, if not nil, is called before Hopper's units are tried, if the
// device should have them.
func (d *device) probe(warpgroups, codes func() bool, bf16 bool, ahead func()) error {
	if err := d.probeCPU(codes(), bf16); err != nil {
		return err
	}
	if d.info == nil || d.info.Type != clrt.GPU || d.knowsMatrix(warpgroups) {
		return nil
	}
	if d.choice.Device == nil {
		d.units.Matrix, d.units.Warpgroup = d.profile.Matrix, d.profile.Warpgroups
		d.asked.Matrix, d.asked.Warpgroup = true, true
		return nil
	}
	if err := d.openContext(); err != nil {
		return err
	}
	err := askOnce(&d.units.Matrix, &d.asked.Matrix, func() (bool, error) { return mma.Probe(d.cl) })
	if err != nil || !d.units.Matrix || !warpgroups() {
		return err
	}
	return askOnce(&d.units.Warpgroup, &d.asked.Warpgroup, func() (bool, error) {
		if ahead != nil && wgmma.Likely(d.cl) {
			ahead()
		}
		return wgmma.Probe(d.cl)
	})
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
	c, err := d.newContext()
	if err != nil {
		return &devices.Error{Selector: d.set.Device, Problem: d.choice.Device.String() + " cannot be used", Err: err}
	}
	d.cl = c
	return nil
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
