package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"enhance/internal/bytesize"
	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/model"
)

// BudgetError says that the memory budget is too small for a photo, a model and
// a device, and what would need less. Its text is what a reader is told: nobody else
// composes it.
type BudgetError struct {
	Budget  Budget // of all photos that are on the device at a time
	Minimum int64  // the smallest that works, in bytes
	Default bool   // nobody asked for a budget
	// Input is what the network was to run on, "" for a photo.
	Input                    string
	Model, Precision, Device string
	// Maps says what holds most of the minimum, where that is whole maps between
	// sections of the network; "" otherwise.
	Maps string
	// DeviceMem is the device's memory where Minimum is more, so that no budget
	// helps; 0 otherwise.
	DeviceMem int64
	Lower     []Remedy
	Err       error // the planner's
}

// Remedy is a change that lowers what a run needs of the memory that is short.
type Remedy struct {
	Change  string // as on the command line: "--precision fp16", or "without --strip-rows"
	Minimum int64  // the smallest budget with it, or what it needs of the host's memory
}

// without begins a change that leaves a flag out.
const without = "without "

func (e *BudgetError) Error() string {
	s := fmt.Sprintf("%s is too small by %s for %s on %s: the smallest that works is --mem %d (%s)",
		e.budget(), bytesize.Text(e.Minimum-e.Budget.Whole().Bytes()), e.work(), e.Device, e.Minimum, bytesize.Text(e.Minimum))
	before := "; "
	if e.DeviceMem > 0 {
		s = fmt.Sprintf("%s has %s of memory, too little for %s, which needs at least %s", e.Device, bytesize.Text(e.DeviceMem), e.work(), bytesize.Text(e.Minimum))
		if n := e.Budget.Sharers(); n > 1 {
			s += fmt.Sprintf(" for the %d photos that are on it at a time", n)
		}
		before = ": "
	}
	if e.Maps != "" {
		s += ", " + e.Maps
	}
	if less := remedies(e.Lower); less != "" {
		s += before + "smaller budgets work " + less
	}
	return s
}

// work is what is to be computed, and how.
func (e *BudgetError) work() string {
	return fmt.Sprintf("%s with %s (%s)", subject(e.Input), e.Model, e.Precision)
}

// budget says which budget is too small.
func (e *BudgetError) budget() string {
	whole := e.Budget.Whole()
	s := "a budget of " + exactly(whole.Bytes())
	if !whole.AskedFor() {
		s = fmt.Sprintf("the budget of %s (%s)", bytesize.Text(whole.Bytes()), whole.Why())
	}
	if e.Default {
		s = strings.Replace(s, "the budget", "the default budget", 1)
	}
	if n := e.Budget.Sharers(); n > 1 {
		s += fmt.Sprintf(", shared by the %d photos that are on the device at a time,", n)
	}
	return s
}

// exactly prints bytes with their unit, an odd number in bytes too.
func exactly(n int64) string {
	if n%1024 == 0 || n < 1024 {
		return bytesize.Text(n)
	}
	return fmt.Sprintf("%d bytes (%s)", n, bytesize.Text(n))
}

func (e *BudgetError) Unwrap() error { return e.Err }

func subject(input string) string {
	if input == "" {
		return "this photo"
	}
	return input
}

// withoutPhoto says in an error about memory that there is no photo but an input of w×h
// packed samples.
func withoutPhoto(err error, h, w int) error {
	input := fmt.Sprintf("an input of %dx%d packed samples", w, h)
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

// remedies lists what would lower the minimum, "" if nothing is known to.
func remedies(lower []Remedy) string {
	var all []string
	for i, r := range lower {
		text := fmt.Sprintf("%s (%s)", r.Change, bytesize.Text(r.Minimum))
		if i == 0 && !strings.HasPrefix(text, without) {
			text = "with " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, " or ")
}

// BufferError says that no plan, within whatever budget, keeps its buffers below
// the largest that the device allocates.
type BufferError struct {
	Bytes, Max               int64  // the smallest largest allocation that works, and the device's
	What                     string // needs it
	Input                    string // what the network was to run on, "" for a photo
	Model, Precision, Device string
	Instead                  []Remedy // what the device can do
	Err                      error    // the planner's
}

func (e *BufferError) Error() string {
	s := fmt.Sprintf("%s (%s) needs at least %s in one buffer for %s (%s), but %s allocates %s at most, so that no budget helps",
		e.Model, e.Precision, exactly(e.Bytes), subject(e.Input), e.What, e.Device, exactly(e.Max))
	if instead := remedies(e.Instead); instead != "" {
		s += "; it works " + instead
	}
	return s
}

func (e *BufferError) Unwrap() error { return e.Err }

// explainBudget turns a planner's error about the budget into a *BudgetError, and
// one about the largest buffer into a *BufferError; others it returns as they are.
func (s *Session) explainBudget(err error, m *model.Model, h, w int) error {
	var small *memplan.BudgetError
	var large *memplan.AllocError
	if errors.As(err, &large) {
		return &BufferError{Bytes: large.Bytes, Max: large.Max, What: large.What, Model: s.networkName(), Precision: s.precision().String(),
			Device: s.device.deviceFacts().Name, Instead: s.cheaper(m, h, w, math.MaxInt64), Err: err}
	}
	if !errors.As(err, &small) {
		return err
	}
	e := &BudgetError{Budget: small.Budget, Minimum: small.Budget.ForAll(small.Minimum), Default: !s.set.Memory.Decided() && small.Budget == s.budget,
		Model: s.networkName(), Precision: s.precision().String(), Device: s.device.deviceFacts().Name, Err: err}
	if s.device.info == nil {
		e.Precision = "fp32"
		return e
	}
	if small.Kept > small.Minimum/2 {
		e.Maps = fmt.Sprintf("%s of them for whole maps between sections (at %s)", bytesize.Text(small.Budget.ForAll(small.Kept)), small.Where)
		if s.device.shared() && !s.device.hostRest() {
			e.Maps += ", which cannot wait in host memory because the device shares it"
		}
	}
	if most := s.device.info.GlobalMem; most > 0 && most < e.Minimum {
		e.DeviceMem = most
	}
	e.Lower = s.cheaper(m, h, w, small.Minimum)
	return e
}

// cheaper lists what would need less than so many bytes, and no more than the device has.
func (s *Session) cheaper(m *model.Model, h, w int, than int64) (lower []Remedy) {
	if most := s.device.info.GlobalMem; most > 0 {
		than = min(than, most/int64(s.budget.Sharers())+1)
	}
	s.eachRemedy(m, func(change string, m *model.Model, opt exec.Options) {
		if least, err := exec.Minimum(m, h, w, s.device.info, opt); err == nil && least < than {
			lower = append(lower, Remedy{change, s.budget.ForAll(least)})
		}
	})
	return lower
}

// eachRemedy calls try for each change to a run of m that may need less memory: with what there
// would be to plan.
func (s *Session) eachRemedy(m *model.Model, try func(change string, m *model.Model, opt exec.Options)) {
	opt := s.engineOptions(Budget{})
	if s.precision() != FP16 {
		try("--precision fp16", m, s.optionsIn(FP16, Budget{}))
	}
	if s.modelName != embeddedModel && m == s.model && s.model.Convention.Samples == model.SamplesQuad && forRAW(m, s.modelName) == nil { // which take the same photos
		if least, err := s.like(embeddedModel, nil, s.set.Ensemble); err == nil {
			try("-m "+embeddedModel, least, opt)
		}
	}
	if s.set.ensemble() > 0 && m == s.model {
		if single, err := s.like(s.modelName, s.set.Level, 1); err == nil {
			try(without+"--ensemble", single, opt)
		}
	}
	free := opt
	if free.Rows, free.WholePlanes = 0, false; opt.Rows > 0 {
		try(without+"--strip-rows", m, free)
	} else if opt.WholePlanes {
		try(without+"--whole-planes", m, free)
	}
}

// like is a network of another name, or an ensemble of another size, that puts as much noise back as the session's.
func (s *Session) like(name string, level *int, ensemble int) (*model.Model, error) {
	l := loadedModel{modelName: name}
	if err := l.load(level, ensemble); err != nil || s.share == 0 {
		return l.model, err
	}
	return l.model.KeepNoise(s.share)
}
