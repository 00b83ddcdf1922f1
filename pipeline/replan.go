package pipeline

import (
	"errors"
	"fmt"
	"time"

	"enhance/clrt"
	"enhance/internal/bytesize"
	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/model"
)

// A device may give less memory than it says: other programs hold some, or the
// driver counts pages that are not there. The plan's memory is allocated and
// touched before any work, so this shows at the start, and the run is planned
// once more under what the device did give.

// foundShare is the share of the bytes that a device held when it gave up that a
// second plan may use: the allocation that failed is among them.
const foundShare = 0.7

// slowOpen is how long an engine may take to open without a word. Kernels from the
// cache take a tenth of it.
const slowOpen = time.Second

// tellSlow tells what takes so long, should stop not be called soon.
func (s *Session) tellSlow() (stop func()) {
	tell := s.set.Compiling
	if tell == nil {
		return func() {}
	}
	t := time.AfterFunc(slowOpen, func() { tell("compiling kernels for this device takes a few seconds, the first time only") })
	return func() { t.Stop() }
}

// openPlan opens job's engine, or, if the device has too little memory, that of
// one more plan, which it also returns; say is told about that. A device that
// has too little for both gives a *MemoryError.
func (s *Session) openPlan(job *exec.Job, m *model.Model, h, w int, say func(string), ready func() error) (*exec.Engine, *exec.Job, error) {
	e, held, err := s.open(job, ready)
	if err == nil || !clrt.OutOfMemory(err) {
		return e, job, err
	}
	found := s.budget.Lowered(int64(foundShare*float64(held)), "what the device was found to have")
	again, perr := s.prepare(m, h, w, s.engineOptions(found))
	var least *memplan.BudgetError
	switch {
	case errors.As(perr, &least):
		return nil, job, &MemoryError{Need: job.Plan.Peak, Minimum: s.budget.ForAll(least.Minimum), Err: err}
	case perr != nil:
		return nil, job, perr
	}
	say(fmt.Sprintf("the device has no room for the planned %s (%v); the photo is planned again within %s", bytesize.Text(job.Plan.Peak),
		err, bytesize.Text(found.Bytes())))
	if e, _, err = s.open(again, nil); err != nil {
		return nil, again, s.memoryError(err, again, m, h, w)
	}
	s.runner.found = found
	return e, again, nil
}

// open opens a job in the session's context, whose memory is taken when ready, if not nil, has
// returned. If memory is short it says how many
// bytes the device had come to hold, or was to hold if it had not begun, and
// drops the context: what a driver makes of the rest of it is not known.
func (s *Session) open(job *exec.Job, ready func() error) (e *exec.Engine, held int64, err error) {
	if err := s.device.openContext(); err != nil {
		return nil, 0, err
	}
	do := s.runner.openJob
	if do == nil {
		do = (*exec.Job).OpenWhen
	}
	if e, err = do(job, s.device.cl, ready); err == nil || !clrt.OutOfMemory(err) {
		return e, 0, err
	}
	if held = min(s.device.cl.Peak(), job.Plan.Peak); held == 0 {
		held = job.Plan.Peak
	}
	err = errors.Join(err, s.device.cl.Close())
	s.device.cl = nil
	return nil, held, err
}

// memoryError explains a device that is out of memory; other errors it returns as
// they are.
func (s *Session) memoryError(err error, job *exec.Job, m *model.Model, h, w int) error {
	if err == nil || !clrt.OutOfMemory(err) {
		return err
	}
	e := &MemoryError{Need: job.Plan.Peak, Err: err}
	if least, merr := s.minimum(m, h, w); merr == nil {
		e.Minimum = s.budget.ForAll(least)
	}
	return e
}
