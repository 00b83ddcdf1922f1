package quality

import (
	"math"
	"sync"
)

// Wang et al. 2004, section III-B and C.
const (
	windowSide  = 11
	windowSigma = 1.5
	ssimK1      = 0.01
	ssimK2      = 0.03
)

// luma holds the weights of ITU-R BT.601.
var luma = [3]float64{0.299, 0.587, 0.114}

// moments are the local sums that SSIM needs, each weighted by the window.
const (
	sumA = iota
	sumB
	sumAA
	sumBB
	sumAB
	moments
)

// ssim is the mean SSIM of one channel, row by row. The Gaussian is separable:
// every row is filtered along x at once and kept until the window's last row has
// come, then the rows are added along y.
type ssim struct {
	across, down []float64 // window weights, each summing to 1
	c1, c2       float64
	ring         [][moments][]float64 // filtered rows; row y stands at y mod len
	rows         int
	a, b         []float64          // the row to be added
	products     [moments][]float64 // of that row: a, b, a², b², ab
	sums         [moments][]float64 // of the windows that end in that row
	total        float64
	count        int64
}

func newSSIM(w, h int, peak float64) *ssim {
	s := &ssim{
		across: gaussian(w), down: gaussian(h),
		c1: math.Pow(ssimK1*peak, 2), c2: math.Pow(ssimK2*peak, 2),
		a: make([]float64, w), b: make([]float64, w),
	}
	for k := range s.products {
		s.products[k], s.sums[k] = make([]float64, w), make([]float64, w-len(s.across)+1)
	}
	s.ring = make([][moments][]float64, len(s.down))
	for i := range s.ring {
		for k := range s.ring[i] {
			s.ring[i][k] = make([]float64, w-len(s.across)+1)
		}
	}
	return s
}

// gaussian returns the window along one axis of n pixels.
func gaussian(n int) []float64 {
	if n >= windowSide {
		n = windowSide
	} else if n%2 == 0 {
		n--
	}
	g, sum := make([]float64, n), 0.0
	for i := range g {
		d := float64(i - n/2)
		g[i] = math.Exp(-d * d / (2 * windowSigma * windowSigma))
		sum += g[i]
	}
	for i := range g {
		g[i] /= sum
	}
	return g
}

// addAll gives a row of interleaved RGB to the channels R, G, B and luma, which
// work side by side. Each sums in its own order, so that the result does not
// depend on the number of cores.
func addAll(channels []*ssim, a, b []float64) {
	var wg sync.WaitGroup
	for c, s := range channels {
		wg.Go(func() {
			for x := range s.a {
				if c < 3 {
					s.a[x], s.b[x] = a[3*x+c], b[3*x+c]
				} else {
					s.a[x], s.b[x] = toLuma(a[3*x:]), toLuma(b[3*x:])
				}
			}
			s.addRow()
		})
	}
	wg.Wait()
}

func toLuma(p []float64) float64 {
	return float64(luma[0]*p[0]) + float64(luma[1]*p[1]) + float64(luma[2]*p[2])
}

// addRow takes the row in s.a and s.b.
func (s *ssim) addRow() {
	row := &s.ring[s.rows%len(s.ring)]
	s.rows++
	for x, a := range s.a {
		b := s.b[x]
		s.products[sumA][x], s.products[sumB][x] = a, b
		s.products[sumAA][x], s.products[sumBB][x], s.products[sumAB][x] = a*a, b*b, a*b
	}
	for k := range row {
		clear(row[k])
		for i, g := range s.across {
			addScaled(row[k], s.products[k][i:], g)
		}
	}
	if s.rows >= len(s.ring) {
		s.finishRow()
	}
}

// addScaled adds g·src to dst, which may be shorter.
func addScaled(dst, src []float64, g float64) {
	src = src[:len(dst)]
	for x := range dst {
		dst[x] += float64(g * src[x]) // no fused multiply-add, as everywhere
	}
}

// finishRow adds the SSIM of the window positions that end in the newest row.
func (s *ssim) finishRow() {
	for k := range s.sums {
		clear(s.sums[k])
		for i, g := range s.down {
			addScaled(s.sums[k], s.ring[(s.rows+i)%len(s.ring)][k], g) // oldest first
		}
	}
	rowTotal := 0.0
	for x, ma := range s.sums[sumA] {
		mb := s.sums[sumB][x]
		va, vb := s.sums[sumAA][x]-float64(ma*ma), s.sums[sumBB][x]-float64(mb*mb)
		cov := s.sums[sumAB][x] - float64(ma*mb)
		rowTotal += (float64(2*ma*mb) + s.c1) * (2*cov + s.c2) /
			((float64(ma*ma) + float64(mb*mb) + s.c1) * (va + vb + s.c2))
	}
	s.total += rowTotal
	s.count += int64(len(s.ring[0][0]))
}

func (s *ssim) mean() float64 { return s.total / float64(s.count) }
