package pipeline

import (
	"math"
	"slices"

	"enhance/clrt"
	"enhance/internal/exec"
)

const (
	// hostRate is about what the host executor does on a core in a second: 180 GFLOP of
	// pynet-s took 18.6 s of processor time (a photo of 1734×1156, AMD EPYC Zen 4).
	hostRate = 9.7e9
	// deviceStart is about what an OpenCL device takes before its first photo, with its kernels
	// in the cache.
	deviceStart = 1.0
	// typicalRows and typicalColumns are the mosaic that predictions are for: those of
	// devices are compared with each other before a photo was opened.
	typicalRows, typicalColumns = 2048, 3072
)

// deviceTimes are what is known of the sessions' devices before a run of photos.
func (b *Batch) deviceTimes() []*deviceTimes {
	var all []*deviceTimes
	var kinds []string
	for i, s := range b.sessions {
		d := &deviceTimes{processor: 1 + i}
		if s.device.info == nil || s.device.info.Type == clrt.CPU {
			d.processor = 0
		}
		kind := "host executor"
		if s.device.info != nil {
			kind, d.start = s.device.info.Platform+"\x00"+s.device.info.Name+"\x00"+s.device.info.DriverVersion, deviceStart
		}
		if d.kind = slices.Index(kinds, kind); d.kind < 0 {
			d.kind, kinds = len(kinds), append(kinds, kind)
		}
		all = append(all, d)
	}
	if len(kinds) == 1 { // they are equally fast, whatever that is
		for _, d := range all {
			d.predicted = 1
		}
		return all
	}
	for i, s := range b.sessions {
		all[i].predicted = s.predict()
	}
	return all
}

// predict is about what a photo of typical size takes on the session's device, 0 if
// that cannot be said. It does not touch the device, so that one that gets no photo is never
// opened: what is known only by asking, matrix units for instance, is left out.
func (s *Session) predict() float64 {
	h, w := s.model.Convention.PaddedSides(typicalRows/2, typicalColumns/2)
	if s.device.info == nil {
		info, err := s.model.Info(2*h, 2*w)
		if err != nil {
			return 0
		}
		return float64(info.FLOPs) / (hostRate * float64(cores()))
	}
	opt := exec.Options{Precision: s.set.Precision.storage(), Algo: s.choices.algo.Algo}
	job, err := exec.Prepare(s.model, h, w, s.device.info, opt)
	if err != nil || !(job.Plan.Cost.Seconds > 0) || math.IsInf(job.Plan.Cost.Seconds, 0) {
		return 0
	}
	return job.Plan.Cost.Seconds
}
