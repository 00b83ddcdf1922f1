package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
)

// Precision is how activations are stored on the device and how exactly they are
// multiplied.
type Precision uint8

const (
	// FP32 stores float32 and computes in float32, or in as many products on
	// matrix units as come close to it.
	FP32 Precision = iota
	// TF32 stores float32; matrix units take factors rounded to the 11 significant
	// bits of tf32. Devices without such units refuse it.
	TF32
	// FP16 stores binary16; sums are float32.
	FP16
	// BF16 stores and multiplies bfloat16 between a network's first and last convolutions, on CPUs with products of
	// it; sums, and all that reads the input or makes the output, are float32.
	BF16
	// AutoPrecision is FP32 on CPUs, and elsewhere the least exact of those the device
	// offers whose result on a self-check patch is close enough to FP32's
	// (selfcheck.go). Nothing is timed, so that the same photo gives the same bytes.
	AutoPrecision
)

var precisionNames = [...]string{"fp32", "tf32", "fp16", "bf16", "auto"}

func (p Precision) String() string { return precisionNames[p] }

// UnmarshalText reads "fp32", "tf32", "fp16", "bf16" or "auto".
func (p *Precision) UnmarshalText(text []byte) (err error) {
	*p, err = parsePrecision(string(text))
	return err
}

func parsePrecision(s string) (Precision, error) {
	for i, name := range precisionNames {
		if s == name {
			return Precision(i), nil
		}
	}
	return FP32, optionErrorf("precision", "%q: want fp32, tf32, fp16, bf16 or auto", s)
}

// storage is how activations of the precision are stored.
func (p Precision) storage() planar.Precision {
	if p == FP16 {
		return planar.FP16
	}
	return planar.FP32
}

// precisionOf is the precision that a job computes in.
func precisionOf(j *exec.Job) Precision {
	switch {
	case j.Precision() == planar.FP16:
		return FP16
	case j.BF16():
		return BF16
	case j.TF32():
		return TF32
	}
	return FP32
}

// offered lists what the session's device can do, most exact first. The device
// must have been probed.
func (s *Session) offered() []Precision {
	switch {
	case s.device.info == nil:
		return []Precision{FP32}
	case s.device.units.Matrix:
		return []Precision{FP32, TF32, FP16}
	}
	if s.device.units.HasPairs() {
		return []Precision{FP32, FP16, BF16}
	}
	return []Precision{FP32, FP16}
}

// refusePrecision says that the device does not offer a precision, and what it
// does offer.
func (s *Session) refusePrecision(p Precision) error {
	var can []string
	for _, o := range s.offered() {
		can = append(can, o.String())
	}
	why := "has no matrix units that multiply tf32"
	if p == BF16 {
		why = "has no products of bfloat16"
	}
	if s.device.info == nil {
		why = "computes in float32 only"
	}
	if s.device.profile == nil { // auto measures on the device itself
		can = append(can, precisionNames[AutoPrecision])
	}
	return optionErrorf("precision", "%s: %s %s: it offers %s", p, s.device.deviceFacts().Name, why, strings.Join(can, ", "))
}

// checkHostPrecision refuses what the host executor does not have.
func (s *Session) checkHostPrecision() error {
	if s.device.info != nil {
		return nil
	}
	if s.set.Precision != FP32 && s.set.Precision != AutoPrecision {
		return s.refusePrecision(s.set.Precision)
	}
	s.choices.chosen = &precisionChoice{precision: FP32}
	return nil
}

// decidePrecision settles which precision the session computes in. Whatever an earlier
// photo had to take for want of memory does not matter to the next.
func (s *Session) decidePrecision(ctx context.Context) error {
	if s.choices.decided == nil {
		if err := s.choosePrecision(ctx); err != nil {
			return err
		}
		s.choices.decided = s.choices.chosen
	}
	s.choices.chosen = s.choices.decided
	return nil
}

func (s *Session) choosePrecision(ctx context.Context) error {
	if s.choices.chosen != nil {
		return nil
	}
	switch p := s.set.Precision; {
	case p == TF32 && !s.device.units.Matrix:
		return s.refusePrecision(p)
	case p == BF16 && !s.device.units.HasPairs():
		return s.refusePrecision(p)
	case p != AutoPrecision:
		s.choices.chosen = &precisionChoice{precision: p}
		return nil
	case s.device.choice.Device == nil || s.device.profile != nil:
		return optionErrorf("precision", "auto measures on the device, and a profile has none: choose one of fp32, tf32, fp16")
	}
	if s.preference()[0] == FP32 {
		s.choices.chosen = &precisionChoice{precision: FP32, why: "what CPUs are fastest in"}
		return nil
	}
	tried, err := s.peers.try(func() ([]precisionTrial, error) { return s.selfCheck(ctx) })
	if err != nil {
		return err
	}
	s.choices.chosen = choosePrecision(tried)
	return nil
}

// preference lists what the device offers, the precision that should be fastest first:
// half of the bytes and matrix units make GPUs faster, while CPUs convert every sample.
func (s *Session) preference() []Precision {
	p := s.offered()
	if s.device.info != nil && s.device.info.Type != clrt.CPU {
		slices.Reverse(p)
	}
	return p
}

// planPrecisely plans within a budget, for AutoPrecision in the one that was chosen or, if
// it does not fit, in the most exact one that fits and is close enough to FP32.
func (s *Session) planPrecisely(ctx context.Context, m *model.Model, h, w int, b Budget) (*exec.Job, error) {
	job, err := exec.Prepare(m, h, w, s.device.info, s.engineOptions(b))
	err = s.explainBudget(s.checkAlgos(job, m, err), m, h, w)
	if s.set.Precision != AutoPrecision || !errors.As(err, new(*BudgetError)) {
		return job, err
	}
	first := s.choices.chosen.precision
	for _, p := range s.offered() {
		if p == first {
			continue
		}
		job, perr := s.prepare(m, h, w, s.optionsIn(p, b))
		if perr != nil {
			continue
		}
		tried, terr := s.peers.try(func() ([]precisionTrial, error) { return s.selfCheck(ctx) })
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case terr == nil && exactEnough(tried, p):
			s.choices.chosen = &precisionChoice{p, tried, fmt.Sprintf("%s does not fit the budget", first)}
			return job, nil
		}
	}
	return nil, err
}

// patchTooLarge says of a budget that is too small for the self-check what is large
// enough for it and for the photo in any precision. Other errors of ready it returns.
func (s *Session) patchTooLarge(err error, m *model.Model, h, w int) error {
	var small *memplan.BudgetError
	if !errors.As(err, &small) || s.choices.chosen != nil {
		return err
	}
	defer func() { s.choices.chosen = nil }()
	least := small.Minimum
	for _, p := range s.offered() {
		s.choices.chosen = &precisionChoice{precision: p}
		n, merr := s.minimum(m, h, w)
		if merr != nil {
			return errors.Join(err, merr)
		}
		least = max(least, n)
	}
	return s.explainBudget(&memplan.BudgetError{Budget: small.Budget, Minimum: least}, m, h, w)
}

// precision is the one decided, or until then the one asked for, FP32 for auto.
func (s *Session) precision() Precision {
	switch {
	case s.choices.chosen != nil:
		return s.choices.chosen.precision
	case s.set.Precision == AutoPrecision:
		return FP32
	}
	return s.set.Precision
}

// precisionWhy says why the precision was taken, "" if it was asked for.
func (s *Session) precisionWhy() string {
	if s.choices.chosen == nil || s.set.Precision != AutoPrecision {
		return ""
	}
	return s.choices.chosen.String()
}
