package rawjpeg

import "math"

// cosines[u][x] is what frequency u adds to sample x of eight (T.81 A.3.3), for the first
// four samples: the others have the same, with the sign turned where u is odd.
var cosines = func() (t [8][4]float64) {
	for u := range t {
		scale := 0.5
		if u == 0 {
			scale = math.Sqrt(0.125)
		}
		for x := range t[u] {
			t[u][x] = scale * math.Cos(math.Pi*float64(u)*(2*float64(x)+1)/16)
		}
	}
	return t
}()

// inverseLine makes eight samples, step apart, of eight frequencies. Every product is
// rounded, so that all machines agree.
func inverseLine(v []float64, step int) {
	f := [8]float64{v[0], v[step], v[2*step], v[3*step], v[4*step], v[5*step], v[6*step], v[7*step]}
	for x := range 4 {
		even := float64(cosines[0][x]*f[0]) + float64(cosines[2][x]*f[2]) + float64(cosines[4][x]*f[4]) + float64(cosines[6][x]*f[6])
		odd := float64(cosines[1][x]*f[1]) + float64(cosines[3][x]*f[3]) + float64(cosines[5][x]*f[5]) + float64(cosines[7][x]*f[7])
		v[x*step], v[(7-x)*step] = even+odd, even-odd
	}
}

// inverseDCT makes samples of a block's coefficients, in place.
func inverseDCT(b *[64]float64) {
	for x := range 8 {
		inverseLine(b[x:], 8)
	}
	for y := range 8 {
		inverseLine(b[8*y:][:8], 1)
	}
}

// forwardDCT makes coefficients of a block's samples, in place.
func forwardDCT(b *[64]float64) {
	line := func(v []float64, step int) {
		var f [8]float64
		for u := range f {
			sign := float64(1 - u%2*2)
			for x := range 4 {
				f[u] += cosines[u][x] * (v[x*step] + sign*v[(7-x)*step])
			}
		}
		for u, x := range f {
			v[u*step] = x
		}
	}
	for y := range 8 {
		line(b[8*y:][:8], 1)
	}
	for x := range 8 {
		line(b[x:], 8)
	}
}
