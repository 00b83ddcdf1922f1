package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"enhance/exec"
	"enhance/memplan"
	"enhance/model"
)

// BudgetError says that the memory budget is too small for a photo, a model and
// a device, and what would need less.
type BudgetError struct {
	Budget    int64  // what was asked for
	Minimum   int64  // the smallest that works
	Input     string // what the network was to run on, "" for a photo
	Model     string
	Precision string
	Device    string
	// Maps says what holds most of the minimum, where that is whole maps between
	// sections of the network; "" otherwise.
	Maps string
	// DeviceMem is the device's memory where Minimum is more, so that no budget
	// helps; 0 otherwise.
	DeviceMem int64
	Lower     []Remedy
	Err       error // the planner's
}

// Remedy is a change that lowers the smallest budget.
type Remedy struct {
	Change  string // as on the command line: "--precision fp16"
	Minimum int64  // the smallest budget with it
}

func (e *BudgetError) Error() string {
	s := fmt.Sprintf("a budget of %d bytes is too small for %s with %s (%s) on %s, which need at least %d", e.Budget, e.Subject(), e.Model, e.Precision, e.Device, e.Minimum)
	if e.DeviceMem > 0 {
		s = fmt.Sprintf("%s has %s of memory, too little for %s with %s (%s), which needs at least %s",
			e.Device, Bytes(e.DeviceMem), e.Subject(), e.Model, e.Precision, Bytes(e.Minimum))
	}
	if e.Maps != "" {
		s += ", " + e.Maps
	}
	if less := e.Remedies(); less != "" {
		s += ": less would do with " + less
	}
	return s
}

func (e *BudgetError) Unwrap() error { return e.Err }

// Subject is what the budget is too small for: "this photo", or the input.
func (e *BudgetError) Subject() string { return subject(e.Input) }

func subject(input string) string {
	if input == "" {
		return "this photo"
	}
	return input
}

// withoutPhoto says in an error about memory that there is no photo but an input of h×w
// packed samples.
func withoutPhoto(err error, h, w int) error {
	input := fmt.Sprintf("an input of %dx%d packed samples", h, w)
	var small *BudgetError
	var large *BufferError
	if errors.As(err, &small) {
		small.Input = input
	}
	if errors.As(err, &large) {
		large.Input = input
	}
	return err
}

// Remedies lists what would lower the minimum, "" if nothing is known to.
func (e *BudgetError) Remedies() string { return remedies(e.Lower) }

func remedies(lower []Remedy) string {
	var all []string
	for _, r := range lower {
		all = append(all, fmt.Sprintf("%s (%s)", r.Change, Bytes(r.Minimum)))
	}
	return strings.Join(all, " or ")
}

// BufferError says that no plan, within whatever budget, keeps its buffers below
// the largest that the device allocates.
type BufferError struct {
	Bytes, Max               int64  // what is needed in one piece, and the device's largest
	Input                    string // what the network was to run on, "" for a photo
	Model, Precision, Device string
	Instead                  []Remedy // what the device can do
	Err                      error    // the planner's
}

func (e *BufferError) Error() string {
	s := fmt.Sprintf("%s (%s) needs a buffer of %s for %s, but %s allocates %s at most, so that no budget helps",
		e.Model, e.Precision, Bytes(e.Bytes), subject(e.Input), e.Device, Bytes(e.Max))
	if instead := remedies(e.Instead); instead != "" {
		s += ": it can do " + instead
	}
	return s
}

func (e *BufferError) Unwrap() error { return e.Err }

// prepareWithin plans for the session's budget. If that is too small the error is
// a *BudgetError.
func (s *Session) prepareWithin(m *model.Model, h, w int) (*exec.Job, error) {
	job, err := s.prepare(m, h, w, s.budget)
	return job, s.explainBudget(err, m, h, w)
}

// explainBudget turns a planner's error about the budget into a *BudgetError, and
// one about the largest buffer into a *BufferError; others it returns as they are.
func (s *Session) explainBudget(err error, m *model.Model, h, w int) error {
	var small *memplan.BudgetError
	var large *memplan.AllocError
	if errors.As(err, &large) {
		return &BufferError{Bytes: large.Bytes, Max: large.Max, Model: s.modelName, Precision: s.precision().String(),
			Device: s.deviceFacts().Name, Instead: s.cheaper(m, h, w, math.MaxInt64), Err: err}
	}
	if !errors.As(err, &small) {
		return err
	}
	e := &BudgetError{Budget: small.Budget, Minimum: small.Minimum, Model: s.modelName, Precision: s.precision().String(),
		Device: s.deviceFacts().Name, Err: err}
	if s.info == nil {
		e.Precision = "fp32"
		return e
	}
	if small.Kept > small.Minimum/2 {
		e.Maps = fmt.Sprintf("%s of them for whole maps between sections (at %s)", Bytes(small.Kept), small.Where)
		if s.shared() {
			e.Maps += ", which cannot wait in host memory because the device shares it"
		}
	}
	if most := s.withinDevice(0); most > 0 && most < e.Minimum {
		e.DeviceMem = most
	}
	e.Lower = s.cheaper(m, h, w, e.Minimum)
	return e
}

// cheaper lists what would need less than so many bytes, and no more than the device has.
func (s *Session) cheaper(m *model.Model, h, w int, than int64) (lower []Remedy) {
	if most := s.withinDevice(0); most > 0 {
		than = min(than, most+1)
	}
	try := func(change string, m *model.Model, p Precision) {
		opt := s.engineOptions(1)
		opt.Precision, opt.TF32 = p.Storage(), p == TF32
		var least *memplan.BudgetError
		if _, err := exec.Prepare(m, h, w, s.info, opt); errors.As(err, &least) && least.Minimum < than {
			lower = append(lower, Remedy{change, least.Minimum})
		}
	}
	if s.precision() != FP16 {
		try("--precision fp16", m, FP16)
	}
	if s.modelName != embeddedModel && m == s.model {
		if least, err := model.Load(""); err == nil {
			try("-m "+embeddedModel, least, s.precision())
		}
	}
	return lower
}
