package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/tensorfile"
	"enhance/internal/tune"
	"enhance/memplan"
	"enhance/model"
)

// The self-check runs the network on a patch in every precision that the device
// offers. The patch is the same for all photos, so that the choice is one of the
// device and the model, and is kept with the device's tuning results: a photo does
// not come out differently because of its neighbours.

const (
	// enoughDecibels is the least PSNR against fp32, for a peak of 1, of a precision
	// that may be taken.
	enoughDecibels = 50
	// clearlyFaster is how much faster a less exact precision must be: less is noise.
	clearlyFaster = 1.1
	// checkRuns is how many runs the best time is taken of, after one that warms up.
	checkRuns = 3
)

// precisionChoice is a precision and what it rests on.
type precisionChoice struct {
	precision Precision
	tried     []precisionTrial // none unless the choice was the program's
}

// precisionTrial is one precision on the patch.
type precisionTrial struct {
	precision Precision
	psnr      float64 // against fp32
	seconds   float64 // of kernels, the least of some runs
}

// choosePrecision takes the fastest of the trials that are exact enough; the first
// is fp32.
func choosePrecision(tried []precisionTrial) *precisionChoice {
	best := tried[0]
	for _, t := range tried[1:] {
		if t.psnr > enoughDecibels && t.seconds*clearlyFaster < best.seconds {
			best = t
		}
	}
	return &precisionChoice{best.precision, tried}
}

// String is "auto: fp16 at 57.1 dB, 3.1 times as fast as fp32 (tf32: 61.0 dB, 2.0)".
func (c *precisionChoice) String() string {
	if len(c.tried) == 0 {
		return fmt.Sprintf("auto: %s is all that the device offers", c.precision)
	}
	base, taken, others := c.tried[0], "", []string{}
	for _, t := range c.tried[1:] {
		text := fmt.Sprintf("at %s dB", decibelText(t.psnr))
		if t.precision == c.precision {
			taken = fmt.Sprintf("auto: %s %s, %.1f times as fast as fp32", t.precision, text, base.seconds/t.seconds)
			continue
		}
		others = append(others, fmt.Sprintf("%s %s, %.1f times", t.precision, text, base.seconds/t.seconds))
	}
	if taken == "" {
		taken = fmt.Sprintf("auto: fp32, nothing clearly faster is above %d dB", enoughDecibels)
	}
	if len(others) > 0 {
		taken += " (" + strings.Join(others, "; ") + ")"
	}
	return taken
}

func decibelText(v float64) string {
	if math.IsInf(v, 1) {
		return "infinite"
	}
	return fmt.Sprintf("%.1f", v)
}

// selfCheck finds the choice among the device's notes, or makes it.
func (s *Session) selfCheck(ctx context.Context) (*precisionChoice, error) {
	offered := s.offered()
	if len(offered) == 1 {
		return &precisionChoice{precision: offered[0]}, nil
	}
	key := "precision " + modelHash(s.model) + " " + s.set.Algo
	store := s.tuningStore()
	if c := s.notedPrecision(store, key); c != nil {
		return c, nil
	}
	// One process checks, the others wait for what it finds. Without a cache
	// everyone checks for himself.
	release, err := store.Lock(ctx, func() { s.tell("waiting for another process that uses the device for the first time") })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		defer release()
		if c := s.notedPrecision(store, key); c != nil {
			return c, nil
		}
	default:
		s.debug(err.Error())
	}
	s.tell("comparing precisions on a patch, once for this device and model")
	tried, err := s.tryPrecisions(ctx, offered)
	if err != nil {
		return nil, err
	}
	c := choosePrecision(tried)
	if release != nil {
		table, _ := store.Load()
		table.Notes[key] = c.note()
		if err := store.Save(table); err != nil {
			s.debug(err.Error())
		}
	}
	return c, nil
}

// notedPrecision is the choice as it was made before, nil if it was not.
func (s *Session) notedPrecision(store tune.Store, key string) *precisionChoice {
	table, dropped := store.Load()
	if dropped != "" {
		s.debug("tuning results are not used: " + dropped)
	}
	c, err := parseNote(table.Notes[key])
	if err != nil && table.Notes[key] != "" {
		s.debug(fmt.Sprintf("tuning results: note %q: %v", key, err))
	}
	return c
}

// note is the trials as text: precision, PSNR and seconds each.
func (c *precisionChoice) note() string {
	var all []string
	for _, t := range c.tried {
		all = append(all, fmt.Sprintf("%s %.4g %.6g", t.precision, t.psnr, t.seconds))
	}
	return strings.Join(all, "; ")
}

// parseNote reads what note wrote.
func parseNote(text string) (*precisionChoice, error) {
	var tried []precisionTrial
	for _, part := range strings.Split(text, "; ") {
		f := strings.Fields(part)
		if len(f) != 3 {
			return nil, fmt.Errorf("%q is not a precision, decibels and seconds", part)
		}
		p, err := parsePrecision(f[0])
		psnr, perr := strconv.ParseFloat(f[1], 64)
		seconds, serr := strconv.ParseFloat(f[2], 64)
		if err = errors.Join(err, perr, serr); err != nil || p == AutoPrecision || !(seconds > 0) || (p == FP32) != (len(tried) == 0) {
			return nil, fmt.Errorf("%q is not a precision, decibels and seconds", part)
		}
		tried = append(tried, precisionTrial{p, psnr, seconds})
	}
	return choosePrecision(tried), nil
}

// tryPrecisions runs the patch in each, fp32 first.
func (s *Session) tryPrecisions(ctx context.Context, offered []Precision) ([]precisionTrial, error) {
	var want []float32
	var tried []precisionTrial
	for i, p := range offered {
		got, seconds, err := s.tryPrecision(ctx, p)
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
		tried = append(tried, precisionTrial{p, psnr, seconds})
		if s.set.Tuning != nil {
			s.set.Tuning(i+1, len(offered))
		}
	}
	return tried, nil
}

// tryPrecision runs the patch in one precision, with the algorithms that a photo
// would have, within the budget. The time is that of the kernels by the device's
// clock: what the host does beside them is the same in all precisions.
func (s *Session) tryPrecision(ctx context.Context, p Precision) (out []float32, seconds float64, err error) {
	if err := s.closeEngine(); err != nil {
		return nil, 0, err
	}
	clock := exec.NewProfile("self-check", nil, 0, nil)
	job, h, w, err := s.planPatch(p, clock)
	if err != nil {
		return nil, 0, err
	}
	if err := s.openContext(); err != nil {
		return nil, 0, err
	}
	e, err := job.Open(s.cl)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	shape := job.Program.Tensors[job.Program.Output].Shape
	patch := &Tensor{model.Shape{C: s.model.Graph.Nodes[0].C, H: h, W: w}, patchSamples(s.model.Graph.Nodes[0].C, h, w)}
	t := &Tensor{Shape: shape, Data: make([]float32, shape.Elems())}
	before := 0.0
	for i := range 1 + checkRuns {
		if err := e.Run(ctx, tensorSource{patch}, tensorSink{t}, nil); err != nil {
			return nil, 0, err
		}
		total := clock.Report(nil).Kernels
		if took := total - before; i > 0 && (seconds == 0 || took < seconds) {
			seconds = took
		}
		before = total
	}
	return t.Data, seconds, nil
}

// planPatch plans for the patch: a sixteenth of 12 MP on GPUs and a hundredth on
// CPUs, or as much of it as the budget allows.
func (s *Session) planPatch(p Precision, clock *exec.Profile) (job *exec.Job, h, w int, err error) {
	h, w = 736, 992
	if s.info.Type == clrt.CPU {
		h, w = 192, 256
	}
	opt := s.engineOptions(s.allowed())
	opt.Precision, opt.TF32, opt.Profiler = p.Storage(), p == TF32, clock
	for {
		ph, pw := s.model.Convention.PaddedSides(h, w)
		job, err = exec.Prepare(s.model, ph, pw, s.info, opt)
		var small *memplan.BudgetError
		if !errors.As(err, &small) || h <= 64 {
			return job, ph, pw, err
		}
		h, w = h/2, w/2
	}
}

// tensorSource is an exec.Source of a tensor.
type tensorSource struct{ *Tensor }

func (s tensorSource) Rows(int, int) (exec.Rows, error) { return s, nil }

func (s tensorSource) Row(y int, planes [][]float32) {
	for c, line := range planes {
		copy(line, s.Data[(c*s.H+y)*s.W:][:s.W])
	}
}

func (s tensorSource) End() error { return nil }

// patchSamples is a scene of planes in 0..1: a ramp from black to white with
// blocks, thin lines and noise on it; planes after the fourth are those of a
// network that is told how much noise there is.
func patchSamples(c, h, w int) []float32 {
	noise := model.FormulaTensor("self-check", "noise", c*h*w)
	gains := [4]float32{0.9, 1, 0.6, 1}
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

// modelHash names a model's graph and parameters, 16 hexadecimal digits.
func modelHash(m *model.Model) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\n", m.Arch, m.Graph.Out)
	for i := range m.Graph.Nodes {
		fmt.Fprintf(h, "%+v\n", m.Graph.Nodes[i])
	}
	names := slices.Sorted(maps.Keys(m.Params))
	sums := make([][sha256.Size]byte, len(names))
	var wg sync.WaitGroup
	for i, name := range names { // a large network has 190 MB of them
		wg.Go(func() { sums[i] = paramHash(name, m.Params[name]) })
	}
	wg.Wait()
	for _, sum := range sums {
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func paramHash(name string, p *model.Tensor) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s %v\n", name, p.Shape)
	buf := make([]byte, 0, 1<<12)
	for part := range slices.Chunk(p.Data, cap(buf)/4) {
		buf = buf[:0]
		for _, v := range part {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
