package exec

import (
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/tune"
	"enhance/memplan"
)

// roughCosts prices plans before anything was measured on the device: rough
// figures by kind, good for ranking plans, not for predicting seconds.
func (j *Job) roughCosts() memplan.CostModel {
	i := j.Info
	units := float64(max(i.ComputeUnits, 1))
	clock := float64(max(i.MaxClockMHz, 1000)) * 1e6
	if i.Type == clrt.CPU {
		lanes := float64(max(i.NativeVectorFloat, 1))
		// pynet-s on PoCL, two cores, 32 MiB of cache: 3.5 processor seconds in 9432
		// launches (48 MiB), 2.9 in 5396 (55), 2.8 in 2727 (73), 2.7 in 1399 (108), 2.8
		// over whole planes (252).
		rate := units * clock * lanes * 2
		if j.opt.BF16 && j.caps.Tiles {
			rate *= 6 // best on two cores with AMX: 0.145 s over whole planes, 0.176 in 1261 launches
		}
		return memplan.CostModel{LaunchSeconds: 50e-6, FLOPRate: rate, LinkRate: 8e9,
			Saturation: 2048 * units, CacheBytes: max(i.GlobalCache, 4<<20), MissPenalty: 1.1}
	}
	// Operations of a clock and unit that convolutions reach, counted as direct sums:
	// on an H200 1900 in matrix units with fp16 by warpgroups, 1500 without, 780 with tf32,
	// 300 with three tf32 products for one, and 90 by direct convolution. Kernels of the matrix
	// units last longer by a seventh of a wave of work-groups than their share of rows,
	// in launches of 24 to 48 rows.
	m := memplan.CostModel{LaunchSeconds: 22e-6, StripSeconds: 30e-6, TransferSeconds: 4e-6, FLOPRate: units * clock * 128, MemoryRate: units * clock * 12,
		LinkRate: 25e9, DuplexRate: 45e9, Saturation: units * 24576}
	if j.caps.Matrix {
		m.Saturation = units * 6144
		switch {
		case j.opt.Precision == planar.FP16 && j.caps.Warpgroup:
			m.FLOPRate *= 15
		case j.opt.Precision == planar.FP16:
			m.FLOPRate *= 12
		case j.arith.TF32:
			m.FLOPRate *= 6
		default:
			m.FLOPRate *= 2.4
		}
	}
	switch {
	case i.Unified:
		m.LinkRate, m.DuplexRate = 8e9, 0
	case j.caps.Warpgroup: // PCIe 5: 54e9 and 99e9 were measured, 43e9 to 53e9 with copies of 1 to 6 MB
		m.LinkRate, m.DuplexRate = 48e9, 90e9
	}
	return m
}

// price fills in what plans cost: what was measured on the device, and rough
// figures for the rest.
func (j *Job) price(r *memplan.Request) {
	m, start, shares := j.roughCosts(), startSeconds, false
	for i := range j.steps {
		_, ok := j.steps[i].conv.(conv.Sharing)
		shares = shares || ok
	}
	if shares {
		m.LaunchSeconds, start = sharingLaunch, sharingStart
	}
	if t := j.opt.Rates; t != nil {
		m.LinkRate, m.DuplexRate, m.MemoryRate = min(t.Up, t.Down), t.Both, t.Memory
		if j.Info.Type != clrt.CPU { // there the rough figure holds what small launches cost besides
			m.LaunchSeconds = t.Launch + start
		}
		if !j.Shared() { // kernels wait for uploads, which wait for kernels
			m.StripSeconds = 2 * t.Hop
			m.TransferSeconds = t.Launch
		}
	}
	r.BusyRows = func(i, rows int) float64 {
		if c, ok := j.steps[i].conv.(conv.Sharing); ok {
			return c.Shared(rows)
		}
		return 0
	}
	r.Model, r.RowSeconds = m, func(i int) float64 { return j.convSeconds(i, m.FLOPRate) }
}

// startSeconds is about what a kernel takes until its work-groups run and until the
// next may start, besides what an empty one does. On an H200 the 6114 kernels of PyNET in
// 256 MiB took 18 us each longer than their share of what 425 over whole planes take, an
// empty one 4 to 7.
const startSeconds = 16e-6

// The same of programs whose convolutions say how they share out their rows (conv.Sharing), which the figures above
// guess, and what a launch takes together. On an H200 a launch of such a convolution took 13 us and a share of the
// rows, of other steps 3 to 9 (`fast` and `best` in 1 to 13 strips).
const (
	sharingStart  = 8e-6
	sharingLaunch = 12e-6
)

// Rated reports whether the plan's prices rest on measured rates of the device.
func (j *Job) Rated() bool { return j.opt.Rates != nil }

// convSeconds is what one row of step i takes on a busy device if it is a
// convolution, else 0: by the rate that tuning measured, or by rate operations per second.
func (j *Job) convSeconds(i int, rate float64) float64 {
	s := &j.Program.Steps[i]
	if s.Kind != fuse.Conv {
		return 0
	}
	flops := float64(j.Program.FLOPs(s, 1))
	if c, ok := j.opt.Tuned.Lookup(tune.Key(tunedAs(ShapeOf(j.Program, s)), j.arith.String())); ok && c.GFLOPs > 0 && c.Algo == j.steps[i].algo {
		return flops / (c.GFLOPs * 1e9)
	}
	return flops / (rate * winogradGain(j.steps[i].algo))
}

// winogradGain is about how much faster than the direct sum an algorithm is: half
// of what a transform F(m×m, r×r) saves in multiplications, as the transforms
// take time too.
func winogradGain(algo string) float64 {
	var m, r float64
	if n, _ := fmt.Sscanf(algo, "winograd-f%fx%f", &m, &r); n != 2 {
		return 1
	}
	saving := m * r / (m + r - 1)
	return max(1, saving*saving/2)
}
