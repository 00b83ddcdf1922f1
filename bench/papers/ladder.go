package papers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"text/tabwriter"

	"enhance/bench"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/winograd"
)

// LadderModel is the network of the paper's experiment, with weights by formula: what a
// run takes does not depend on them.
const LadderModel = "pynet-random:ladder"

// The paper's photo, in samples of the mosaic.
const ladderRows, ladderColumns = 2880, 3968

// rung is a step of the ladder: a whole network with its convolutions done in one way.
type rung struct {
	name, what string
	algo       func(s conv.Shape) conv.Algo // nil: what runs choose by themselves
	precision  planar.Precision
	least      bool // within the smallest budget that works
}

// rungs are the paper's five steps on its GPU, with this project's kernels of the same
// kinds, and what this project adds. On a CPU Winograd's tiles stay in the cache from
// the input to the output: its scratch memory is not to be split, nor its kernels fused.
func rungs(cpu bool) []rung {
	all := func(a conv.Algo) func(conv.Shape) conv.Algo {
		return func(conv.Shape) conv.Algo { return a }
	}
	paper := []rung{
		{name: "naive", what: "direct-naive", algo: all(conv.Simple{})},
		{name: "implicit GEMM", what: "implicit-gemm", algo: all(conv.ImplicitGEMM{})},
		{name: "Winograd", what: "3x3 by F(4,3), 5x5 by F(4,5), scratch whole; rest implicit-gemm", algo: paperWinograd(winograd.Tiled, math.MaxInt64)},
		{name: "split", what: "the same, scratch in pieces of 32 MiB", algo: paperWinograd(winograd.Tiled, 0)},
		{name: "fused", what: "the same, F(4,3) in one kernel", algo: paperWinograd(winograd.Fused, 0)},
	}
	if cpu {
		paper = append(paper[:2], rung{name: "Winograd", what: "3x3 by F(4,3), 5x5 by F(4,5), tiles in the cache; rest implicit-gemm", algo: paperWinograd(winograd.Strips, 0)})
	}
	return append(paper, []rung{
		{name: "automatic", what: "as runs choose"},
		{name: "fp16", what: "as runs choose, fp16 storage", precision: planar.FP16},
		{name: "least memory", what: "the same, within the smallest budget", precision: planar.FP16, least: true},
	}...)
}

// paperWinograd is the paper's division of labour: 3×3 in a form, 5×5 in the same or, if
// that is fused, with V and M in memory, larger kernels by implicit GEMM.
func paperWinograd(form winograd.Form, limit int64) func(s conv.Shape) conv.Algo {
	return func(s conv.Shape) conv.Algo {
		w := winograd.Convolution{Variant: winograd.V4x3, Form: form, Cap: limit}
		switch {
		case s.K == 3:
			return w
		case s.K == 5 && form == winograd.Fused:
			w.Form = winograd.Tiled
			fallthrough
		case s.K == 5:
			w.Variant = winograd.V4x5
			return w
		}
		return conv.ImplicitGEMM{}
	}
}

// Ladder is a whole network step by step, as asked for.
type Ladder struct {
	Model  string // LadderModel if empty
	Scale  int    // the photo's sides are divided by it
	Repeat int
	Done   func(*LadderStep) // if set, told of every step
}

// LadderStep is a step as measured.
type LadderStep struct {
	Name    string `json:"name"`
	What    string `json:"what"`
	Refused string `json:"refused,omitempty"` // why nothing was measured
	// Net is the network's report, nil if refused.
	Net *facts.Timing `json:"net,omitempty"`
}

// LadderReport is all steps.
type LadderReport struct {
	Model  string           `json:"model"`
	Scale  int              `json:"scale"`
	Rows   int              `json:"rows"` // of the mosaic
	Cols   int              `json:"columns"`
	Device *clrt.DeviceInfo `json:"device"`
	Steps  []LadderStep     `json:"steps"`
}

// Run measures all steps on a device. A step that the device cannot do says why.
func (l Ladder) Run(ctx context.Context, dev *clrt.Device) (*LadderReport, error) {
	if l.Model == "" {
		l.Model = LadderModel
	}
	m, err := model.Load(l.Model)
	if err != nil {
		return nil, err
	}
	caps, err := bench.Caps(dev)
	if err != nil {
		return nil, err
	}
	peaks, err := bench.Units(dev, false, false)
	if err != nil {
		return nil, err
	}
	r := &LadderReport{Model: l.Model, Scale: l.Scale, Device: dev.Info(), Rows: (ladderRows + l.Scale - 1) / l.Scale, Cols: (ladderColumns + l.Scale - 1) / l.Scale}
	h, w := m.Convention.PaddedSides((r.Rows+1)/2, (r.Cols+1)/2)
	for _, g := range rungs(caps.CPU) {
		s := LadderStep{Name: g.name, What: g.what}
		if s.Net, err = l.step(ctx, dev, caps, m, h, w, g, peaks.FMA); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.Net, s.Refused = nil, err.Error()
		}
		r.Steps = append(r.Steps, s)
		if l.Done != nil {
			l.Done(&s)
		}
	}
	return r, nil
}

func (l Ladder) step(ctx context.Context, dev *clrt.Device, caps conv.Caps, m *model.Model, h, w int, g rung, peak float64) (*facts.Timing, error) {
	opt := exec.Options{Precision: g.precision, Units: caps.Units, Budget: deviceBudget(dev.Info())}
	if g.algo != nil {
		opt.Algo = func(_ string, s conv.Shape) conv.Algo { return g.algo(s) }
	}
	if g.least {
		least, err := exec.Minimum(m, h, w, dev.Info(), opt)
		if err != nil {
			return nil, err
		}
		opt.Budget = memplan.Limit(least)
	}
	own := *m // the engine takes the parameters out of its model
	own.Params = maps.Clone(m.Params)
	for name, t := range own.Params {
		copied := *t
		own.Params[name] = &copied
	}
	t, err := exec.Time(ctx, dev, &own, l.Model, h, w, opt, l.Repeat)
	if err == nil {
		t.Against(peak)
	}
	return t, err
}

// deviceBudget is what a step may take: nearly all of a GPU's memory, half of what a CPU
// shares with all else.
func deviceBudget(i *clrt.DeviceInfo) memplan.Budget {
	if i.Type == clrt.CPU {
		return memplan.Limit(i.GlobalMem / 2)
	}
	return memplan.Limit(i.GlobalMem / 10 * 9)
}

// WriteText writes a line for each step.
func (r *LadderReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, mosaic of %dx%d (12 MP with sides 1/%d), on %s\n\n", r.Model, r.Rows, r.Cols, r.Scale, r.Device.Name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tseconds\tfaster than the step before\tthan the first\tdevice memory\thow convolutions are done")
	first, before := 0.0, 0.0
	for _, s := range r.Steps {
		if s.Net == nil {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t%s\n", s.Name, s.Refused)
			continue
		}
		if first == 0 {
			first = s.Net.Seconds
		}
		fmt.Fprintf(t, "%s\t%.4f\t%s\t%.2f\t%s\t%s\n", s.Name, s.Net.Seconds, faster(before, s.Net.Seconds), first/s.Net.Seconds, bench.FormatBytes(s.Net.PeakBytes), s.What)
		before = s.Net.Seconds
	}
	return t.Flush()
}

func faster(before, now float64) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", before/now)
}
