package mosaic

import "math"

// NeutralFromXY returns the camera's response to light of CIE chromaticity x, y
// (green scaled to 1) by the DNG specification's chapter 6: camera = AB * CC *
// CM * XYZ, where between two calibration illuminants CC and CM are
// interpolated linearly in the reciprocal of the colour temperature. It returns
// nil if there is no ColorMatrix or the result is not a usable neutral.
func (m *Meta) NeutralFromXY(x, y float64) *[3]float64 {
	if m.ColorMatrix1 == nil || !(x > 0) || !(y > 0) || !(x+y < 1) {
		return nil
	}
	g := m.weightOfFirst(x, y)
	cm := mix(m.ColorMatrix1, m.ColorMatrix2, g)
	cc := identity
	if m.CameraCalibration1 != nil {
		cc = mix(m.CameraCalibration1, m.CameraCalibration2, g)
	}
	xyz := [3]float64{x / y, 1, (1 - x - y) / y}
	n := apply(cc, apply(cm, xyz))
	for i := range n {
		n[i] *= m.AnalogBalance[i]
	}
	for i := range n {
		if !(n[i] > 0) || math.IsInf(n[i], 0) {
			return nil
		}
	}
	return &[3]float64{n[0] / n[1], 1, n[2] / n[1]}
}

var identity = [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}

// weightOfFirst is the weight of the first calibration illuminant, 0 to 1, for
// a white of chromaticity x, y.
func (m *Meta) weightOfFirst(x, y float64) float64 {
	t1, t2 := illuminantKelvin(m.Illuminant1), illuminantKelvin(m.Illuminant2)
	if m.ColorMatrix2 == nil || t1 == 0 || t2 == 0 || t1 == t2 {
		return 1
	}
	// McCamy, "Correlated color temperature as an explicit function of
	// chromaticity coordinates", Color Res. Appl. 17, 1992.
	n := (x - 0.3320) / (0.1858 - y)
	t := ((449*n+3525)*n+6823.3)*n + 5520.33
	if !(t > 0) {
		return 1
	}
	return min(1, max(0, (1/t-1/t2)/(1/t1-1/t2)))
}

// illuminantKelvin gives the correlated colour temperature of an Exif
// LightSource code, 0 if it has none.
func illuminantKelvin(code int) float64 {
	switch code {
	case 3, 17: // tungsten, standard light A
		return 2856
	case 24: // ISO studio tungsten
		return 3200
	case 23: // D50
		return 5003
	case 1, 4, 9, 18, 20: // daylight, flash, fine weather, standard light B, D55
		return 5503
	case 10, 19, 21: // cloudy, standard light C, D65
		return 6504
	case 11, 22: // shade, D75
		return 7504
	case 12: // daylight fluorescent
		return 6430
	case 13: // day white fluorescent
		return 5000
	case 2, 14: // fluorescent, cool white fluorescent
		return 4150
	case 15: // white fluorescent
		return 3450
	case 16: // warm white fluorescent
		return 2925
	}
	return 0
}

// mix is g*a + (1-g)*b, or a if there is no b.
func mix(a, b *[3][3]float64, g float64) [3][3]float64 {
	if b == nil {
		return *a
	}
	var out [3][3]float64
	for i := range out {
		for j := range out[i] {
			out[i][j] = g*a[i][j] + (1-g)*b[i][j]
		}
	}
	return out
}

func apply(m [3][3]float64, v [3]float64) [3]float64 {
	var out [3]float64
	for i := range out {
		out[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return out
}
