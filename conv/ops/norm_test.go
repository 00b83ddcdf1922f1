package ops_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"enhance/conv/convtest"
	"enhance/fuse"
	"enhance/model"
	"enhance/planar"
)

// TestNorm computes statistics and scales of planes whose mean is far from zero
// compared with their deviation, where E[x²]-E[x]² would lose everything.
func TestNorm(t *testing.T) {
	eachLab(t, func(l *lab) {
		for i := range convtest.Cases(20) {
			c, h, w := l.size(90, 300)
			src := l.Random(c, h, w)
			if i%2 == 0 {
				for j, v := range src.V {
					src.V[j] = l.Round(100 + v)
				}
			}
			l.norm(src)
			l.Release()
		}
	})
}

func (l *lab) norm(src *convtest.Plane) {
	l.Helper()
	c, h, w := src.C, src.H, src.W
	stats := l.rowStats(src, []int{h})
	var cuts []int
	for y := 0; y < h; cuts = append(cuts, y) {
		y = min(h, y+1+l.Rng.IntN(1+h/2))
	}
	if parts := l.rowStats(src, cuts); !slices.EqualFunc(parts, stats, sameBits) {
		l.Errorf("%d×%d×%d: statistics depend on how rows are divided", c, h, w)
	}
	means, m2s := l.checkRows(src, stats)

	// One to three slices of channels, as a concatenation of branches has them.
	const eps = 1e-5
	ring := l.statsRing(stats, c, h, w)
	out := planar.NewRing(l.Floats(slices.Repeat([]float32{float32(math.NaN())}, 16+2*c+4)), 64, fuse.Tensor{Storage: fuse.Scales, Shape: model.Shape{C: c, H: 1, W: 1}}, 1)
	for c0 := 0; c0 < c; {
		n := 1 + l.Rng.IntN(c-c0)
		slice := make([]float32, 2*n)
		for i := range slice {
			slice[i] = 2*l.Rng.Float32() - 1
		}
		l.Must(l.Affine(ring, c0, l.Floats(slice), n, eps, out))
		c0 += n
		l.checkScales(out, c, c0-n, n, slice, means, m2s, h, w, eps)
	}
	got := floats(l.Bench, out.Buf, 16+2*c+4)
	for i, v := range got {
		if v == v != (i >= 16 && i < 16+2*c) {
			l.Errorf("%d channels of scales from float 16 on: float %d is %v", c, i, v)
		}
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// statsRing puts statistics on the device, some way into a buffer.
func (l *lab) statsRing(v []float32, c, h, w int) planar.Ring {
	return planar.NewRing(l.Floats(append(slices.Repeat([]float32{float32(math.NaN())}, 32), v...)), 128,
		fuse.Tensor{Storage: fuse.Stats, Shape: model.Shape{C: c, H: h, W: w}}, h)
}

// rowStats makes the statistics of all rows in launches that end at cuts.
func (l *lab) rowStats(src *convtest.Plane, cuts []int) []float32 {
	l.Helper()
	n := 2 * src.C * src.H
	nan := slices.Repeat([]float32{float32(math.NaN())}, n+64)
	stats := l.statsRing(nan, src.C, src.H, src.W)
	y := 0
	for _, end := range cuts {
		s := l.Source(src, l.Anywhere(src.C, end-y, src.H), y, end)
		l.Must(l.RowStats(s.Ring, stats, y, end))
		s.Unchanged("source of statistics")
		y = end
	}
	got := floats(l.Bench, stats.Buf, n+96)
	for i, v := range got {
		if v == v != (i >= 32 && i < 32+n) {
			l.Errorf("statistics of %d×%d rows from float 32 on: float %d is %v", src.C, src.H, i, v)
			break
		}
	}
	return got[32 : 32+n]
}

// checkRows compares row statistics with float64 and returns the plane's exact
// means and sums of squared deviations. A mean of w values is off by at most
// λ·√w·u·|x|; the sum of squares by the same relative error and, as deviations
// are taken from the rounded mean, by w times the mean's error squared.
func (l *lab) checkRows(src *convtest.Plane, stats []float32) (means, m2s []float64) {
	l.Helper()
	for c := range src.C {
		var all []float64
		for y := range src.H {
			var row []float64
			for _, v := range src.Line(c, y) {
				row = append(row, float64(v))
			}
			all = append(all, row...)
			mean, m2, largest := moments(row)
			tol := 8 * math.Sqrt(float64(src.W)) * unit32 * largest
			tol2 := 8*math.Sqrt(float64(src.W))*unit32*m2 + float64(src.W)*(tol*tol+2*unit32*largest*math.Sqrt(m2/float64(src.W)))
			gm, g2 := float64(stats[y*2*src.C+c]), float64(stats[y*2*src.C+src.C+c])
			if !(math.Abs(gm-mean) <= tol) || !(math.Abs(g2-m2) <= tol2) {
				l.Errorf("row %d of %v: mean %v and squares %v, want %v ± %.2g and %v ± %.2g", y, []int{src.C, src.H, src.W}, gm, g2, mean, tol, m2, tol2)
			}
		}
		mean, m2, _ := moments(all)
		means, m2s = append(means, mean), append(m2s, m2)
	}
	return means, m2s
}

func moments(v []float64) (mean, m2, largest float64) {
	for _, x := range v {
		mean += x / float64(len(v))
		largest = max(largest, math.Abs(x))
	}
	for _, x := range v {
		m2 += (x - mean) * (x - mean)
	}
	return mean, m2, largest
}

// checkScales: scale = weight/√(M2/n+eps) and shift = bias - mean·scale, to a
// relative 1e-4 of the largest intermediate (deviations of values near 100 are
// known to 100·u, one part in 1e5 of theirs).
func (l *lab) checkScales(out planar.Ring, all, c0, n int, params []float32, means, m2s []float64, h, w int, eps float64) {
	l.Helper()
	got := floats(l.Bench, out.Buf, 16+2*all)[16:]
	for i := range n {
		scale := float64(params[i]) / math.Sqrt(m2s[c0+i]/float64(h*w)+eps)
		shift := float64(params[n+i]) - means[c0+i]*scale
		gs, gb := float64(got[c0+i]), float64(got[all+c0+i])
		tol := 1e-4 * math.Abs(scale)
		if !(math.Abs(gs-scale) <= tol) || !(math.Abs(gb-shift) <= 1e-6+tol*math.Abs(means[c0+i])) {
			l.Errorf("%s", fmt.Sprintf("channel %d of a %d×%d plane: scale %v, shift %v, want %v, %v", c0+i, h, w, gs, gb, scale, shift))
		}
	}
}
