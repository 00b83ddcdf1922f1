package pipeline

import (
	"context"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/kernelcheck"
)

// Kernels depend on whether the device has matrix units, and which. A process finds that out by trying
// them. That they work is noted among the device's tuning results, so that later processes plan while
// the device is still being opened; that they do not is found out again by each.
const (
	matrixNote    = "matrix units"
	warpgroupNote = "matrix units of warpgroups"
	unitsWork     = "right"
)

// hopperUnits are what a GPU may have at most.
var hopperUnits = conv.Units{Matrix: true, Warpgroup: true, Octets: true}

// probe asks the device what it has, unless that is noted. ahead, if not nil, is called when units of
// warpgroups are likely and not tried yet.
func (s *Session) probe(ctx context.Context, ahead func()) error {
	d := s.device
	noted := d.info != nil && d.info.Type == clrt.GPU && d.choice.Device != nil && d.profile == nil
	if noted && !d.asked.Matrix {
		d.recallUnits()
	}
	asked := d.asked
	if err := d.probe(s.mayUseWarpgroups, s.model.Graph.HasCodes, s.set.Precision == BF16, ahead); err != nil {
		return err
	}
	if noted && d.asked != asked {
		d.noteUnits(ctx)
	}
	return nil
}

// plansAhead reports whether a plan can be made before the device is open.
func (s *Session) plansAhead() bool {
	d := s.device
	if d.info == nil || d.info.Type != clrt.GPU || d.choice.Device == nil || d.profile != nil || s.set.Precision == AutoPrecision && s.choices.decided == nil {
		return false
	}
	if !d.asked.Matrix {
		d.recallUnits()
	}
	return d.knowsMatrix(s.mayUseWarpgroups)
}

// recallUnits takes what was noted of the device's units.
func (d *device) recallUnits() {
	table, _ := d.tuningStore().Load()
	var found conv.Units
	found.Matrix = table.Notes[matrixNote] == unitsWork
	found.Warpgroup = found.Matrix && table.Notes[warpgroupNote] == unitsWork
	d.units, d.asked = found, found // what does not work is found out again
}

// noteUnits notes the units that work.
func (d *device) noteUnits(ctx context.Context) {
	found := map[string]bool{matrixNote: d.units.Matrix, warpgroupNote: d.units.Warpgroup}
	d.keepNotes(ctx, func(notes map[string]string) {
		for note, works := range found {
			if works {
				notes[note] = unitsWork
			}
		}
	})
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
