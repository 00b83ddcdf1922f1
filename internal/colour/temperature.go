package colour

import "math"

// isotherm is one of Robertson's lines of constant correlated temperature in
// the CIE 1960 (u, v) diagram.
type isotherm struct{ mired, u, v, slope float64 }

// robertson is the table of Robertson (1968) as Wyszecki and Stiles print it
// (Color Science, 2nd ed., table 1(3.11)), with the u of 325 mired corrected to
// 0.24792 from the misprint 0.24702.
var robertson = [31]isotherm{
	{0, 0.18006, 0.26352, -0.24341}, {10, 0.18066, 0.26589, -0.25479},
	{20, 0.18133, 0.26846, -0.26876}, {30, 0.18208, 0.27119, -0.28539},
	{40, 0.18293, 0.27407, -0.30470}, {50, 0.18388, 0.27709, -0.32675},
	{60, 0.18494, 0.28021, -0.35156}, {70, 0.18611, 0.28342, -0.37915},
	{80, 0.18740, 0.28668, -0.40955}, {90, 0.18880, 0.28997, -0.44278},
	{100, 0.19032, 0.29326, -0.47888}, {125, 0.19462, 0.30141, -0.58204},
	{150, 0.19962, 0.30921, -0.70471}, {175, 0.20525, 0.31647, -0.84901},
	{200, 0.21142, 0.32312, -1.0182}, {225, 0.21807, 0.32909, -1.2168},
	{250, 0.22511, 0.33439, -1.4512}, {275, 0.23247, 0.33904, -1.7298},
	{300, 0.24010, 0.34308, -2.0637}, {325, 0.24792, 0.34655, -2.4681},
	{350, 0.25591, 0.34951, -2.9641}, {375, 0.26400, 0.35200, -3.5814},
	{400, 0.27218, 0.35407, -4.3633}, {425, 0.28039, 0.35577, -5.3762},
	{450, 0.28863, 0.35714, -6.7262}, {475, 0.29685, 0.35823, -8.5955},
	{500, 0.30505, 0.35907, -11.324}, {525, 0.31320, 0.35968, -15.628},
	{550, 0.32129, 0.36011, -23.325}, {575, 0.32931, 0.36038, -40.770},
	{600, 0.33724, 0.36051, -116.45},
}

// maxTemperature stands for everything bluer than the table: its first line is
// infinitely hot.
const maxTemperature = 100000

// Temperature returns the correlated colour temperature of c in kelvin by
// Robertson's method: interpolation in mired between the two isotherms that c
// lies between. The result is 1667..100000 K; colours beyond either end get that
// end. It means little far from the Planckian locus.
func (c Chromaticity) Temperature() float64 {
	d := -2*c.X + 12*c.Y + 3
	if !(d > 0) {
		return 1e6 / robertson[len(robertson)-1].mired
	}
	u, v := 4*c.X/d, 6*c.Y/d
	prev := 0.0
	for i, l := range robertson {
		// Signed distance from the line: positive while c is on its cold side.
		dist := ((v - l.v) - l.slope*(u-l.u)) / math.Hypot(1, l.slope)
		if dist <= 0 || i == len(robertson)-1 {
			if i == 0 {
				return maxTemperature
			}
			dist = math.Max(-dist, 0)
			f := 0.0
			if prev+dist > 0 {
				f = prev / (prev + dist)
			}
			cold := robertson[i-1]
			return math.Min(1e6/(cold.mired+f*(l.mired-cold.mired)), maxTemperature)
		}
		prev = dist
	}
	panic("colour: unreachable: the last isotherm always returns")
}

// LightSourceTemperature returns the colour temperature in kelvin of an EXIF
// LightSource code, as DNG calibration tags use it, or 0 if the code names no
// temperature (unknown, other, or not assigned). Fluorescent lights get the
// middle of the range that Exif 2.3 prints.
func LightSourceTemperature(code int) float64 {
	switch code {
	case 1, 4, 9, 18, 20: // daylight, flash, fine weather, standard B, D55
		return 5500
	case 2, 14: // fluorescent, cool white fluorescent 3800-4500
		return 4150
	case 3, 17: // tungsten, standard A
		return 2856
	case 10, 19, 21: // cloudy, standard C, D65
		return 6500
	case 11, 22: // shade, D75
		return 7500
	case 12: // daylight fluorescent 5700-7100
		return 6400
	case 13: // day white fluorescent 4600-5500
		return 5050
	case 15: // white fluorescent 3250-3800
		return 3525
	case 16: // warm white fluorescent 2600-3250
		return 2925
	case 23: // D50
		return 5000
	case 24: // ISO studio tungsten
		return 3200
	}
	return 0
}
