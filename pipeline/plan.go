package pipeline

import (
	"context"
	"errors"
	"strings"

	"enhance/conv/wgmma"
	"enhance/internal/devices"
	"enhance/internal/exec"
	"enhance/model"
)

// chooseAlgos reads the choice of algorithms of the settings.
func (s *Session) chooseAlgos() (err error) {
	if s.set.Algo == "" {
		s.set.Algo = exec.Auto
	}
	if s.choices.algo, err = exec.ParseAlgos(s.set.Algo); err != nil {
		return optionErrorf("algo", "%v", err)
	}
	if s.device.info == nil && s.set.Algo != exec.Auto {
		return optionErrorf("algo", "the host executor has one algorithm: choose an OpenCL device, or leave it out")
	}
	return nil
}

// prepare plans a run of m, which is the session's model or part of it, with these options.
// The device must have been probed.
func (s *Session) prepare(m *model.Model, h, w int, opt exec.Options) (*exec.Job, error) {
	job, err := exec.Prepare(m, h, w, s.device.info, opt)
	return job, s.checkAlgos(job, m, err)
}

// checkAlgos explains the error of a plan for m, or says that the choice of algorithms names a
// layer that is not there.
func (s *Session) checkAlgos(job *exec.Job, m *model.Model, err error) error {
	if err != nil {
		return s.algoError(err)
	}
	if m == s.model { // part of a network need not have every layer that is named
		if err := s.choices.algo.Match(job.Program); err != nil {
			return optionErrorf("algo", "%v", err)
		}
	}
	return nil
}

// minimum is the smallest budget that works for m.
func (s *Session) minimum(m *model.Model, h, w int) (int64, error) {
	least, err := exec.Minimum(m, h, w, s.device.info, s.engineOptions(Budget{}))
	return least, s.algoError(err)
}

// algoError makes an algorithm that cannot do a step an error of the option that asked
// for it, or of the device, which then is too small for any; others it returns as they are.
func (s *Session) algoError(err error) error {
	var cannot *exec.AlgoError
	switch {
	case !errors.As(err, &cannot):
		return err
	case cannot.Asked:
		return optionErrorf("algo", "%v", err)
	}
	return &devices.Error{Selector: s.set.Device, Problem: s.device.deviceFacts().Name + " cannot run the network", Err: err}
}

// engineOptions are for a plan within a budget.
func (s *Session) engineOptions(budget Budget) exec.Options {
	return s.optionsIn(s.precision(), budget)
}

// optionsIn are engineOptions in a precision that need not be the session's.
func (s *Session) optionsIn(p Precision, budget Budget) exec.Options {
	units := s.device.units.Units
	units.Octets = units.Warpgroup
	return exec.Options{
		Precision: p.storage(), TF32: p == TF32, BF16: p == BF16, Budget: budget,
		Units: units, Algo: s.choices.algo.Algo, Tuned: s.choices.table, Rates: s.choices.rates,
		Rows: s.set.StripRows, WholePlanes: s.set.WholePlanes,
		Discrete: s.device.discrete(), HostRest: s.device.hostRest(), SaveHostMemory: s.lowHostMemory(),
		Samples: s.choices.samples, Picture: s.choices.picture, Profiler: s.profile,
	}
}

// scarce is how much of the host's memory has to be left for a run to take more of it
// than it is planned to hold, to open sooner: four times that (see exec.Options.SaveHostMemory).
const scarce = 2 << 30

// lowHostMemory reports whether the host's memory is bounded or nearly full.
func (s *Session) lowHostMemory() bool {
	if s.set.HostMemory.Decided() {
		return s.set.HostMemory.Limited()
	}
	avail, ok := s.host.available()
	return ok && avail < scarce
}

// mayUseWarpgroups reports whether anything would be done with them: asking the
// device compiles kernels for it.
func (s *Session) mayUseWarpgroups() bool {
	if p := s.set.Precision; p != FP16 && p != AutoPrecision {
		return false
	}
	return strings.Contains(s.set.Algo, wgmma.Algo().Name()) || exec.SuitsWarpgroups(s.model)
}

// ready decides what must be known before a plan can be made: the device's matrix
// units, the precision and what was measured on the device. ahead is told of at probe.
func (s *Session) ready(ctx context.Context, ahead func()) error {
	for _, part := range []struct {
		name string
		do   func() error
	}{
		{"open device", func() error { return s.probe(ctx, ahead) }},
		{"choose precision", func() error { return s.decidePrecision(ctx) }},
		{"read tuning results", s.useTuning},
	} {
		end := s.stages().Begin(part.name)
		err := part.do()
		end()
		if err != nil {
			return err
		}
	}
	return nil
}
