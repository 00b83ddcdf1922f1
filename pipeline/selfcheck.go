package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"enhance/internal/findings"
)

// The self-check runs the network on a patch in every precision that the device offers (see
// findings.Device.Exactness).

// enoughDecibels is the least PSNR against fp32, for a peak of 1, of a precision
// that may be taken.
const enoughDecibels = 50

// precisionChoice is a precision and what it rests on.
type precisionChoice struct {
	precision Precision
	tried     []precisionTrial // none unless the patch decided
	why       string           // what else decided, if anything did
}

// precisionTrial is one precision on the patch.
type precisionTrial struct {
	precision Precision
	psnr      float64 // against fp32
}

// choosePrecision takes the last of the trials that is exact enough; the first is fp32.
func choosePrecision(tried []precisionTrial) *precisionChoice {
	best := FP32
	for _, t := range tried[1:] {
		if t.psnr > enoughDecibels {
			best = t.precision
		}
	}
	return &precisionChoice{precision: best, tried: tried}
}

// exactEnough reports whether a precision came close to fp32 on the patch.
func exactEnough(tried []precisionTrial, p Precision) bool {
	return slices.ContainsFunc(tried, func(t precisionTrial) bool { return t.precision == p && t.psnr > enoughDecibels })
}

// String is "auto: fp16 at 57.1 dB (tf32 at 61.0 dB)".
func (c *precisionChoice) String() string {
	s, others := fmt.Sprintf("auto: %s", c.precision), []string{}
	for i, t := range c.tried {
		text := fmt.Sprintf("at %s dB", decibelText(t.psnr))
		switch {
		case i == 0:
		case t.precision == c.precision:
			s += " " + text
		default:
			others = append(others, fmt.Sprintf("%s %s", t.precision, text))
		}
	}
	switch {
	case c.why != "":
		s += ", " + c.why
	case c.precision == FP32:
		s += fmt.Sprintf(", nothing less exact is above %d dB", enoughDecibels)
	}
	if len(others) > 0 {
		s += " (" + strings.Join(others, "; ") + ")"
	}
	return s
}

func decibelText(v float64) string {
	if math.IsInf(v, 1) {
		return "infinite"
	}
	return fmt.Sprintf("%.1f", v)
}

// selfCheck are the trials of what the device offers.
func (s *Session) selfCheck(ctx context.Context) ([]precisionTrial, error) {
	offered := s.offered()
	names := make([]string, len(offered))
	for i, p := range offered {
		names[i] = p.String()
	}
	psnrs, err := s.device.findings().Exactness(ctx, s.model.Hash()+" "+s.set.Algo, names, func(i int) ([]float32, error) { return s.tryPrecision(ctx, offered[i]) })
	if err != nil {
		return nil, err
	}
	tried := make([]precisionTrial, len(offered))
	for i, p := range offered {
		tried[i] = precisionTrial{p, psnrs[i]}
	}
	return tried, nil
}

// tryPrecision runs the patch in one precision, with the algorithms that a photo
// would have, within the budget.
func (s *Session) tryPrecision(ctx context.Context, p Precision) ([]float32, error) {
	if err := s.runner.closeEngine(); err != nil {
		return nil, err
	}
	job, err := findings.PatchJob(s.model, s.device.info, s.optionsIn(p, s.allowed()))
	if err != nil {
		return nil, err
	}
	if err := s.device.openContext(); err != nil {
		return nil, err
	}
	return findings.RunPatch(ctx, s.device.cl, job)
}
