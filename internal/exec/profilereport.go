package exec

import (
	"cmp"
	"slices"

	"enhance/clrt"
	"enhance/pipeline/facts"
)

// stepSums are over one step's launches in all runs.
type stepSums struct {
	facts.StepProfile
	ns, gap uint64
	kernels []kernelSums
}

type kernelSums struct {
	name     string
	launches int
	ns       uint64
}

// queueSums are over the commands of one queue.
type queueSums struct {
	gap   uint64
	kinds [clrt.FillCommand + 1]kindSums
}

type kindSums struct {
	count int
	bytes int64
	ns    uint64
}

func (s *stepSums) add(kernel string, ns, gap uint64) {
	s.Launches++
	s.ns += ns
	s.gap += gap
	i := slices.IndexFunc(s.kernels, func(k kernelSums) bool { return k.name == kernel })
	if i < 0 {
		i = len(s.kernels)
		s.kernels = append(s.kernels, kernelSums{name: kernel})
	}
	s.kernels[i].launches++
	s.kernels[i].ns += ns
}

func (q *queueSums) add(c *clrt.Command, start, gap uint64) {
	s := &q.kinds[c.Kind]
	s.count++
	s.bytes += c.Bytes
	s.ns += c.Ended - start
	q.gap += gap
}

// facts are the sums for a report. Peaks may be nil.
func (s *stepSums) facts(peaks *facts.Peaks) facts.StepProfile {
	f := s.StepProfile
	f.Seconds, f.Gaps = seconds(s.ns), seconds(s.gap)
	for _, k := range s.kernels {
		f.Kernels = append(f.Kernels, facts.KernelProfile{Name: k.name, Launches: k.launches, Seconds: seconds(k.ns)})
	}
	f.Roof, f.Bound = roof(&f, peaks)
	return f
}

func (q *queueSums) facts(name string) facts.QueueProfile {
	f := facts.QueueProfile{Name: name}
	for k, s := range q.kinds {
		if s.count > 0 {
			f.Kinds = append(f.Kinds, facts.KindTimes{Kind: clrt.CommandKind(k).String(), Count: s.count, Bytes: s.bytes, Seconds: seconds(s.ns)})
		}
	}
	return f
}

// Report sums up. Peaks may be nil.
func (p *Profile) Report(peaks *facts.Peaks) *facts.Profile {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &facts.Profile{Device: p.device, Runs: p.sums.runs, Wall: p.sums.wall.Seconds(), Edges: p.sums.edges.Seconds(), Peaks: peaks,
		Planned: p.sums.planned, Commands: p.sums.commands}
	for _, s := range p.stages.Sums() {
		r.Host = append(r.Host, facts.StageTime(s))
	}
	for _, name := range p.sums.order {
		s := p.sums.steps[name].facts(peaks)
		r.Launches += s.Launches
		r.Kernels += s.Seconds
		r.FLOPs += s.FLOPs
		r.Bytes += s.Bytes
		r.Steps = append(r.Steps, s)
	}
	slices.SortStableFunc(r.Steps, func(a, b facts.StepProfile) int { return cmp.Compare(b.Seconds, a.Seconds) })
	for i := range p.sums.queues {
		if q := p.sums.queues[i].facts(queueNames[i]); len(q.Kinds) > 0 {
			r.Queues = append(r.Queues, q)
		}
	}
	compute := &p.sums.queues[computeQueue]
	r.Gaps = seconds(compute.gap)
	for k, s := range compute.kinds {
		if clrt.CommandKind(k) != clrt.KernelCommand {
			r.Copies += seconds(s.ns)
		}
	}
	return r
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// roof is the least time that a step could take, as a share of what it took, and
// what sets it.
func roof(s *facts.StepProfile, p *facts.Peaks) (share float64, bound string) {
	if p == nil || p.Bytes <= 0 || s.Seconds == 0 {
		return 0, ""
	}
	least, bound := float64(s.Bytes)/p.Bytes, "memory"
	rate, _ := p.Of(s.Algo)
	if rate > 0 && float64(s.FLOPs)/rate > least {
		least, bound = float64(s.FLOPs)/rate, "compute"
	}
	return least / s.Seconds, bound
}
