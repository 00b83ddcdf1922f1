package colour

// Transform multiplies every pixel of a row by m, in place and in single precision.
func Transform(r, g, b []float32, m *Matrix) {
	f := flat(*m)
	g, b = g[:len(r)], b[:len(r)]
	for x, r0 := range r {
		g0, b0 := g[x], b[x]
		// The conversions forbid fused multiply-add: every machine rounds alike.
		r[x] = float32(f[0]*r0) + float32(f[1]*g0) + float32(f[2]*b0)
		g[x] = float32(f[3]*r0) + float32(f[4]*g0) + float32(f[5]*b0)
		b[x] = float32(f[6]*r0) + float32(f[7]*g0) + float32(f[8]*b0)
	}
}

// ProPhoto is the linear space of camera profiles: the primaries of ROMM RGB (ISO 22028-2),
// with the white of the ICC connection space.
var ProPhoto = Space{"ProPhoto RGB", Chromaticity{0.7347, 0.2653}, Chromaticity{0.1596, 0.8404}, Chromaticity{0.0366, 0.0001}, D50}

// HueSatMap changes colours of linear ProPhoto RGB by a table over their hue, saturation and
// value (DNG specification 1.6, chapter 6, "Hue/Saturation/Value mapping"). Between entries
// it interpolates linearly, around the circle of hues.
type HueSatMap struct {
	hues, saturations, values int
	hueScale                  float32      // entries of a sextant
	deltas                    [][3]float32 // sextants to add to the hue, factors of saturation and value
	encode, decode            *curveTable  // of values that are on sRGB's curve; else nil
}

// HueSatTable is a table as a file has it: see [NewHueSatMap].
type HueSatTable struct {
	// Hues, Saturations and Values are the divisions, at least 1, 2 and 1.
	Hues, Saturations, Values int
	// SRGBValues says that values are on sRGB's curve, for the index and when they are scaled.
	SRGBValues bool
	// Deltas are degrees to add to the hue, and factors of saturation and value, for each
	// value, hue and saturation, the innermost.
	Deltas [][3]float32
}

// encodedDepth is how many octaves below white sRGB's curve is cut into chords: below them it
// is straight.
const encodedDepth = 12

// NewHueSatMap returns the map of weight1 of table a and the rest of b, which has the same
// divisions; b may be nil. Factors of the value of greys, which must be 1, are taken for 1.
func NewHueSatMap(a, b *HueSatTable, weight1 float64) *HueSatMap {
	m := &HueSatMap{hues: a.Hues, saturations: a.Saturations, values: a.Values,
		hueScale: float32(a.Hues) / 6, deltas: make([][3]float32, len(a.Deltas))}
	if a.SRGBValues {
		m.encode, m.decode = newCurveTable(SRGBEncode, 1, -encodedDepth), newCurveTable(SRGBDecode, 1, -encodedDepth)
	}
	for i, d := range a.Deltas {
		for k := range d {
			v := float64(d[k])
			if b != nil {
				v = weight1*v + (1-weight1)*float64(b.Deltas[i][k])
			}
			if k == 0 {
				v /= 60
			}
			m.deltas[i][k] = float32(v)
		}
		if i%m.saturations == 0 { // greys stay as they are, which the specification asks of tables
			m.deltas[i][2] = 1
		}
	}
	return m
}

// Bytes is the memory that the map holds.
func (m *HueSatMap) Bytes() int64 {
	if m == nil {
		return 0
	}
	n := 12 * int64(len(m.deltas))
	if m.encode != nil {
		n += 8 * int64(len(m.encode.chords)+len(m.decode.chords))
	}
	return n
}

// Row changes a row in place. The table is looked up at gain times the light, 1 being the
// largest value that it knows; brighter light is changed like that. Components below 0
// become 0.
func (m *HueSatMap) Row(r, g, b []float32, gain float32) {
	g, b = g[:len(r)], b[:len(r)]
	for x := range r {
		r[x], g[x], b[x] = m.pixel(max(r[x], 0), max(g[x], 0), max(b[x], 0), gain)
	}
}

func (m *HueSatMap) pixel(r, g, b, gain float32) (float32, float32, float32) {
	value := max(r, g, b)
	if !(value > 0) {
		return r, g, b
	}
	h, s := hueSaturation(r, g, b, value)
	light := min(float32(value*gain), 1)
	index := light
	if m.encode != nil {
		index = m.encode.at(light)
	}
	shift, saturation, factor := m.at(h, s, index)
	if m.encode != nil && index > 0 {
		// The factor of light that scales its code so. Beyond white it stays as it is there.
		if code := float32(index * factor); code <= 1 {
			factor = m.decode.at(code) / light
		} else {
			factor = float32(SRGBDecode(float64(code))) / light
		}
	}
	return fromHueSaturation(h+shift, min(float32(s*saturation), 1), float32(value*factor))
}

// at interpolates the table. The hue is in sextants, saturation and value are within 0 to 1.
func (m *HueSatMap) at(h, s, v float32) (shift, saturation, value float32) {
	at := float32(h * m.hueScale)
	h0 := min(max(int(at), 0), m.hues-1)
	hf, h1 := min(max(at-float32(h0), 0), 1), h0+1
	if h1 == m.hues {
		h1 = 0
	}
	at = float32(s * float32(m.saturations-1))
	s0 := min(max(int(at), 0), m.saturations-2)
	sf := min(max(at-float32(s0), 0), 1)
	a, b := m.deltas[h0*m.saturations+s0:], m.deltas[h1*m.saturations+s0:]
	if m.values < 2 {
		return mix4(a, b, sf, hf)
	}
	at = float32(v * float32(m.values-1))
	v0 := min(max(int(at), 0), m.values-2)
	vf := min(max(at-float32(v0), 0), 1)
	plane := m.hues * m.saturations
	a, b = a[v0*plane:], b[v0*plane:]
	shift, saturation, value = mix4(a, b, sf, hf)
	shift1, saturation1, value1 := mix4(a[plane:], b[plane:], sf, hf)
	return lerp(shift, shift1, vf), lerp(saturation, saturation1, vf), lerp(value, value1, vf)
}

// mix4 interpolates between a[0] and a[1] along the saturation, and those of b along the hue.
func mix4(a, b [][3]float32, sf, hf float32) (shift, saturation, value float32) {
	a0, a1, b0, b1 := &a[0], &a[1], &b[0], &b[1]
	return lerp(lerp(a0[0], a1[0], sf), lerp(b0[0], b1[0], sf), hf),
		lerp(lerp(a0[1], a1[1], sf), lerp(b0[1], b1[1], sf), hf),
		lerp(lerp(a0[2], a1[2], sf), lerp(b0[2], b1[2], sf), hf)
}

func lerp(a, b, f float32) float32 { return a + float32(f*(b-a)) }

// hueSaturation is the hue of a colour in sextants, 0 to 6 from red over green, and its
// saturation, given its largest component.
func hueSaturation(r, g, b, value float32) (h, s float32) {
	span := value - min(r, g, b)
	if !(span > 0) {
		return 0, 0
	}
	switch value {
	case r:
		if h = (g - b) / span; h < 0 {
			h += 6
		}
	case g:
		h = 2 + (b-r)/span
	default:
		h = 4 + (r-g)/span
	}
	return h, span / value
}

// fromHueSaturation is the colour of a hue in sextants, -6 to 12, a saturation and a value.
func fromHueSaturation(h, s, v float32) (r, g, b float32) {
	if h < 0 {
		h += 6
	}
	if h >= 6 {
		h -= 6
	}
	i := min(max(int(h), 0), 5)
	f := h - float32(i)
	low := v * (1 - s)
	falling, rising := v*(1-float32(s*f)), v*(1-float32(s*(1-f)))
	switch i {
	case 0:
		return v, rising, low
	case 1:
		return falling, v, low
	case 2:
		return low, v, rising
	case 3:
		return low, falling, v
	case 4:
		return rising, low, v
	}
	return v, low, falling
}
