package winograd

import (
	"math"

	"enhance/conv"
	"enhance/internal/planar"
)

// Errors of rounding one number, by measurement (docs/winograd-points.md): the
// relative RMS error of a convolution of 64 channels is about these times the
// transform's NoiseGain.
const (
	perGain32 = 1.7e-7 // arithmetic in float32
	perGain16 = 2.05e-4
)

// maxError is the largest relative RMS error that Choose accepts besides that of
// storing the result. It lies well below fp16 storage's 2e-4, so that a choice
// never shows in a result stored in fp16, and below what a network of float32
// layers turns into a visible difference.
const maxError = 1e-5

// ExpectedError is the relative RMS error of the convolution for inputs and
// weights without structure, by NoiseGain; storing the result comes on top. It is
// within a factor of two of ErrorOf's measurements for up to 64 channels.
func (c Convolution) ExpectedError(caps conv.Caps, s conv.Shape, p planar.Precision) (float64, error) {
	t, err := c.Variant.compiled()
	if err != nil {
		return 0, err
	}
	g := t.NoiseGain()
	e := perGain32 * g * math.Sqrt(max(1, float64(s.InC())/64))
	tiled := c.Form == Tiled || c.Form == ByDevice && !caps.CPU
	if tiled && p == planar.FP16 && !c.WideV {
		e = math.Hypot(e, perGain16*g)
	}
	return e, nil
}

// Choose gives the Winograd variant that is expected to be fastest for a shape on
// a kind of device, or false where direct convolution is expected to be faster or
// no variant is exact enough. It looks at nothing else, so that the bytes of a
// result do not depend on memory budgets. In fp16 V stays in float32 (WideV):
// rounding it costs 10 dB and more.
//
// The CPU's cost model rests on BenchmarkConv on an AMD EPYC (Zen 4, AVX-512, PoCL
// 6), GFLOP of the direct sum per
// core-second on a machine busy with other work, good to about 10 %:
//
//	k  C    K    W    direct  winograd
//	3  12   12   944   97     116 f4x3   121 f6x3
//	3  24   24   944  102     166 f4x3   142 f6x3
//	3  32   32   512   97     207 f4x3   175 f6x3
//	3  64   64   236  103     241 f4x3   245 f6x3
//	3  96   96   118   98     290 f4x3   232 f6x3
//	3  512  128  124   97     333 f4x3   243 f6x3
//	5  24   12   944  106     188 f4x5   172 f6x5
//	5  32   32   512   93     356 f4x5   232 f6x5
//	5  256  64   256   93     499 f4x5   286 f6x5
//	7  192  64   256   98     315 f6x7   362 f9x7
//	9  128  32   512  106     464 f6x9   464 f9x9
//
// The GPU's model counts multiplications and the bytes of V and M, with constants
// (see costGPU) that are estimates for large GPUs, not measurements.
func Choose(caps conv.Caps, s conv.Shape, p planar.Precision) (conv.Algo, conv.Impl) {
	if s.InC() < 1 || s.OutC < 1 || s.H < 1 || s.W < 1 {
		return nil, nil
	}
	var algo conv.Algo
	var best conv.Impl
	bestCost := directCost(s)
	for _, c := range candidates(caps, s.K, p) {
		e, err := c.ExpectedError(caps, s, p)
		if err != nil || e > maxError {
			continue
		}
		// Candidates come with the smaller tiles, which need less memory and round
		// less, first: a larger one must be clearly better, and so must the first be.
		cost := c.cost(caps, s)
		if cost >= bestCost*0.9 {
			continue
		}
		if impl, err := c.New(caps, s, p); err == nil { // else the device has less local memory or smaller groups
			algo, best, bestCost = c, impl, cost
		}
	}
	return algo, best
}

// candidates are the convolutions worth considering for k×k, smaller tiles first.
func candidates(caps conv.Caps, k int, p planar.Precision) []Convolution {
	var cs []Convolution
	for _, v := range variantsFor(k) {
		if caps.CPU {
			cs = append(cs, Convolution{Variant: v})
			continue
		}
		if v == V2x3 || v == V4x3 {
			cs = append(cs, Convolution{Variant: v, Form: Fused})
		}
		cs = append(cs, Convolution{Variant: v, Form: Tiled, WideV: p == planar.FP16})
	}
	return cs
}

// directCost is the multiply-adds of the direct sum for each output sample, the
// unit of cost.
func directCost(s conv.Shape) float64 {
	return float64(s.K*s.K) * float64(s.InC()) * float64(s.OutC)
}

// cost is what the convolution takes for each output sample of the plane, in
// multiply-adds of direct convolution.
func (c Convolution) cost(caps conv.Caps, s conv.Shape) float64 {
	t, err := c.Variant.compiled()
	if err != nil {
		return math.Inf(1)
	}
	if caps.CPU {
		return costCPU(t, s, chooseStrip(s, t.M, caps.Vector))
	}
	return costGPU(t, s, c.Form == Fused)
}

// transformOps is the instructions, loads and stores among them, that the input
// transform of a tile takes for each input channel and the output transform for
// each output channel.
func (t *compiled) transformOps() (in, out float64) {
	n, m, side := float64(t.N), float64(t.M), float64(t.T())
	pass := func(p *Program, from, to float64) float64 { return float64(p.Counts().Ops()) + from + to }
	in = (m*1.15+n)*pass(t.input, side, n) + 3*side*m // lines are split once, vertically shared
	out = (n+m)*pass(t.output, n, m) + 3*m*m
	return in, out
}

// costCPU counts vector instructions. Those of the transforms wait for the cache
// and for shuffles: each counts as two, or four where values spill from registers.
func costCPU(t *compiled, s conv.Shape, g stripGeometry) float64 {
	wait := 2.0
	if max(t.input.Counts().Live, t.output.Counts().Live) > 24 {
		wait = 4
	}
	block, tiles := g.nv*g.vector, ceilDiv(s.W, t.M)
	padded := float64(ceilDiv(tiles, block) * block * ceilDiv(s.H, t.M))
	outs := float64(ceilDiv(s.OutC, g.lanes) * g.lanes)
	in, out := t.transformOps()
	c, n2 := float64(s.InC()), float64(t.N*t.N)
	perTile := n2*c*outs + wait*(c*in+float64(s.OutC)*out)
	return perTile * padded / (float64(s.W) * float64(s.H))
}

// costGPU counts multiply-adds, at the rate that direct convolution reaches, and
// bytes. Constants are estimates: a matrix product in registers runs 1.4 times as
// fast as direct convolution's loop; V and M, written and read once, pass through
// the second-level cache at a byte for every 5 multiply-adds; the fused kernel's
// transforms are repeated for every block of outputs and leave half of the group idle.
func costGPU(t *compiled, s conv.Shape, fused bool) float64 {
	const product, bytes = 1 / 1.4, 5.0
	c, k, n2 := float64(s.InC()), float64(s.OutC), float64(t.N*t.N)
	in, out := t.transformOps()
	if fused {
		bk := 64
		if t.variant == V4x3 {
			bk = 32
		}
		blocks := float64(ceilDiv(s.OutC, bk))
		pad := float64(ceilDiv(ceilDiv(s.W, t.M), fusedTilesX)*fusedTilesX*ceilDiv(ceilDiv(s.H, t.M),
			fusedTilesY)*fusedTilesY) * float64(t.M*t.M) / (float64(s.W) * float64(s.H))
		return pad / float64(t.M*t.M) * (n2*c*blocks*float64(bk)*product + 2*blocks*c*in + k*out)
	}
	pad := float64(ceilDiv(s.W, t.M)*ceilDiv(s.H, t.M)*t.M*t.M) / (float64(s.W) * float64(s.H))
	traffic := 8 * n2 * (c + k) * bytes
	return pad / float64(t.M*t.M) * (n2*c*k*product + c*in + k*out + traffic)
}
