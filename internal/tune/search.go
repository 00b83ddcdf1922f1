package tune

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"time"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/pipeline/facts"
)

const (
	// finalRounds are the runs of the final, beside those before it.
	finalRounds = 5
	// hysteresis is what a candidate's score and its speed must be of the default's to
	// replace it: less is noise, and another algorithm means other bytes.
	hysteresis = 1.03
	// memoryPrice is what remains of the score of a candidate that asks for more
	// scratch memory or larger granules of rows than the default: both raise the
	// smallest budget of a photo.
	memoryPrice = 0.9
	// finalists are the best of those whose score is this share of the best one's.
	closeEnough = 0.85
	finalists   = 3
)

// Task is one convolution to decide.
type Task struct {
	Key        string
	Precision  string // as Key has it
	Shape      conv.Shape
	Candidates []conv.Algo // the default first
}

// Result is what came of one candidate.
type Result struct {
	facts.Candidate

	price  float64
	ratios []float64         // of the default's time, run by run
	sum    [sha256.Size]byte // of the samples that were compared
	like   *Result           // what those must be the same as; nil: nothing
}

// Outcome is what came of a task.
type Outcome struct {
	Task    *Task
	Key     string
	Shape   string // C,H,W,k,K
	Choice  facts.Choice
	Rows    int // of the plane that were computed
	Results []Result
	Problem string // why nothing could be measured
}

// Facts are the outcome for a report.
func (o *Outcome) Facts() facts.Convolution {
	f := facts.Convolution{Name: o.Name(), Key: o.Key, Shape: o.Shape, Choice: o.Choice, Rows: o.Rows, Problem: o.Problem}
	for i := range o.Results {
		f.Results = append(f.Results, o.Results[i].Candidate)
	}
	return f
}

// Name says which convolution the outcome is about: channels, rows and columns of its
// input, kernel and outputs, and what follows in the same kernel.
func (o *Outcome) Name() string {
	if o.Task != nil {
		switch o.Task.Shape.Act {
		case fuse.LeakyReLU:
			return o.Shape + " leaky"
		case fuse.Sigmoid:
			return o.Shape + " sigmoid"
		}
	}
	return o.Shape
}

// Options of a search.
type Options struct {
	// Until, if set, is when to stop: what was not measured then keeps its default.
	Until time.Time
	// Groups is how many other shapes of work-groups may be tried for each task.
	Groups int
	// Done, if set, is told of each outcome.
	Done func(o *Outcome)
}

func (o *Options) late() bool { return !o.Until.IsZero() && time.Now().After(o.Until) }

// Score weighs a candidate's speed with its error beside the plain definition:
// the speed counts in full where nothing is lost, half at what the precision
// allows for the shape, and nothing beyond twice that.
func Score(seconds, relError float64, precision string, s conv.Shape) float64 {
	half, _ := tolerance(precision, s)
	if !(seconds > 0) || !(relError <= 2*half) {
		return 0
	}
	e := relError / half
	return 1 / (1 + e*e) / seconds
}

// Run decides all tasks, in order. It always returns an outcome for each; the
// error is that of the context or of the device. The meter must be of the tasks'
// storage.
//
// Compiling takes most of the time: half a second for a large kernel with NVIDIA's
// compiler. So the defaults, which a run needs in any case, are compiled first, and
// candidates only as long as there is time for more at the pace of the defaults.
func (m *Meter) Run(ctx context.Context, tasks []Task, o Options) ([]Outcome, error) {
	all := unmeasured(tasks)
	m.compileDefaults(ctx, tasks, &o)
	m.compileAhead(tasks, &o)
	for i := range all {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		if err := m.decide(ctx, &all[i], &o); err != nil {
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			all[i].Problem = err.Error()
		}
		if o.Done != nil {
			o.Done(&all[i])
		}
	}
	return all, nil
}

// unmeasured are the tasks' outcomes before anything is measured.
func unmeasured(tasks []Task) []Outcome {
	all := make([]Outcome, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		d := t.Candidates[0].Name()
		all[i] = Outcome{Task: t, Key: t.Key, Shape: t.Shape.String(), Choice: facts.Choice{Algo: d, Default: d}}
	}
	return all
}

// sourceOf is the program of an algorithm for a task, "" if it is refused.
func (m *Meter) sourceOf(t *Task, a conv.Algo) string {
	impl, err := a.New(m.caps, t.Shape, m.precision)
	if err != nil {
		return ""
	}
	return m.source(impl)
}

// compileDefaults compiles every task's default and notes the pace.
func (m *Meter) compileDefaults(ctx context.Context, tasks []Task, o *Options) {
	start := time.Now()
	var sources []string
	for i := range tasks {
		if o.late() {
			return
		}
		if src := m.sourceOf(&tasks[i], tasks[i].Candidates[0]); src != "" && !m.builder.known(src) {
			m.builder.want(src)
			sources = append(sources, src)
		}
	}
	for _, src := range sources {
		if ctx.Err() != nil {
			return
		}
		m.builder.get(src) // an error comes again when it is used
	}
	if n := len(sources); n > 0 {
		m.pace = time.Since(start) / time.Duration(n)
	}
}

// aheadShare is the share of the time left in which programs of tasks to come are
// asked for: what follows has to be measured, too.
const aheadShare = 0.7

// compileAhead asks for the candidates of all tasks, in their order and as far as
// there is time, so that those of later tasks are compiled while earlier ones are
// measured. On a CPU that would take the measurements' cores.
func (m *Meter) compileAhead(tasks []Task, o *Options) {
	if m.caps.CPU {
		return
	}
	most := math.MaxInt
	if !o.Until.IsZero() {
		if m.pace <= 0 {
			return
		}
		most = int(aheadShare * float64(time.Until(o.Until)) / float64(m.pace))
	}
	for i := range tasks {
		for _, a := range append([]conv.Algo{plain(m.caps)}, tasks[i].Candidates...) {
			src := m.sourceOf(&tasks[i], a)
			if src == "" || m.builder.known(src) {
				continue
			}
			if most--; most < 0 {
				return
			}
			m.builder.want(src)
		}
	}
}

// affordable compiles as many of a task's candidates as there is time for, side by
// side, and reports which can be measured. Beside the default there must be
// one, and the algorithm that they are held against.
func (m *Meter) affordable(t *Task, o *Options) map[string]bool {
	budget := len(t.Candidates) + 1
	if !o.Until.IsZero() {
		left := time.Until(o.Until)
		if left <= 0 {
			return nil
		}
		if m.pace > 0 {
			budget = min(budget, int(left/m.pace))
		}
	}
	can, fresh := map[string]bool{}, 0
	for _, a := range append([]conv.Algo{plain(m.caps)}, t.Candidates...) {
		src := m.sourceOf(t, a)
		if src == "" || can[src] {
			continue
		}
		if !m.builder.known(src) {
			if fresh == budget {
				continue
			}
			fresh++
			m.builder.want(src)
		}
		can[src] = true
	}
	start := time.Now()
	for src := range can {
		if !m.builder.within(src, o.Until) {
			delete(can, src)
		}
	}
	if fresh > 0 { // the defaults may have been in the cache: those were no measure
		m.pace = max(m.pace, time.Since(start)/time.Duration(fresh))
	}
	return can
}

var errNoTime = errors.New("there was no time to compile it")

// decide measures a task's candidates and chooses.
func (m *Meter) decide(ctx context.Context, out *Outcome, o *Options) error {
	can := m.affordable(out.Task, o)
	reached := 0
	for _, a := range out.Task.Candidates {
		if can[m.sourceOf(out.Task, a)] {
			reached++
		}
	}
	if !can[m.sourceOf(out.Task, plain(m.caps))] || reached < 2 && !o.Until.IsZero() {
		return errNoTime
	}
	p, err := m.newProblem(out.Task.Shape)
	defer p.close()
	if err != nil {
		return err
	}
	out.Rows = p.rows
	d := &duel{problem: p, task: out.Task}
	defer d.close()
	for i, a := range out.Task.Candidates {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := Result{Candidate: facts.Candidate{Algo: a.Name()}, price: 1}
		impl, err := a.New(m.caps, out.Task.Shape, m.precision)
		if err == nil && !can[m.source(impl)] {
			err = errNoTime
		}
		if err == nil {
			err = d.enter(&r, impl, i == 0)
		}
		if err != nil {
			r.Problem = err.Error()
		}
		out.Results = append(out.Results, r)
	}
	if err := d.searchGroups(ctx, out, o); err != nil {
		return err
	}
	d.final(out.Results, o)
	out.choose(p.flops())
	return nil
}

// price is what a candidate's score is multiplied by for the memory it asks for.
func price(impl, base conv.Impl, rows int) float64 {
	if base != nil && (impl.Granule() > base.Granule() || impl.Scratch(rows) > base.Scratch(rows)) {
		return memoryPrice
	}
	return 1
}

// flops is the work of the rows that are computed.
func (p *problem) flops() float64 {
	return p.shape.FLOPs() / float64(p.shape.H) * float64(p.rows)
}

// choose takes the best score among what is clearly faster than the default, and the default if
// none is clearly better. Scores alone would slow a photo down for errors that the
// default is allowed to have.
func (out *Outcome) choose(flops float64) {
	c := &out.Choice
	best, base := &out.Results[0], &out.Results[0]
	for i := range out.Results {
		r := &out.Results[i]
		if r.Problem != "" {
			continue
		}
		c.Tried++
		faster := base.Score == 0 || r.Seconds*hysteresis < base.Seconds
		if faster && r.Score > best.Score && r.Score > base.Score*hysteresis {
			best = r
		}
	}
	c.Before = base.Seconds
	if best.Score > 0 {
		c.Algo, c.Seconds, c.GFLOPs, c.Error = best.Algo, best.Seconds, flops/best.Seconds/1e9, best.Error
	}
}
