package exec

import (
	"enhance/clrt"
	"enhance/memplan"
	"enhance/planar"
)

// costModel prices plans before anything was measured on the device: rough
// figures by kind, good for ranking plans, not for predicting seconds.
func (j *Job) costModel() memplan.CostModel {
	i := j.Info
	units := float64(max(i.ComputeUnits, 1))
	clock := float64(max(i.MaxClockMHz, 1000)) * 1e6
	if i.Type == clrt.CPU {
		lanes := float64(max(i.NativeVectorFloat, 1))
		// pynet-s on PoCL, two cores, 32 MiB of cache: 3.5 processor seconds in 9432
		// launches (48 MiB), 2.9 in 5396 (55), 2.8 in 2727 (73), 2.7 in 1399 (108), 2.8
		// over whole planes (252).
		return memplan.CostModel{LaunchSeconds: 50e-6, FLOPRate: units * clock * lanes * 2, LinkRate: 8e9,
			Saturation: 2048 * units, CacheBytes: max(i.GlobalCache, 4<<20), MissPenalty: 1.1}
	}
	// Operations of a clock and unit that convolutions reach, of all sums of the
	// definition: on an H200 1020 in matrix units with fp16 and 230 with three tf32
	// products for one, 130 without (on an RTX 3060 half of its 256).
	m := memplan.CostModel{LaunchSeconds: 8e-6, TickSeconds: 25e-6, FLOPRate: units * clock * 128, MemoryRate: units * clock * 12,
		LinkRate: 25e9, DuplexRate: 45e9, Saturation: units * 8192}
	switch {
	case j.caps.Matrix && j.opt.Precision == planar.FP16:
		m.FLOPRate *= 8
	case j.caps.Matrix:
		m.FLOPRate *= 2
	}
	if i.Unified {
		m.LinkRate, m.DuplexRate = 8e9, 0
	}
	return m
}
