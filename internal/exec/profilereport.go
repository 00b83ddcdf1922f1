package exec

import (
	"cmp"
	"slices"

	"enhance/clrt"
	"enhance/internal/peak"
	"enhance/internal/trace"
)

// ProfileReport says where the time of profiled runs went. Times are seconds: of
// the device's clock, except Wall and Host, which are the host's. Along the queue
// that computes, Kernels, Copies, Gaps and Edges together are Wall.
type ProfileReport struct {
	Device string  `json:"device"`
	Runs   int     `json:"runs"`
	Wall   float64 `json:"wall_seconds"` // of the runs, from begin to end
	// Kernels were computed, Copies are transfers and fills in the same queue, in
	// Gaps the queue had nothing to do between two commands, and Edges lie before
	// the first and after the last.
	Kernels float64 `json:"kernel_seconds"`
	Copies  float64 `json:"copy_seconds"`
	Gaps    float64 `json:"gap_seconds"`
	Edges   float64 `json:"edge_seconds"`

	Launches int `json:"launches"` // of kernels
	// Planned are the launches of steps that the plans of the runs count; some are of
	// several kernels, such as one that transforms filters before the convolution's.
	Planned  int            `json:"planned_launches"`
	Commands int            `json:"commands"` // all that the queues took
	FLOPs    int64          `json:"flops"`
	Bytes    int64          `json:"bytes"`
	Peaks    *Peaks         `json:"peaks,omitempty"`
	Steps    []StepProfile  `json:"steps"` // the longest first
	Queues   []QueueProfile `json:"queues"`
	// Host is what the host did beside it; stages overlap each other and the device.
	Host []trace.StageTime `json:"host,omitempty"`
}

// StepProfile sums one step's launches in all runs.
type StepProfile struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"`
	Algo     string  `json:"algo,omitempty"`
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Gaps     float64 `json:"gap_seconds"` // before its launches
	FLOPs    int64   `json:"flops"`       // of convolutions, by their definition
	// Bytes is what the step cannot help moving: sources, parameters and result once
	// each. What the device moved may be more.
	Bytes   int64           `json:"bytes"`
	Roof    float64         `json:"roof"` // least time by the peaks over the time taken; 0: peaks unknown
	Bound   string          `json:"bound,omitempty"`
	Kernels []KernelProfile `json:"kernels"`
	ns      uint64
	gap     uint64
}

// KernelProfile sums one kernel of a step.
type KernelProfile struct {
	Name     string  `json:"name"`
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	ns       uint64
}

// QueueProfile sums the commands of one queue.
type QueueProfile struct {
	Name  string      `json:"name"`
	Kinds []KindTimes `json:"kinds"`
	gap   uint64
	sums  [clrt.FillCommand + 1]KindTimes
}

// KindTimes sums the commands of one kind.
type KindTimes struct {
	Kind    string  `json:"kind"`
	Count   int     `json:"count"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	ns      uint64
}

func (s *StepProfile) add(kernel string, ns, gap uint64) {
	s.Launches++
	s.ns += ns
	s.gap += gap
	i := slices.IndexFunc(s.Kernels, func(k KernelProfile) bool { return k.Name == kernel })
	if i < 0 {
		i = len(s.Kernels)
		s.Kernels = append(s.Kernels, KernelProfile{Name: kernel})
	}
	s.Kernels[i].Launches++
	s.Kernels[i].ns += ns
}

func (q *QueueProfile) add(c *clrt.Command, start, gap uint64) {
	s := &q.sums[c.Kind]
	s.Count++
	s.Bytes += c.Bytes
	s.ns += c.Ended - start
	q.gap += gap
}

// Peaks are what a device can do at most, per second; see package conv/peak.
type Peaks struct {
	peak.Units
	Bytes float64 `json:"bytes"` // read and written by a copy
}

// Report sums up. Peaks may be nil.
func (p *Profile) Report(peaks *Peaks) *ProfileReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &ProfileReport{Device: p.device, Runs: p.sums.runs, Wall: p.sums.wall.Seconds(), Edges: p.sums.edges.Seconds(), Peaks: peaks, Planned: p.sums.planned, Commands: p.sums.commands, Host: p.stages.Sums()}
	for _, name := range p.sums.order {
		s := *p.sums.steps[name]
		s.Seconds, s.Gaps = seconds(s.ns), seconds(s.gap)
		s.Kernels = slices.Clone(s.Kernels)
		for i := range s.Kernels {
			s.Kernels[i].Seconds = seconds(s.Kernels[i].ns)
		}
		s.Roof, s.Bound = peaks.roof(&s)
		r.Launches += s.Launches
		r.Kernels += s.Seconds
		r.FLOPs += s.FLOPs
		r.Bytes += s.Bytes
		r.Steps = append(r.Steps, s)
	}
	slices.SortStableFunc(r.Steps, func(a, b StepProfile) int { return cmp.Compare(b.ns, a.ns) })
	for i := range p.sums.queues {
		q := QueueProfile{Name: queueNames[i]}
		for k, s := range p.sums.queues[i].sums {
			if s.Count == 0 {
				continue
			}
			s.Kind, s.Seconds = clrt.CommandKind(k).String(), seconds(s.ns)
			q.Kinds = append(q.Kinds, s)
			if i == computeQueue && clrt.CommandKind(k) != clrt.KernelCommand {
				r.Copies += s.Seconds
			}
		}
		if len(q.Kinds) > 0 {
			r.Queues = append(r.Queues, q)
		}
	}
	r.Gaps = seconds(p.sums.queues[computeQueue].gap)
	return r
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// roof is the least time that a step could take, as a share of what it took, and
// what sets it.
func (p *Peaks) roof(s *StepProfile) (share float64, bound string) {
	if p == nil || p.Bytes <= 0 || s.ns == 0 {
		return 0, ""
	}
	least, bound := float64(s.Bytes)/p.Bytes, "memory"
	rate, _ := p.Of(s.Algo)
	if rate > 0 && float64(s.FLOPs)/rate > least {
		least, bound = float64(s.FLOPs)/rate, "compute"
	}
	return least / seconds(s.ns), bound
}
