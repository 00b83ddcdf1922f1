package ops_test

import (
	"math"
	"slices"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
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
		l.Errorf("%dx%dx%d: statistics depend on how rows are divided", c, h, w)
	}
	means, m2s := l.checkRows(src, stats)

	ring := l.statsRing(stats, c, h, w)
	out := planar.NewRing(l.Floats(slices.Repeat([]float32{float32(math.NaN())}, 16+2*c+4)), 64, fuse.Tensor{Storage: fuse.Scales, Shape: model.Shape{C: c, H: 1, W: 1}}, 1)
	params := make([]float32, 3*c)
	for i := range params {
		params[i] = 2*l.Rng.Float32() - 1
		if i >= 2*c {
			params[i] = []float32{1e-5, 1e-3}[l.Rng.IntN(2)]
		}
	}
	l.Must(l.Affine(ring, l.Floats(params), out, 0))
	l.checkScales(out, params, means, m2s, h, w)
	got := floats(l.Bench, out.Buf, 16+2*c+4)
	for i, v := range got {
		if v == v != (i >= 16 && i < 16+2*c) {
			l.Errorf("%d channels of scales from float 16 on: float %d is %v", c, i, v)
		}
	}
}

// TestMergeStats merges statistics of tiles, computed here, into a slice of a
// tensor's statistics. Those of single rows must be the rows'; those of more must
// give the plane's.
func TestMergeStats(t *testing.T) {
	eachLab(t, func(l *lab) {
		for i := range convtest.Cases(20) {
			src := l.Random(l.size(40, 300))
			for j, v := range src.V {
				src.V[j] = l.Round(10 + v)
			}
			p := conv.StatsTile{Rows: 1, Columns: 1 + l.Rng.IntN(40)}
			if i%2 == 1 {
				p.Rows = 2 + l.Rng.IntN(8)
			}
			l.mergeStats(src, p)
			l.Release()
		}
	})
}

func (l *lab) mergeStats(src *convtest.Plane, p conv.StatsTile) {
	l.Helper()
	before, after := l.Rng.IntN(4), l.Rng.IntN(4) // channels of the tensor beside the slice's
	all := before + src.C + after
	nan := float32(math.NaN())
	stats := l.statsRing(slices.Repeat([]float32{nan}, 2*all*src.H+16), all, src.H, src.W)
	for y := 0; y < src.H; {
		end := min(src.H, y+p.Rows*(1+l.Rng.IntN(1+src.H/p.Rows)))
		l.Must(l.MergeStats(l.Floats(tileStats(src, p, y, end)), p, stats.Slice(before, src.C), y, end))
		y = end
	}
	got := floats(l.Bench, stats.Buf, 32+2*all*src.H+16)
	var slice []float32
	for i, v := range got {
		at := (i - 32) % all
		inside := i >= 32 && i < 32+2*all*src.H && at >= before && at < before+src.C
		if v == v != inside {
			l.Fatalf("%d of %d channels from %d on: float %d is %v", src.C, all, before, i-32, v)
		}
		if inside {
			slice = append(slice, v)
		}
	}
	if p.Rows == 1 {
		l.checkRows(src, slice)
		return
	}
	for c := range src.C {
		var plane []float64
		mean, m2 := 0.0, 0.0
		for y := range src.H {
			for _, v := range src.Line(c, y) {
				plane = append(plane, float64(v))
			}
			mean += float64(slice[2*y*src.C+c]) / float64(src.H)
		}
		for y := range src.H {
			d := float64(slice[2*y*src.C+c]) - mean
			m2 += float64(slice[(2*y+1)*src.C+c]) + float64(src.W)*d*d
		}
		wantMean, want, largest := moments(plane)
		if tol := 1e-5 * want; !(math.Abs(mean-wantMean) <= 16*unit32*largest) || !(math.Abs(m2-want) <= tol+float64(len(plane))*256*unit32*unit32*largest*largest) {
			l.Errorf("%dx%d in tiles of %v: mean %v and squares %v, want %v and %v", src.H, src.W, p, mean, m2, wantMean, want)
		}
	}
}

// tileStats are the statistics of the tiles of rows [y0,y1).
func tileStats(src *convtest.Plane, p conv.StatsTile, y0, y1 int) (v []float32) {
	for ; y0 < y1; y0 += p.Rows {
		for x := 0; x < src.W; x += p.Columns {
			means, m2s := make([]float32, src.C), make([]float32, src.C)
			for c := range src.C {
				var tile []float64
				for y := y0; y < min(y0+p.Rows, y1); y++ {
					for _, v := range src.Line(c, y)[x:min(x+p.Columns, src.W)] {
						tile = append(tile, float64(v))
					}
				}
				mean, m2, _ := moments(tile)
				means[c], m2s[c] = float32(mean), float32(m2)
			}
			v = append(append(v, means...), m2s...)
		}
	}
	return v
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
			l.Errorf("statistics of %dx%d rows from float 32 on: float %d is %v", src.C, src.H, i, v)
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
func (l *lab) checkScales(out planar.Ring, params []float32, means, m2s []float64, h, w int) {
	l.Helper()
	n := len(means)
	got := floats(l.Bench, out.Buf, 16+2*n)[16:]
	for i := range n {
		scale := float64(params[i]) / math.Sqrt(m2s[i]/float64(h*w)+float64(params[2*n+i]))
		shift := float64(params[n+i]) - means[i]*scale
		gs, gb := float64(got[i]), float64(got[n+i])
		tol := 1e-4 * math.Abs(scale)
		if !(math.Abs(gs-scale) <= tol) || !(math.Abs(gb-shift) <= 1e-6+tol*math.Abs(means[i])) {
			l.Errorf("channel %d of a %dx%d plane: scale %v, shift %v, want %v, %v", i, h, w, gs, gb, scale, shift)
		}
	}
}
