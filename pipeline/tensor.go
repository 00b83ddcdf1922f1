package pipeline

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/model"
	"enhance/model/onnximport"
	"enhance/pipeline/facts"
)

// Tensor is a bare value of a network: planes of rows, sample (c,y,x) at
// (c·H+y)·W+x.
type Tensor struct {
	model.Shape
	Data []float32
}

// TensorJob runs a network on a bare tensor, without RAW, colour or files.
type TensorJob struct {
	// Input has the network's channels. Sides that the network's poolings cannot
	// divide are padded at the bottom and right by reflection as those of photos
	// are, and the result is cropped.
	Input Tensor
	// Node names the value that is wanted, "" for the network's result. Only what
	// it depends on is run.
	Node string
	// Denoise is as in [Look], for networks that take the noise level.
	Denoise *float64
	// AllowNonFinite returns a result that holds NaN or infinities, to be looked at.
	AllowNonFinite bool
	// DryRun stops before the first allocation on the device.
	DryRun bool

	// Planned and Progress are as in Job.
	Planned  func(*facts.TensorReport)
	Progress func(done, total int64)
}

// RunTensor runs the session's network on a tensor. For errors see [Classify]; a
// result that is not finite is a *NonFiniteError.
func (s *Session) RunTensor(ctx context.Context, j TensorJob) (*Tensor, *facts.TensorReport, error) {
	start := time.Now()
	r, err := s.newTensorRun(ctx, &j)
	if err == nil {
		err = r.decide()
	}
	if err != nil {
		return nil, r.report, withoutPhoto(err, r.network.h, r.network.w)
	}
	r.report.Seconds.Plan = time.Since(start).Seconds()
	if j.Planned != nil {
		j.Planned(r.report)
	}
	if j.DryRun {
		return nil, r.report, nil
	}
	if s.set.PlanOnly {
		return nil, r.report, errPlanOnly
	}
	r.out.Data = make([]float32, r.out.Elems())
	err = r.network.compute(r, exec.PlanesSink{Planes: (*exec.Planes)(r.out)}, func() error { return nil }, nil)
	err = errors.Join(err, r.session.runner.closeEngine())
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if r.port != nil && err == nil {
		r.out.Data = r.port.Tensor(r.out.Data)
	}
	if err == nil {
		r.report.Values = summarise(r.out.Data)
		if r.report.Values.NonFinite > 0 && !j.AllowNonFinite {
			err = r.nonFinite()
		}
	}
	r.report.Seconds.Total = time.Since(start).Seconds()
	if err != nil {
		return nil, r.report, err
	}
	return r.out, r.report, nil
}

func (s *Session) newTensorReport(j *TensorJob) *facts.TensorReport {
	rep := &facts.TensorReport{Node: j.Node, DryRun: j.DryRun, Input: [3]int{j.Input.C, j.Input.H, j.Input.W}}
	rep.Model, rep.Device = s.facts()
	return rep
}

// facts name the session's model and device.
func (s *Session) facts() (facts.Model, facts.Device) {
	m := facts.Model{Name: s.modelName, Arch: s.model.Arch, Ensemble: s.set.ensemble(), Output: s.model.Convention.Output.String()}
	if s.set.Model == Classical {
		m.Arch = "none"
	}
	return m, s.device.deviceFacts()
}

// networkName is how people read the session's network.
func (s *Session) networkName() string {
	m, _ := s.facts()
	return m.String()
}

// tensorRun is one run on a tensor: an exec.Source.
type tensorRun struct {
	session *Session
	network computation
	job     *TensorJob
	report  *facts.TensorReport
	out     *Tensor
	port    *onnximport.Port // that out is, if the order of its samples is another in ONNX
}

// newTensorRun checks the input. Its result has a report even if there is an error.
func (s *Session) newTensorRun(ctx context.Context, j *TensorJob) (*tensorRun, error) {
	r := &tensorRun{session: s, job: j, report: s.newTensorReport(j)}
	if err := s.hasNetwork(); err != nil {
		return r, err
	}
	in, whole := &j.Input, s.model
	if s.imported != nil && in.H > 0 && in.W > 0 {
		net, err := s.imported.At(in.H, in.W)
		if err != nil {
			return r, err
		}
		whole = net.Model
		if j.Node == "" && !net.Output.Planar() {
			r.port = &net.Output
		}
	}
	if share := keeps(j.Denoise); share > 0 {
		var err error
		if whole, err = whole.KeepNoise(share); err != nil {
			return r, optionErrorf("denoise", "model %s: %v", s.modelName, err)
		}
	}
	g, part := whole.Graph, whole
	if in.C != g.Nodes[0].C || in.H < 1 || in.W < 1 {
		return r, optionErrorf("input", "a tensor of shape %d,%d,%d: the network wants %d,H,W", in.C, in.H, in.W, g.Nodes[0].C)
	}
	if int64(len(in.Data)) != in.Elems() {
		return r, optionErrorf("input", "%d samples do not fill the shape %d,%d,%d, which has %d", len(in.Data), in.C, in.H, in.W, in.Elems())
	}
	if j.Node != "" {
		var err error
		if part, err = whole.Until(j.Node); err != nil {
			return r, optionErrorf("dump", "%v", err)
		}
	}
	h, w := whole.Convention.PaddedSides(in.H, in.W)
	r.report.Node = part.Graph.Nodes[part.Graph.Out].Name
	r.network = s.computation(ctx, part, h, w, &r.report.Plan, &r.report.Memory, &r.report.Seconds)
	r.network.progress = j.Progress
	r.network.warn = func(text string) { r.report.Warnings = append(r.report.Warnings, text) }
	return r, nil
}

// decide plans the run.
func (r *tensorRun) decide() error {
	shapes, err := r.network.net.Graph.Shapes(r.network.h, r.network.w)
	if err != nil {
		return err
	}
	in, o := &r.job.Input, shapes[r.network.net.Graph.Out]
	r.out = &Tensor{Shape: model.Shape{C: o.C, H: (in.H*o.H + r.network.h - 1) / r.network.h, W: (in.W*o.W + r.network.w - 1) / r.network.w}}
	r.report.Output = [3]int{r.out.C, r.out.H, r.out.W}
	if err := r.network.makePlan(r.out.H); err != nil || r.network.plan == nil {
		return err
	}
	r.report.Algos = facts.SumAlgos(r.network.plan.Explain())
	return nil
}

// Rows implements exec.Source.
func (r *tensorRun) Rows(int, int) (exec.Rows, error) { return r, nil }

// Row gives the network a padded row of the input.
func (r *tensorRun) Row(y int, planes [][]float32) {
	in := &r.job.Input
	for c, line := range planes {
		src := in.Data[(c*in.H+fuse.Reflect(y, in.H))*in.W:][:in.W]
		for x := copy(line, src); x < len(line); x++ {
			line[x] = src[fuse.Reflect(x, in.W)]
		}
	}
}

// End implements exec.Rows.
func (r *tensorRun) End() error { return nil }

// nonFinite finds the first sample that is not finite.
func (r *tensorRun) nonFinite() error {
	at := slices.IndexFunc(r.out.Data, func(v float32) bool { return v-v != 0 })
	return &NonFiniteError{Row: at / r.out.W % r.out.H, Column: at % r.out.W}
}

func summarise(v []float32) *facts.Values {
	f := &facts.Values{Min: math.Inf(1), Max: math.Inf(-1)}
	n := 0.0
	for _, x := range v {
		if x-x != 0 {
			f.NonFinite++
			continue
		}
		n++
		f.Mean += float64(x)
		f.Min, f.Max = min(f.Min, float64(x)), max(f.Max, float64(x))
	}
	if n == 0 {
		return &facts.Values{NonFinite: f.NonFinite}
	}
	f.Mean /= n
	for _, x := range v {
		if x-x == 0 {
			f.Std += (float64(x) - f.Mean) * (float64(x) - f.Mean)
		}
	}
	f.Std = math.Sqrt(f.Std / n)
	return f
}
