// Package icc makes the ICC profiles of the pictures that are written: display profiles of
// RGB with a matrix and a curve, computed from the primaries and the constants of an
// encoding. [Of] is all there is to call.
//
// sRGB gets a profile of version 2.1 with a curve of 1024 points (srgb.go), which every
// reader takes. The other encodings get one of version 4.3 (ICC.1:2010-12) whose curves
// are formulas, so that 16-bit codes mean exactly the light that they were made from.
package icc

import (
	"encoding/binary"
	"math"
	"unicode/utf16"

	"enhance/internal/colour"
)

// Of returns the profile of an encoding. The caller may keep it but not change it.
func Of(e colour.Encoding) []byte {
	if e == colour.SRGBEncoding {
		return srgbProfile()
	}
	white := colour.D50.XYZ()
	r, g, b := colorants(e.Space)
	curve := parametric(e.Transfer)
	return assemble(0x04300000, []tag{
		{"desc", localised(e.Name)},
		{"cprt", localised("No copyright, use freely")},
		{"wtpt", xyz(white)},
		{"chad", adaptation(e.Space.White)},
		{"rXYZ", r}, {"gXYZ", g}, {"bXYZ", b},
		{"rTRC", curve}, {"gTRC", nil}, {"bTRC", nil},
	})
}

// tag is an entry of a profile. Without data it shares that of the entry before.
type tag struct {
	name string
	data []byte
}

// assemble lays a profile out.
func assemble(version uint32, tags []tag) []byte {
	be := binary.BigEndian
	table := be.AppendUint32(nil, uint32(len(tags)))
	start := headerSize + 4 + 12*len(tags)
	var data []byte
	var offset, size int
	for _, t := range tags {
		if t.data != nil {
			offset, size = start+len(data), len(t.data)
			data = append(data, t.data...)
			for len(data)%4 != 0 {
				data = append(data, 0)
			}
		}
		table = append(table, t.name...)
		table = be.AppendUint32(table, uint32(offset))
		table = be.AppendUint32(table, uint32(size))
	}
	profile := append(header(version, start+len(data)), table...)
	return append(profile, data...)
}

const headerSize = 128

// header is that of an RGB display profile.
func header(version uint32, size int) []byte {
	be := binary.BigEndian
	h := make([]byte, headerSize)
	be.PutUint32(h, uint32(size))
	be.PutUint32(h[8:], version)
	copy(h[12:], "mntrRGB XYZ ")
	// A fixed date keeps the bytes of pictures reproducible: 2000-01-01 00:00:00.
	for i, v := range []uint16{2000, 1, 1, 0, 0, 0} {
		be.PutUint16(h[24+2*i:], v)
	}
	copy(h[36:], "acsp")
	copy(h[68:], xyz(colour.D50.XYZ())[8:]) // illuminant of the connection space
	return h
}

// fixed is a number as s15Fixed16.
func fixed(x float64) int32 { return int32(math.Round(65536 * x)) }

// xyz is an XYZType of one colour.
func xyz(v [3]float64) []byte { return xyzFixed([3]int32{fixed(v[0]), fixed(v[1]), fixed(v[2])}) }

func xyzFixed(v [3]int32) []byte {
	b := []byte("XYZ \x00\x00\x00\x00")
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(b, uint32(x))
	}
	return b
}

// colorants are the primaries, rounded so that they add up to the white exactly: grey is
// then grey to the last bit.
func colorants(s colour.Space) (r, g, b []byte) {
	m, white := s.ToXYZD50(), colour.D50.XYZ()
	var columns [3][3]int32
	for i := range m {
		rest, largest := fixed(white[i]), 0
		for j := range m[i] {
			columns[j][i] = fixed(m[i][j])
			rest -= columns[j][i]
			if m[i][j] > m[i][largest] {
				largest = j
			}
		}
		columns[largest][i] += rest
	}
	return xyzFixed(columns[0]), xyzFixed(columns[1]), xyzFixed(columns[2])
}

// adaptation is an s15Fixed16ArrayType of the matrix from a white to the connection space's.
func adaptation(white colour.Chromaticity) []byte {
	b := []byte("sf32\x00\x00\x00\x00")
	for _, row := range colour.Adapt(white, colour.D50) {
		for _, v := range row {
			b = binary.BigEndian.AppendUint32(b, uint32(fixed(v)))
		}
	}
	return b
}

// parametric is a parametricCurveType: Y = (aX+b)^g from d on, c·X below it.
func parametric(t *colour.Transfer) []byte {
	kind, numbers := uint16(3), []float64{t.Gamma, 1 / (1 + t.Lift), t.Lift / (1 + t.Lift), 1 / t.Slope, t.CodeKnee}
	if t == colour.LinearTransfer {
		kind, numbers = 0, []float64{1}
	}
	b := binary.BigEndian.AppendUint16([]byte("para\x00\x00\x00\x00"), kind)
	b = append(b, 0, 0)
	for _, v := range numbers {
		b = binary.BigEndian.AppendUint32(b, uint32(fixed(v)))
	}
	return b
}

// localised is a multiLocalizedUnicodeType with one text, in American English.
func localised(s string) []byte {
	be := binary.BigEndian
	text := utf16.Encode([]rune(s))
	b := []byte("mluc\x00\x00\x00\x00")
	b = be.AppendUint32(b, 1)  // records
	b = be.AppendUint32(b, 12) // bytes of one
	b = append(b, "enUS"...)
	b = be.AppendUint32(b, uint32(2*len(text)))
	b = be.AppendUint32(b, 28) // where the text begins
	for _, u := range text {
		b = be.AppendUint16(b, u)
	}
	return b
}
