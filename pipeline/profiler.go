package pipeline

import (
	"io"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/trace"
	"enhance/pipeline/facts"
)

// Profiler gathers where the time of all runs of a [Session] or a [Batch] goes.
type Profiler struct {
	timeline *trace.Writer // nil: none
	stages   *trace.Stages
	devices  []profiledDevice
}

type profiledDevice struct {
	device  *clrt.Device // nil: the host executor, or a profile
	profile *exec.Profile
}

// NewProfiler writes a timeline in the Trace Event Format, unless w is nil.
func NewProfiler(w io.Writer) *Profiler {
	p := &Profiler{}
	if w != nil {
		p.timeline = trace.New(w)
	}
	p.stages = trace.NewStages(p.timeline, 0, "host")
	return p
}

// add begins the profile of another device. A nil Profiler has none.
func (p *Profiler) add(name string, d *clrt.Device) *exec.Profile {
	if p == nil {
		return nil
	}
	made := exec.NewProfile(name, p.timeline, 1+len(p.devices), p.stages)
	p.devices = append(p.devices, profiledDevice{d, made})
	return made
}

// Close completes the timeline. Runs must have ended.
func (p *Profiler) Close() error { return p.timeline.Close() }

// Reports are the profiles of the devices that were used; the host's stages are with the
// last. peaks says what a device can do at most.
func (p *Profiler) Reports(peaks func(*clrt.Device) (*facts.Peaks, error)) (all []*facts.Profile, err error) {
	if p == nil {
		return nil, nil
	}
	for i, d := range p.devices {
		r := d.profile.Report(nil)
		if r.Runs > 0 && d.device != nil {
			most, err := peaks(d.device)
			if err != nil {
				return nil, err
			}
			r = d.profile.Report(most)
		}
		if r.Runs > 0 || i == len(p.devices)-1 {
			all = append(all, r)
		}
	}
	for _, r := range all[:max(0, len(all)-1)] {
		r.Host = nil
	}
	return all, nil
}
