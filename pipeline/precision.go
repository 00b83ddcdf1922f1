package pipeline

import (
	"context"
	"strings"

	"enhance/internal/exec"
	"enhance/internal/planar"
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
	// AutoPrecision is the fastest of those the device offers whose result on a
	// self-check patch is close enough to FP32's (selfcheck.go).
	AutoPrecision
)

var precisionNames = [...]string{"fp32", "tf32", "fp16", "auto"}

func (p Precision) String() string { return precisionNames[p] }

// UnmarshalText reads "fp32", "tf32", "fp16" or "auto".
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
	return FP32, optionErrorf("precision", "%q: want fp32, tf32, fp16 or auto", s)
}

// Storage is how activations of the precision are stored.
func (p Precision) Storage() planar.Precision {
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
	case j.TF32():
		return TF32
	}
	return FP32
}

// offered lists what the session's device can do, most exact first. The device
// must have been probed.
func (s *Session) offered() []Precision {
	switch {
	case s.info == nil:
		return []Precision{FP32}
	case s.matrix != nil && *s.matrix:
		return []Precision{FP32, TF32, FP16}
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
	if s.info == nil {
		why = "computes in float32 only"
	}
	if s.set.Profile == nil { // auto measures on the device itself
		can = append(can, precisionNames[AutoPrecision])
	}
	return optionErrorf("precision", "%s: %s %s: it offers %s", p, s.deviceFacts().Name, why, strings.Join(can, ", "))
}

// checkHostPrecision refuses what the host executor does not have.
func (s *Session) checkHostPrecision() error {
	if s.info != nil {
		return nil
	}
	if s.set.Precision == TF32 || s.set.Precision == FP16 {
		return s.refusePrecision(s.set.Precision)
	}
	s.chosen = &precisionChoice{precision: FP32}
	return nil
}

// decidePrecision settles which precision the session computes in.
func (s *Session) decidePrecision(ctx context.Context) error {
	if s.chosen != nil {
		return nil
	}
	switch p := s.set.Precision; {
	case p == TF32 && !(s.matrix != nil && *s.matrix):
		return s.refusePrecision(p)
	case p != AutoPrecision:
		s.chosen = &precisionChoice{precision: p}
		return nil
	case s.choice.Device == nil || s.set.Profile != nil:
		return optionErrorf("precision", "auto measures on the device, and a profile has none: choose one of fp32, tf32, fp16")
	}
	c, err := s.peers.choose(func() (*precisionChoice, error) { return s.selfCheck(ctx) })
	if err != nil {
		return err
	}
	s.chosen = c
	return nil
}

// precision is the one decided, or until then the one asked for, FP32 for auto.
func (s *Session) precision() Precision {
	switch {
	case s.chosen != nil:
		return s.chosen.precision
	case s.set.Precision == AutoPrecision:
		return FP32
	}
	return s.set.Precision
}

// precisionWhy says why the precision was taken, "" if it was asked for.
func (s *Session) precisionWhy() string {
	if s.chosen == nil || s.set.Precision != AutoPrecision {
		return ""
	}
	return s.chosen.String()
}
