package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"

	"enhance/internal/planar"
)

// round rounds x to the precision.
func round(p planar.Precision, x []float32) {
	if p == planar.FP16 {
		for i, f := range x {
			x[i] = roundHalf(f)
		}
	}
}

const (
	errorTrials  = 48 // tiles measured
	errorFilters = 2  // output channels of each
	maxErrorC    = 4096
)

// roundHalf rounds f to binary16 and back.
func roundHalf(f float32) float32 { return planar.Float(planar.Half(f)) }

// ErrorOf measures the relative RMS error of the 2-D convolution F(M×M, R×R) with
// c input channels against a direct sum in float64, the same number on every
// machine: inputs and weights are standard normal from fixed seeds and are first
// rounded to the storage, for the reference too, so that the error is that of
// the algorithm. V and U are rounded to the storage, the transforms and the sum
// over channels are float32, and the result is rounded to the storage.
func ErrorOf(t *Transform, s planar.Precision, c int) (float64, error) {
	if err := checkChannels(c); err != nil {
		return 0, err
	}
	input, err := t.InputProgram()
	if err != nil {
		return 0, err
	}
	output, err := t.OutputProgram()
	if err != nil {
		return 0, err
	}
	return relativeRMS(t.M, t.R, s, c, func(d, w []float32) ([]float32, error) {
		u, err := t.TransformFilter(w, errorFilters, c)
		if err != nil {
			return nil, err
		}
		round(s, u)
		n2 := t.N * t.N
		m := make([]float32, errorFilters*n2)
		side := t.T()
		for ic := range c {
			v := Apply2D(input, d[ic*side*side:(ic+1)*side*side])
			round(s, v)
			for p, x := range v {
				for k := range errorFilters {
					m[k*n2+p] += u[(p*c+ic)*errorFilters+k] * x
				}
			}
		}
		var y []float32
		for k := range errorFilters {
			y = append(y, Apply2D(output, m[k*n2:(k+1)*n2])...)
		}
		return y, nil
	})
}

// NoiseGain predicts by how much t amplifies independent relative rounding errors
// of the numbers of U, or of V: relative RMS error of the 2-D result ≈ NoiseGain
// times the relative RMS error of one number, for white input and weights. In one
// dimension the variance is Σ_j AT_ij²·|G_j|²·|BT_j|² / R, averaged over outputs
// i; it does not depend on how rows are scaled, and two dimensions square it.
func (t *Transform) NoiseGain() float64 {
	at, g, bt := t.AT.Float64(), t.G.Float64(), t.BT.Float64()
	sum := 0.0
	for j := range t.N {
		p := squares(g[j]) * squares(bt[j])
		for i := range t.M {
			sum += at[i][j] * at[i][j] * p
		}
	}
	return sum / float64(t.M*t.R)
}

// Ranges gives the smallest and largest RMS value over the N² numbers of V, for a
// white input of RMS 1, and of U, for white taps of RMS 1. They say how far fp16
// storage is from its ends, 6e-5 (subnormal below) and 65504.
func (t *Transform) Ranges() (vMin, vMax, uMin, uMax float64) {
	lohi := func(m Matrix) (lo, hi float64) {
		lo = math.Inf(1)
		for _, row := range m {
			s := squaresExact(row) // the 2-D RMS is a product of two norms
			lo, hi = min(lo, s), max(hi, s)
		}
		return lo, hi
	}
	vMin, vMax = lohi(t.BT)
	uMin, uMax = lohi(t.G)
	return
}

func squares(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// DirectError is ErrorOf for a direct r×r convolution: a float32 sum over
// channels and taps, the result rounded to the storage.
func DirectError(r int, s planar.Precision, c int) (float64, error) {
	if r < 1 || r > MaxProducts {
		return 0, fmt.Errorf("winograd error: %d taps, need 1 to %d", r, MaxProducts)
	}
	if err := checkChannels(c); err != nil {
		return 0, err
	}
	return relativeRMS(2, r, s, c, func(d, w []float32) ([]float32, error) {
		return correlate[float32](d, w, 2, r, c), nil
	})
}

func checkChannels(c int) error {
	if c < 1 || c > maxErrorC {
		return fmt.Errorf("winograd error: %d channels, need 1 to %d", c, maxErrorC)
	}
	return nil
}

// relativeRMS runs conv, from an input tile (c, T, T) and weights (errorFilters,
// c, r, r) to (errorFilters, m, m), on random tiles.
func relativeRMS(m, r int, s planar.Precision, c int, conv func(d, w []float32) ([]float32, error)) (float64, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	side := m + r - 1
	var diff, total float64
	for range errorTrials {
		d := normal(rng, c*side*side)
		w := normal(rng, errorFilters*c*r*r)
		round(s, d)
		round(s, w)
		got, err := conv(d, w)
		if err != nil {
			return 0, err
		}
		round(s, got)
		for i, want := range correlate[float64](d, w, m, r, c) {
			e := float64(got[i]) - want
			diff += e * e
			total += want * want
		}
	}
	return math.Sqrt(diff / total), nil
}

func normal(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// correlate is the direct sum, channels outermost, accumulated in F.
func correlate[F float32 | float64](d, w []float32, m, r, c int) []F {
	side := m + r - 1
	y := make([]F, errorFilters*m*m)
	for k := range errorFilters {
		for i := range m * m {
			var sum F
			for ic := range c {
				for t := range r * r {
					x := d[(ic*side+i/m+t/r)*side+i%m+t%r]
					sum += F(x) * F(w[(k*c+ic)*r*r+t])
				}
			}
			y[k*m*m+i] = sum
		}
	}
	return y
}

// Apply2D applies a program to the columns and then to the rows of the In×In
// tile x, row-major, and gives the len(Out)×len(Out) result: P·x·Pᵀ in float32.
// It is the reference of the input and output kernels.
func Apply2D(p *Program, x []float32) []float32 {
	in, out := p.In, len(p.Out)
	mid := make([]float32, out*in)
	src, dst := make([]float32, in), make([]float32, out)
	for j := range in {
		for i := range src {
			src[i] = x[i*in+j]
		}
		p.Eval32(dst, src)
		for i, v := range dst {
			mid[i*in+j] = v
		}
	}
	y := make([]float32, out*out)
	for i := range out {
		p.Eval32(y[i*out:(i+1)*out], mid[i*in:(i+1)*in])
	}
	return y
}
