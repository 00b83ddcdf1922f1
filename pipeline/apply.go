package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/imgio"
	"enhance/model"
	"enhance/model/onnximport"
	"enhance/pipeline/facts"
)

// This file runs networks for pictures over a PNG, TIFF or JPEG: denoisers, restorers and upscalers that take and
// make colours or grey. Nothing is cut into tiles; the network sees the whole picture.

// Samples say what a network's samples are: how codes become its input, and its output codes.
type Samples struct {
	BGR    bool    // blue first
	Offset float64 // a code c of 0..1 is Offset + c·Scale
	Scale  float64
}

// SampleNames are the names of Samples, the default first.
var SampleNames = []string{"rgb01", "rgb255", "rgb-11", "bgr01", "bgr255", "bgr-11"}

// UnmarshalText reads one of SampleNames.
func (s *Samples) UnmarshalText(text []byte) (err error) {
	*s, err = parseSamples(string(text))
	return err
}

func parseSamples(name string) (Samples, error) {
	s := Samples{Scale: 1}
	rest, rgb := name, false
	if len(name) > 3 {
		rgb, s.BGR, rest = name[:3] == "rgb", name[:3] == "bgr", name[3:]
	}
	switch {
	case !rgb && !s.BGR:
	case rest == "01":
		return s, nil
	case rest == "255":
		s.Scale = 255
		return s, nil
	case rest == "-11":
		s.Offset, s.Scale = -1, 2
		return s, nil
	}
	return s, optionErrorf("input", "%q: want %s: the order of the colours and the range of the samples", name, strings.Join(SampleNames, ", "))
}

// ApplyJob is a picture for a network.
type ApplyJob struct {
	Input   string
	Output  Output
	Samples Samples
	DryRun  bool

	// Planned and Progress are as in Job.
	Planned  func(*facts.ApplyReport)
	Progress func(done, total int64)
}

// applyRun is one run: an exec.Source of a picture's rows and an exec.Sink of the result's.
type applyRun struct {
	session *Session
	network computation
	job     *ApplyJob
	report  *facts.ApplyReport
	picture *imgio.RGB16
	result  *imgio.RGB16 // whole: the rows of three runs come one component after another
	plane   int          // that a network of one channel works at
	bad     firstSample
}

// firstSample is the first place of a result that is no number.
type firstSample struct {
	mu  sync.Mutex
	err *NonFiniteError
}

func (f *firstSample) at(y, x int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || y < f.err.Row || y == f.err.Row && x < f.err.Column {
		f.err = &NonFiniteError{Row: y, Column: x}
	}
}

// Apply runs the session's network over a picture. For errors see [Classify]; the report is not nil once
// the picture was read.
func (s *Session) Apply(ctx context.Context, j ApplyJob) (*facts.ApplyReport, error) {
	start := time.Now()
	if s.imported == nil {
		return nil, &model.SpecError{Spec: s.modelName, Problem: "apply takes networks for pictures, as ONNX files; this one is for RAW photos: enhance PHOTO"}
	}
	if !j.DryRun || j.Output.Path != "" || j.Output.Writer != nil {
		if err := j.Output.complete(); err != nil {
			return nil, err
		}
		if j.Output.Bits == 32 {
			return nil, optionErrorf("bits", "apply makes pictures of 8 or 16 bits")
		}
		if j.Output.Format == DNG {
			return nil, optionErrorf("format", "a DNG file has a camera's light, which a picture has not: choose png, tiff or jpeg")
		}
		if err := j.Output.check([]string{j.Input, s.modelName}); err != nil {
			return nil, err
		}
	}
	m, err := imgio.ReadRGB16(j.Input)
	if err = PictureError(j.Input, err); err != nil {
		return nil, err
	}
	r := &applyRun{session: s, job: &j, picture: m}
	r.report = &facts.ApplyReport{Input: j.Input, Picture: [2]int{m.Height, m.Width}, DryRun: j.DryRun,
		Output: facts.Output{Path: j.Output.Path, Format: string(j.Output.Format), Bits: j.Output.Bits}}
	r.report.Model, r.report.Device = s.facts()
	err = r.decide(ctx)
	r.report.Seconds.Plan = time.Since(start).Seconds()
	if err == nil && j.Planned != nil {
		j.Planned(r.report)
	}
	switch {
	case err != nil:
		return r.report, withoutPhoto(err, r.network.h, r.network.w)
	case j.DryRun:
		return r.report, nil
	case s.set.PlanOnly:
		return r.report, errPlanOnly
	}
	err = r.do()
	r.report.Seconds.Total = time.Since(start).Seconds()
	return r.report, err
}

// decide finds the sides that the network can divide, and plans the run.
func (r *applyRun) decide(ctx context.Context) error {
	s := r.session
	fit, err := s.imported.fit(r.picture.Height, r.picture.Width)
	if err != nil {
		return err
	}
	in, out := fit.Net.Inputs, fit.Net.Output
	switch {
	case len(in) != 1 || in[0].C != 1 && in[0].C != 3:
		return s.imported.explain(fmt.Errorf("it takes %s: apply gives it a picture, which has 1 or 3 channels; model run takes any", inputsText(in)))
	case out.C != in[0].C && !(in[0].C == 3 && out.C == 1):
		return s.imported.explain(fmt.Errorf("it makes %d channels of %d, which is no picture: classify names classes; model run takes any network", out.C, in[0].C))
	}
	rep := r.report
	rep.Multiple, rep.Runs = fit.Multiple, 1
	if in[0].C == 1 && coloured(r.picture) {
		rep.Runs = 3
	}
	rep.Result = [2]int{fit.rows(r.picture.Height), fit.columns(r.picture.Width)}
	r.network = s.computation(ctx, fit.Net.Model, fit.H, fit.W, &rep.Plan, &rep.Memory, &rep.Seconds)
	r.network.progress = r.job.Progress
	r.network.warn = func(text string) { rep.Warnings = append(rep.Warnings, text) }
	return r.network.makePlan(rep.Result[0])
}

// inputsText counts inputs and their channels.
func inputsText(in []onnximport.Port) string {
	channels := 0
	for _, p := range in {
		channels += p.C
	}
	if len(in) == 1 {
		return fmt.Sprintf("an input with %d channels", channels)
	}
	return fmt.Sprintf("%d inputs with %d channels in all", len(in), channels)
}

// coloured reports whether a pixel has components that differ.
func coloured(m *imgio.RGB16) bool {
	for i := 0; i < len(m.Pix); i += 3 {
		if m.Pix[i] != m.Pix[i+1] || m.Pix[i] != m.Pix[i+2] {
			return true
		}
	}
	return false
}

// do runs the network and writes the picture.
func (r *applyRun) do() error {
	h, w := r.report.Result[0], r.report.Result[1]
	if int64(h)*int64(w) > imgio.MaxPixels {
		return optionErrorf("input", "the result would have %dx%d pixels: at most %d are made", w, h, imgio.MaxPixels)
	}
	r.result = &imgio.RGB16{Width: w, Height: h, Pix: make([]uint16, 3*w*h)}
	var err error
	for r.plane = 0; r.plane < r.report.Runs && err == nil; r.plane++ {
		err = r.network.compute(r, applySink{r}, func() error { return nil }, nil)
	}
	err = errors.Join(err, r.session.runner.closeEngine())
	if r.network.ctx.Err() != nil {
		return r.network.ctx.Err()
	}
	if err == nil && r.bad.err != nil {
		err = r.bad.err
	}
	if err != nil {
		return err
	}
	return r.write()
}

func (r *applyRun) write() error {
	o := &r.job.Output
	t, err := openTarget(r.network.ctx, o, []string{r.job.Input, r.session.modelName})
	if err != nil {
		return err
	}
	r.session.outputs.add(t)
	defer r.session.outputs.drop(t)
	enc, err := newEncoder(t, o, imgio.Header{Width: r.result.Width, Height: r.result.Height, Bits: o.Bits})
	for y := 0; y < r.result.Height && err == nil; y++ {
		err = enc.WriteRow(r.result.Row(y))
	}
	if enc != nil {
		err = errors.Join(err, enc.Close())
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		return errors.Join(err, t.abort())
	}
	return nil
}

// Rows implements exec.Source.
func (r *applyRun) Rows(int, int) (exec.Rows, error) { return r, nil }

// Row gives the network a row of the picture, reflected beyond its edges.
func (r *applyRun) Row(y int, planes [][]float32) {
	m, s := r.picture, r.job.Samples
	row := m.Row(fuse.Reflect(y, m.Height))
	for c, line := range planes {
		k := r.component(c, len(planes))
		for x := range line {
			at := x
			if x >= m.Width {
				at = fuse.Reflect(x, m.Width)
			}
			line[x] = float32(s.Offset + float64(row[3*at+k])*(s.Scale/65535))
		}
	}
}

// component is which of red, green and blue channel c of a network of n is.
func (r *applyRun) component(c, n int) int {
	switch {
	case n == 1:
		return r.plane
	case r.job.Samples.BGR:
		return 2 - c
	}
	return c
}

// End implements exec.Rows.
func (r *applyRun) End() error { return nil }

// applySink takes the network's result.
type applySink struct{ *applyRun }

// Rows implements exec.Sink.
func (s applySink) Rows(int, int) (exec.Rows, error) { return s, nil }

// Row keeps what the crop of the result needs, as codes.
func (s applySink) Row(y int, planes [][]float32) {
	m := s.result
	if y >= m.Height {
		return
	}
	row, rule := m.Row(y), s.job.Samples
	for c, line := range planes {
		k := s.component(c, len(planes))
		for x, v := range line[:m.Width] {
			code := (float64(v) - rule.Offset) / rule.Scale
			if code-code != 0 {
				s.bad.at(y, x)
			}
			n := uint16(65535*min(max(code, 0), 1) + 0.5)
			row[3*x+k] = n
			if len(planes) == 1 && s.report.Runs == 1 {
				row[3*x], row[3*x+1], row[3*x+2] = n, n, n
			}
		}
	}
}
