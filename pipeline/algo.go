package pipeline

import (
	"context"
	"errors"
	"strings"

	"enhance/clrt"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/exec"
	"enhance/model"
)

// chooseAlgos reads the choice of algorithms of the settings.
func (s *Session) chooseAlgos() (err error) {
	if s.set.Algo == "" {
		s.set.Algo = exec.Auto
	}
	if s.algo, err = exec.ParseAlgos(s.set.Algo); err != nil {
		return optionErrorf("algo", "%v", err)
	}
	if s.info == nil && s.set.Algo != exec.Auto {
		return optionErrorf("algo", "the host executor has one algorithm: choose an OpenCL device, or leave it out")
	}
	return nil
}

// prepare plans a run of m, which is the session's model or part of it, within
// a budget.
func (s *Session) prepare(m *model.Model, h, w int, budget Budget) (*exec.Job, error) {
	if err := s.probe(); err != nil {
		return nil, err
	}
	job, err := exec.Prepare(m, h, w, s.info, s.engineOptions(budget))
	if err != nil {
		return nil, s.algoError(err)
	}
	if m == s.model { // part of a network need not have every layer that is named
		if err := s.algo.Match(job.Program); err != nil {
			return nil, optionErrorf("algo", "%v", err)
		}
	}
	return job, nil
}

// minimum is the smallest budget that works for m.
func (s *Session) minimum(m *model.Model, h, w int) (int64, error) {
	least, err := exec.Minimum(m, h, w, s.info, s.engineOptions(Budget{}))
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
	return &DeviceError{Selector: s.set.Device, Problem: s.deviceFacts().Name + " cannot run the network", Err: err}
}

// engineOptions are for a plan within a budget.
func (s *Session) engineOptions(budget Budget) exec.Options {
	return exec.Options{
		Precision: s.precision().Storage(), TF32: s.precision() == TF32, Tuned: s.table, Rates: s.rates, Budget: budget, Algo: s.algo.Algo,
		Rows: s.set.StripRows, WholePlanes: s.set.WholePlanes,
		Matrix: s.matrix != nil && *s.matrix, Warpgroup: s.hopper, Discrete: s.discrete(), HostRest: s.hostRest(), Profiler: s.set.Profiler,
		Frugal: s.frugal(),
	}
}

// scarce is how much of the host's memory has to be left for a run to take more of it
// than it is planned to hold, to open sooner: four times that (see exec.Options.Frugal).
const scarce = 2 << 30

// frugal reports whether the host's memory is bounded or nearly full.
func (s *Session) frugal() bool {
	if s.set.HostMemory.Decided() {
		return s.set.HostMemory.Limited()
	}
	avail, ok := s.available()
	return ok && avail < scarce
}

// probe asks the device once whether it has matrix units. Only GPUs can, and only
// they are touched for it.
func (s *Session) probe() error {
	if s.matrix != nil || s.info == nil || s.info.Type != clrt.GPU {
		return nil
	}
	if s.choice.Device == nil {
		s.matrix = &s.set.Profile.Matrix
		return nil
	}
	if err := s.openContext(); err != nil {
		return err
	}
	found := mma.Probe(s.cl)
	s.matrix, s.hopper = &found, found && s.mayUseWarpgroups() && wgmma.Probe(s.cl)
	return nil
}

// earlyContext is a context that is being opened.
type earlyContext struct {
	opened chan struct{}
	cl     *clrt.Context // nil: it could not be
}

// openEarly begins to open the session's device.
func (s *Session) openEarly() {
	e := &earlyContext{opened: make(chan struct{})}
	s.early = e
	go func() {
		defer close(e.opened)
		e.cl, _ = s.newContext()                                    // openContext tries again, and tells
		if e.cl != nil && s.choice.Device.Info().Type != clrt.CPU { // a CPU's open at once
			e.cl.ExpectPrograms()
		}
	}()
}

// takeEarly makes s.cl the context that was opened early, if one was.
func (s *Session) takeEarly() {
	if e := s.early; e != nil {
		<-e.opened
		s.early, s.cl = nil, e.cl
	}
}

// mayUseWarpgroups reports whether anything would be done with them: asking the
// device compiles kernels for it.
func (s *Session) mayUseWarpgroups() bool {
	if p := s.set.Precision; p != FP16 && p != AutoPrecision {
		return false
	}
	return strings.Contains(s.set.Algo, wgmma.Algo().Name()) || exec.SuitsWarpgroups(s.model)
}

// newContext makes a context that compiles as the settings say.
func (s *Session) newContext() (*clrt.Context, error) {
	c, err := clrt.NewContext(s.choice.Device)
	if err == nil && s.set.Compiler != nil && !s.set.HostMemory.Limited() {
		c.CompileWith(s.set.Compiler)
	}
	return c, err
}

// openContext makes s.cl.
func (s *Session) openContext() error {
	if s.cl == nil {
		s.takeEarly()
	}
	if s.cl != nil {
		return nil
	}
	c, err := s.newContext()
	if err != nil {
		return &DeviceError{Selector: s.set.Device, Problem: s.choice.Device.String() + " cannot be used", Err: err}
	}
	s.cl = c
	return nil
}

// ready decides what must be known before a plan can be made: the device's matrix
// units, the precision and what was measured on the device.
func (s *Session) ready(ctx context.Context) error {
	for _, part := range []struct {
		name string
		do   func() error
	}{
		{"open device", s.probe},
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

// EngineOptions are what the session would give exec.Prepare for a mosaic of so
// many rows and columns whose red sample is at (0,0), with the padded packed
// sides, if there is a plan with them. For benchmarks.
func (s *Session) EngineOptions(ctx context.Context, rows, cols int) (o exec.Options, h, w int, err error) {
	h, w = s.model.Convention.PaddedSides((rows+1)/2, (cols+1)/2)
	if err = s.ready(ctx); err == nil {
		_, err = s.prepareWithin(s.model, h, w, s.allowed())
	}
	return s.engineOptions(s.allowed()), h, w, withoutPhoto(err, h, w)
}
