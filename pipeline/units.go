package pipeline

import (
	"context"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/kernelcheck"
)

// hopperUnits are what a GPU may have at most.
var hopperUnits = conv.Units{Matrix: true, Warpgroup: true, Octets: true}

// notesUnits reports whether the units that the device was found to have are noted.
func (d *device) notesUnits() bool {
	return d.info != nil && d.info.Type == clrt.GPU && d.choice.Device != nil && d.profile == nil
}

// recallUnits takes what was noted of the device's units, unless it was asked for them.
func (d *device) recallUnits() {
	if !d.units.AskedMatrix() {
		d.units = d.findings().NotedUnits()
	}
}

// probe asks the device what it has, unless that is noted. ahead, if not nil, is called when units of
// warpgroups are likely and not tried yet.
func (s *Session) probe(ctx context.Context, ahead func()) error {
	d := s.device
	if !d.notesUnits() {
		return d.probe(s.mayUseWarpgroups, s.model.Graph.HasCodes(), s.set.Precision == BF16, ahead)
	}
	d.recallUnits()
	before := d.units
	err := d.probe(s.mayUseWarpgroups, false, false, ahead)
	if err == nil && d.units != before {
		d.findings().NoteUnits(ctx, &d.units)
	}
	return err
}

// plansAhead reports whether a plan can be made before the device is open.
func (s *Session) plansAhead() bool {
	d := s.device
	if !d.notesUnits() || s.set.Precision == AutoPrecision && s.choices.decided == nil {
		return false
	}
	d.recallUnits()
	return d.units.Known(s.mayUseWarpgroups)
}

// compileAhead compiles, while the device's units are tried, what a plan will need if it has them all: kernels of
// the network and of the checks of photo kernels. What comes of it is in the cache; errors meet the plan again.
func (c *computation) compileAhead() {
	s := c.session
	if s.device.compiler() == nil || s.set.Precision == AutoPrecision || clrt.CacheDir("programs") == "" {
		return
	}
	opt := s.engineOptions(c.within)
	opt.Units, opt.Profiler = hopperUnits, nil
	net, h, w, info, cl := c.net, c.h, c.w, s.device.info, s.device.cl
	go func() {
		first, err := exec.Prepare(net, h, w, info, opt)
		if err != nil || !first.Compiles(cl.Device()) {
			return
		}
		for _, job := range append(checksAhead(info, opt), first) {
			go func() { _ = job.Compile(cl) }()
		}
	}()
}

// checksAhead are the jobs of the checks that the first photo has.
func checksAhead(info *clrt.DeviceInfo, opt exec.Options) (jobs []*exec.Job) {
	with := exec.Options{Precision: opt.Precision, Budget: opt.Budget}
	if opt.Samples {
		with := with
		with.Units = hopperUnits
		if job, err := kernelcheck.SamplesJob(info, with); err == nil {
			jobs = append(jobs, job)
		}
	}
	if opt.Picture != nil {
		with.Picture = scenePixels(opt.Picture.Sharpen)
		if job, err := pictureJob(info, with); err == nil {
			jobs = append(jobs, job)
		}
	}
	return jobs
}
