package noise

import "math"

const (
	side      = 8  // of a block, in samples of one filter place
	highFrom  = 8  // frequencies u+v from here on measure
	highCount = 28 // so many they are
	midFrom   = 2  // frequencies from here to highFrom choose; below are slopes
	midCount  = 33 // so many they are
)

// block is a block of samples of one filter place.
type block [side][side]float64

// spectrum is what is kept of a block, in stored units.
type spectrum struct {
	mean      float64 // above black; NaN: the block is left out
	least     float64 // sample above black
	mid, high float64 // mean energy of a frequency
}

// half cosines of the orthonormal discrete cosine transform: frequency u of eight
// samples is a sum over the four sums (u even) or differences (u odd) of opposite
// samples.
var cosines = func() (t [side][side / 2]float64) {
	for u := range t {
		scale := math.Sqrt(2.0 / side)
		if u == 0 {
			scale = math.Sqrt(1.0 / side)
		}
		for x := range t[u] {
			t[u][x] = scale * math.Cos(math.Pi*float64(u)*(2*float64(x)+1)/(2*side))
		}
	}
	return t
}()

// transform is the cosine transform of eight numbers. Every product is rounded, so
// that all machines agree.
func transform(v *[side]float64) (f [side]float64) {
	a, b, c, d := v[0]+v[7], v[1]+v[6], v[2]+v[5], v[3]+v[4]
	for u := 0; u < side; u += 2 {
		t := &cosines[u]
		f[u] = float64(t[0]*a) + float64(t[1]*b) + float64(t[2]*c) + float64(t[3]*d)
	}
	a, b, c, d = v[0]-v[7], v[1]-v[6], v[2]-v[5], v[3]-v[4]
	for u := 1; u < side; u += 2 {
		t := &cosines[u]
		f[u] = float64(t[0]*a) + float64(t[1]*b) + float64(t[2]*c) + float64(t[3]*d)
	}
	return f
}

// measure sums up the block's frequencies.
func (q *block) measure() (s spectrum) {
	var columns block // [u][i]: frequency u across row i
	for i := range q {
		for u, f := range transform(&q[i]) {
			columns[u][i] = f
		}
	}
	for u := range columns {
		f := transform(&columns[u])
		for v, x := range f {
			switch e := float64(x * x); {
			case u+v >= highFrom:
				s.high += e
			case u+v >= midFrom:
				s.mid += e
			case u+v == 0:
				s.mean = x / side
			}
		}
	}
	s.mid /= midCount
	s.high /= highCount
	return s
}
