package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"enhance/internal/exec"
	"enhance/internal/tensorfile"
	"enhance/internal/tune"
	"enhance/model"
	"enhance/raw/mosaic"
)

// The self-check runs the network on a patch in every precision that the device
// offers. The patch is the same for all photos, devices and budgets, so that what it finds
// is a fact of the device and the model; it is kept with the device's tuning results.

// enoughDecibels is the least PSNR against fp32, for a peak of 1, of a precision
// that may be taken.
const enoughDecibels = 50

// The patch's sides in packed samples: narrow, as a plan's least memory grows with the
// width, so that a budget for a photo is enough for it.
const patchH, patchW = 384, 128

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

// selfCheck finds the trials among the device's notes, or makes them.
func (s *Session) selfCheck(ctx context.Context) ([]precisionTrial, error) {
	key := "exactness " + s.model.Hash() + " " + s.set.Algo
	store := s.device.tuningStore()
	if tried := s.notedTrials(store, key); tried != nil {
		return tried, nil
	}
	// One process checks, the others wait for what it finds. Without a cache
	// everyone checks for himself.
	release, err := store.Lock(ctx, func() { s.set.tell("waiting for another process that uses the device for the first time") })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		defer release()
		if tried := s.notedTrials(store, key); tried != nil {
			return tried, nil
		}
	default:
		s.set.debug(err.Error())
	}
	s.set.tell("comparing precisions on a patch, once for this device and model")
	tried, err := s.tryPrecisions(ctx)
	if err != nil {
		return nil, err
	}
	if release != nil {
		table, _ := store.Load()
		table.Notes[key] = trialsNote(tried)
		if err := store.Save(table); err != nil {
			s.set.debug(err.Error())
		}
	}
	return tried, nil
}

// notedTrials are those made before, nil if there are none, or not of all that the device offers.
func (s *Session) notedTrials(store tune.Store, key string) []precisionTrial {
	table, dropped := store.Load()
	if dropped != "" {
		s.set.debug("tuning results are not used: " + dropped)
	}
	tried, err := parseTrials(table.Notes[key])
	if err != nil && table.Notes[key] != "" {
		s.set.debug(fmt.Sprintf("tuning results: note %q: %v", key, err))
	}
	if len(tried) != len(s.offered()) {
		return nil
	}
	return tried
}

// trialsNote is the trials as text: precision and PSNR each.
func trialsNote(tried []precisionTrial) string {
	var all []string
	for _, t := range tried {
		all = append(all, fmt.Sprintf("%s %.4g", t.precision, t.psnr))
	}
	return strings.Join(all, "; ")
}

// parseTrials reads what trialsNote wrote.
func parseTrials(text string) (tried []precisionTrial, err error) {
	for _, part := range strings.Split(text, "; ") {
		f := strings.Fields(part)
		if len(f) != 2 {
			return nil, fmt.Errorf("%q is not a precision and decibels", part)
		}
		p, err := parsePrecision(f[0])
		psnr, perr := strconv.ParseFloat(f[1], 64)
		// Precisions come in their order, each once, fp32 first.
		if err = errors.Join(err, perr); err != nil || p == AutoPrecision || (p == FP32) != (len(tried) == 0) ||
			len(tried) > 0 && p <= tried[len(tried)-1].precision {
			return nil, fmt.Errorf("%q is not a precision and decibels", part)
		}
		tried = append(tried, precisionTrial{p, psnr})
	}
	return tried, nil
}

// tryPrecisions runs the patch in each that the device offers, fp32 first.
func (s *Session) tryPrecisions(ctx context.Context) ([]precisionTrial, error) {
	var want []float32
	var tried []precisionTrial
	offered := s.offered()
	for i, p := range offered {
		got, err := s.tryPrecision(ctx, p)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			want = got
		}
		_, psnr, err := tensorfile.Compare(got, want)
		if err != nil {
			return nil, err
		}
		tried = append(tried, precisionTrial{p, psnr})
		if s.set.Tuning != nil {
			s.set.Tuning(i+1, len(offered))
		}
	}
	return tried, nil
}

// tryPrecision runs the patch in one precision, with the algorithms that a photo
// would have, within the budget.
func (s *Session) tryPrecision(ctx context.Context, p Precision) (out []float32, err error) {
	if err := s.runner.closeEngine(); err != nil {
		return nil, err
	}
	h, w := s.model.Convention.PaddedSides(patchH, patchW)
	opt := s.optionsIn(p, s.allowed())
	opt.Profiler, opt.Samples, opt.Picture = nil, false, nil
	job, err := exec.Prepare(s.model, h, w, s.device.info, opt)
	if err != nil {
		return nil, err
	}
	if err := s.device.openContext(); err != nil {
		return nil, err
	}
	e, err := job.Open(s.device.cl)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	shape, planes := job.Program.Tensors[job.Program.Output].Shape, s.model.Graph.Nodes[0].C
	patch := &exec.Planes{Shape: model.Shape{C: planes, H: h, W: w}, Data: s.patchSamples(planes, h, w)}
	t := &exec.Planes{Shape: shape, Data: make([]float32, shape.Elems())}
	return t.Data, e.Run(ctx, exec.PlanesSource{Planes: patch}, exec.PlanesSink{Planes: t}, nil)
}

// patchSamples is a scene of planes in 0..1: a ramp from black to white with
// blocks, thin lines and noise on it; planes after the fourth are those of a
// network that is told how much noise there is.
func (s *Session) patchSamples(c, h, w int) []float32 {
	if s.model.Convention.Samples == model.SamplesMasked {
		return maskedPatch(c, h, w)
	}
	return patchOf(c, h, w, [4]float32{0.9, 1, 0.6, 1})
}

// maskedPatch is the scene behind X-Trans filters, for masked planes.
func maskedPatch(c, h, w int) []float32 {
	v := make([]float32, 0, c*h*w)
	for k := range c {
		plane := patchOf(1, h, w, [4]float32{[3]float32{0.9, 1, 0.6}[k/4%3]})
		for i := range plane {
			there := int(mosaic.XTrans.At(2*(i/w)+k/2%2, 2*(i%w)+k%2)) == k/4%3
			switch {
			case k >= 3*4 && there:
				plane[i] = 0.02
			case k >= 3*4:
				plane[i] = model.NoNoise
			case !there:
				plane[i] = 0
			}
		}
		v = append(v, plane...)
	}
	return v
}

// patchOf is the scene with gains of its first four planes.
func patchOf(c, h, w int, gains [4]float32) []float32 {
	noise := model.FormulaTensor("self-check", "noise", c*h*w)
	v := make([]float32, c*h*w)
	for i := range v {
		ch, y, x := i/(h*w), i/w%h, i%w
		if ch >= len(gains) {
			v[i] = 0.02
			continue
		}
		light := float32(x+y) / float32(h+w)
		light *= light
		if (x/24+y/24)%2 == 0 {
			light = 0.8*light + 0.05*float32((x/24*7+y/24*3)%5)
		}
		if (x+2*y)%29 == 0 {
			light = 1 - light
		}
		v[i] = min(max(gains[ch]*light+0.03*(noise[i]-0.5), 0), 1)
	}
	return v
}
