package colour

import "math"

// Lab is CIELAB of linear sRGB light, relative to D65.
func Lab(rgb [3]float64) [3]float64 { return labOf(Apply(srgbToXYZ, rgb)) }

var (
	srgbToXYZ = SRGBToXYZ()
	whiteD65  = D65.XYZ()
)

func labOf(xyz [3]float64) [3]float64 {
	var f [3]float64
	for c := range f {
		t := xyz[c] / whiteD65[c]
		if f[c] = math.Cbrt(t); t <= 216.0/24389 {
			f[c] = (24389.0/27*t + 16) / 116
		}
	}
	return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}

// DeltaE2000 is the CIEDE2000 difference of two colours in CIELAB, with all parametric
// factors 1: G. Sharma, W. Wu and E. Dalal, "The CIEDE2000 Color-Difference Formula", Color
// Research and Application 30(1), 2005. 1 is about what an eye can tell apart.
func DeltaE2000(p, q [3]float64) float64 {
	g := 0.5 * (1 - chromaWeight((math.Hypot(p[1], p[2])+math.Hypot(q[1], q[2]))/2))
	c1, h1 := polar(p, g)
	c2, h2 := polar(q, g)
	dh, hm := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, hm = 0, h1+h2
	case math.Abs(h1-h2) > 180:
		dh -= math.Copysign(360, dh)
		if hm += 180; h1+h2 >= 360 {
			hm -= 360
		}
	}
	dl, dc := q[0]-p[0], c2-c1
	dH := 2 * math.Sqrt(c1*c2) * math.Sin(dh/2*radian)
	lm, cm := (p[0]+q[0])/2, (c1+c2)/2
	t := 1 - 0.17*math.Cos((hm-30)*radian) + 0.24*math.Cos(2*hm*radian) + 0.32*math.Cos((3*hm+6)*radian) - 0.20*math.Cos((4*hm-63)*radian)
	turn := 30 * math.Exp(-((hm-275)/25)*((hm-275)/25))
	l2 := (lm - 50) * (lm - 50)
	sl := 1 + 0.015*l2/math.Sqrt(20+l2)
	sc, sh := 1+0.045*cm, 1+0.015*cm*t
	rt := -math.Sin(2*turn*radian) * 2 * chromaWeight(cm)
	l, c, h := dl/sl, dc/sc, dH/sh
	return math.Sqrt(max(0, l*l+c*c+h*h+rt*c*h))
}

const radian = math.Pi / 180

// chromaWeight is the root of c^7/(c^7 + 25^7).
func chromaWeight(c float64) float64 {
	c7 := c * c * c * c * c * c * c
	return math.Sqrt(c7 / (c7 + 6103515625))
}

// polar is the chroma and the hue, in degrees from 0, with the a axis stretched by 1+g.
func polar(v [3]float64, g float64) (chroma, hue float64) {
	a := (1 + g) * v[1]
	if hue = math.Atan2(v[2], a) / radian; hue < 0 {
		hue += 360
	}
	return math.Hypot(a, v[2]), hue
}
