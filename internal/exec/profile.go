package exec

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"enhance/clrt"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/trace"
	"enhance/pipeline/facts"
)

// Profile gathers what runs on one device take: every launch and transfer by the
// device's own clock, without a wait between them. It keeps sums by step, kernel
// and queue, whose number the network bounds, and hands single commands to a
// timeline. A nil Profile gathers nothing and costs nothing.
//
// The bytes of the result do not depend on it. One engine is profiled at a time,
// whose runs may overlap; those of several, of pictures of several sizes for
// example, add up.
type Profile struct {
	device   string
	stages   *trace.Stages
	life     sync.Mutex // held while a run begins or ends
	mu       sync.Mutex // of all that follows
	paused   bool
	active   activeRuns
	sums     profileSums
	timeline timeline
}

// activeRuns are those under way, all of one engine.
type activeRuns struct {
	job     *Job
	users   int // their number
	watched [queueCount]*watchedQueue
	from    time.Time
}

// profileSums are over all runs.
type profileSums struct {
	runs     int
	planned  int // launches, by the plans of the runs
	commands int // that the queues took
	wall     time.Duration
	edges    time.Duration
	steps    map[string]*stepSums
	order    []string
	queues   [queueCount]queueSums
}

// timeline is where commands are drawn.
type timeline struct {
	tr      *trace.Writer // nil: nowhere
	process int
	named   bool
	zero    time.Time // host time of the device clock's 0, once known
	related bool
	early   []timedCommand // commands from before the clocks were related
}

// Queues of an engine by number; on a device that shares the host's memory all
// is in the first.
const (
	computeQueue = iota
	uploadQueue
	downloadQueue
	queueCount
)

var queueNames = [queueCount]string{"compute", "upload", "download"}

// watchedQueue follows one queue through one run.
type watchedQueue struct {
	watch       *clrt.Watch
	first, last uint64 // device ns: first start, last end
}

type timedCommand struct {
	queue int
	clrt.Command
}

// NewProfile makes a profile of a device for runs whose Options name it. Commands
// go to tr (nil: nowhere) as a process of that number, what the host does to
// stages (nil: nowhere).
func NewProfile(device string, tr *trace.Writer, process int, stages *trace.Stages) *Profile {
	return &Profile{device: device, stages: stages, timeline: timeline{tr: tr, process: process}, sums: profileSums{steps: map[string]*stepSums{}}}
}

// Stages are the host's; nil of a nil Profile.
func (p *Profile) Stages() *trace.Stages {
	if p == nil {
		return nil
	}
	return p.stages
}

// Pause makes the runs that begin from now on go by unprofiled, warm-up runs for
// example, or ends that.
func (p *Profile) Pause(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = on
}

// begin begins a run and watches the queues of its engine. The run must be ended.
func (p *Profile) begin(e *Engine) (end func() error, err error) {
	nothing := func() error { return nil }
	if p == nil {
		return nothing, nil
	}
	p.life.Lock()
	defer p.life.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.paused:
		return nothing, nil
	case p.active.job == nil:
		err = p.watch(e)
	case p.active.job != e.Job:
		err = errors.New("exec: a profile takes the runs of one engine at a time")
	}
	if err != nil {
		return nothing, err
	}
	p.active.users++
	p.sums.runs++
	p.sums.planned += e.Plan.Cost.Launches
	for i := range e.Program.Steps {
		p.declare(i)
	}
	return p.end, nil
}

// watch watches the queues of an engine.
func (p *Profile) watch(e *Engine) (err error) {
	p.active.job, p.timeline.related, p.timeline.early = e.Job, false, nil
	p.nameTracks(e.queues.upload != e.queues.compute)
	for i, q := range []*clrt.Queue{e.queues.compute, e.queues.upload, e.queues.download} {
		if i > 0 && q == e.queues.compute {
			continue
		}
		l := &watchedQueue{}
		if l.watch, err = q.Watch(func(c *clrt.Command) { p.add(i, c) }); err != nil {
			p.abandon()
			return err
		}
		p.active.watched[i] = l
	}
	p.active.from = time.Now()
	return nil
}

// end ends a run. That of the last under way waits for what the queues still do
// and sums all up.
func (p *Profile) end() error {
	p.life.Lock()
	defer p.life.Unlock()
	p.mu.Lock()
	wall := time.Since(p.active.from)
	p.active.users--
	last := p.active.users == 0
	p.mu.Unlock()
	if !last {
		return nil
	}
	var errs []error
	for _, l := range p.active.watched {
		if l != nil {
			errs = append(errs, l.watch.Close()) // tells of commands: the lock must be free
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushEarly()
	for _, l := range p.active.watched {
		if l != nil {
			p.sums.commands += l.watch.Queued()
		}
	}
	c := p.active.watched[computeQueue]
	p.sums.wall += wall
	p.sums.edges += max(0, wall-time.Duration(c.last-c.first))
	p.active.job, p.active.watched = nil, [queueCount]*watchedQueue{}
	return errors.Join(errs...)
}

// abandon drops a run that could not be watched.
func (p *Profile) abandon() {
	for _, l := range p.active.watched {
		if l != nil {
			l.watch.Close()
		}
	}
	p.active.job, p.active.watched = nil, [queueCount]*watchedQueue{}
}

func (p *Profile) nameTracks(discrete bool) {
	if p.timeline.named {
		return
	}
	p.timeline.named = true
	p.timeline.tr.Process(p.timeline.process, p.device)
	for i, name := range queueNames {
		if i > 0 && !discrete {
			break
		}
		p.timeline.tr.Name(trace.Track{Process: p.timeline.process, Line: i}, name+" queue")
	}
}

// tag marks what is queued next in a queue. Kernels carry their step, transfers
// their tensor.
func (p *Profile) tag(queue, n int) {
	if p == nil {
		return
	}
	l := p.active.watched[queue]
	if l == nil {
		l = p.active.watched[computeQueue]
	}
	if l != nil {
		l.watch.Tag(n)
	}
}

// weightsTag marks transfers of parameters.
const weightsTag = -1

// declare makes the sums of step i, or adds a run to them.
func (p *Profile) declare(i int) {
	s := &p.active.job.Program.Steps[i]
	sum := p.sums.steps[s.Name]
	if sum == nil {
		sum = &stepSums{StepProfile: facts.StepProfile{Name: s.Name, Kind: s.Kind.String(), Algo: p.active.job.steps[i].algo}}
		p.sums.steps[s.Name] = sum
		p.sums.order = append(p.sums.order, s.Name)
	}
	sum.FLOPs += p.active.job.Program.FLOPs(s, p.active.job.Program.Tensors[s.Dst.Tensor].H)
	sum.Bytes += p.active.job.leastBytes(i)
}

// leastBytes is what step i cannot help moving: what it reads, once, its
// parameters, once, and what it writes.
func (j *Job) leastBytes(i int) int64 {
	s := &j.Program.Steps[i]
	n := j.weightBytes(i) + j.viewBytes(s.Dst)
	for _, v := range s.Src {
		n += j.viewBytes(v)
	}
	if s.Res.Tensor != fuse.None {
		n += j.viewBytes(s.Res)
	}
	return n
}

func (j *Job) viewBytes(v fuse.View) int64 {
	t := j.Program.Tensors[v.Tensor]
	return planar.RowBytes(t, j.opt.Precision) * int64(t.H) * int64(v.C) / int64(t.C)
}

// add takes a command of a queue that has ended. It is called without p.mu.
func (p *Profile) add(queue int, c *clrt.Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relate(c)
	if p.timeline.tr != nil && !p.timeline.related {
		p.timeline.early = append(p.timeline.early, timedCommand{queue, *c})
		if len(p.timeline.early) >= relateAfter {
			p.flushEarly()
		}
	} else {
		p.draw(queue, c)
	}
	l := p.active.watched[queue]
	start := c.Started
	gap := uint64(0)
	switch {
	case l.last == 0:
		l.first = start
	case start > l.last:
		gap = start - l.last
	default:
		start = min(l.last, c.Ended) // what overlaps is counted once
	}
	l.last = max(l.last, c.Ended)
	p.sums.queues[queue].add(c, start, gap)
	if c.Kind != clrt.KernelCommand {
		return
	}
	p.sums.steps[p.active.job.Program.Steps[c.Tag].Name].add(c.Name, c.Ended-start, gap)
}

// relateAfter is how many commands the relation of the clocks is found from.
const relateAfter = 64

// relate finds the host time of the device clock's 0. The command was queued,
// by the device's clock, no later than c.Host, so that the latest of all answers
// is the nearest.
func (p *Profile) relate(c *clrt.Command) {
	if p.timeline.tr == nil || p.timeline.related {
		return
	}
	if zero := c.Host.Add(-time.Duration(c.Queued)); p.timeline.zero.IsZero() || zero.Before(p.timeline.zero) {
		p.timeline.zero = zero
	}
}

// flushEarly draws the commands that waited for the relation of the clocks.
func (p *Profile) flushEarly() {
	p.timeline.related = true
	for i := range p.timeline.early {
		p.draw(p.timeline.early[i].queue, &p.timeline.early[i].Command)
	}
	p.timeline.early = nil
}

// draw puts a command on the timeline.
func (p *Profile) draw(queue int, c *clrt.Command) {
	if p.timeline.tr == nil {
		return
	}
	at := trace.Track{Process: p.timeline.process, Line: queue}
	start, end := p.timeline.zero.Add(time.Duration(c.Started)), p.timeline.zero.Add(time.Duration(c.Ended))
	if c.Kind == clrt.KernelCommand {
		s := &p.active.job.Program.Steps[c.Tag]
		p.timeline.tr.Span(at, s.Name, s.Kind.String(), start, end, trace.Arg{Name: "kernel", Value: c.Name},
			trace.Arg{Name: "queued_us", Value: float64(c.Started-c.Queued) / 1e3})
		return
	}
	what := "weights"
	if c.Tag >= 0 && c.Tag < len(p.active.job.Program.Tensors) {
		what = p.active.job.Program.Tensors[c.Tag].Name
	}
	p.timeline.tr.Span(at, fmt.Sprintf("%s %s", c.Kind, what), c.Kind.String(), start, end, trace.Arg{Name: "bytes", Value: c.Bytes})
}
