package imgio

import (
	"encoding/binary"
	"math"
	"sync"

	"enhance/internal/colour"
)

// iccCurvePoints is the length of the tone curve table. 1024 points, between
// which readers interpolate, stay within 0.02 of an 8-bit step of sRGB's curve.
const iccCurvePoints = 1024

// SRGBProfile returns an ICC profile (version 2.1, display, matrix and curve,
// ICC.1:2001-04) of sRGB, computed from the primaries and the curve of
// IEC 61966-2-1. The caller may keep it but not change it.
var SRGBProfile = sync.OnceValue(buildSRGBProfile)

func buildSRGBProfile() []byte {
	be := binary.BigEndian
	colorants := colour.SRGBToXYZD50()
	column := func(j int) []byte {
		return iccXYZ([3]float64{colorants[0][j], colorants[1][j], colorants[2][j]})
	}
	curve := append([]byte("curv\x00\x00\x00\x00"), be.AppendUint32(nil, iccCurvePoints)...)
	for i := range iccCurvePoints {
		v := colour.SRGBDecode(float64(i) / (iccCurvePoints - 1))
		curve = be.AppendUint16(curve, uint16(math.Round(65535*v)))
	}
	white := iccXYZ(colour.D50.XYZ())
	tags := []struct {
		name string
		data []byte
	}{
		{"desc", iccDescription("sRGB IEC61966-2.1")},
		{"cprt", []byte("text\x00\x00\x00\x00No copyright, use freely\x00")},
		{"wtpt", white},
		{"rXYZ", column(0)}, {"gXYZ", column(1)}, {"bXYZ", column(2)},
		{"rTRC", curve}, {"gTRC", nil}, {"bTRC", nil}, // nil shares the data before
	}
	table := be.AppendUint32(nil, uint32(len(tags)))
	dataStart := 128 + 4 + 12*len(tags)
	var data []byte
	var offset, size int
	for _, t := range tags {
		if t.data != nil {
			offset, size = dataStart+len(data), len(t.data)
			data = append(data, t.data...)
			for len(data)%4 != 0 {
				data = append(data, 0)
			}
		}
		table = append(table, t.name...)
		table = be.AppendUint32(table, uint32(offset))
		table = be.AppendUint32(table, uint32(size))
	}
	profile := append(iccHeader(dataStart+len(data)), table...)
	return append(profile, data...)
}

// iccHeader is the 128-byte header of an RGB display profile.
func iccHeader(size int) []byte {
	be := binary.BigEndian
	h := make([]byte, 128)
	be.PutUint32(h, uint32(size))
	be.PutUint32(h[8:], 0x02100000) // version 2.1
	copy(h[12:], "mntrRGB XYZ ")
	// A fixed date keeps the bytes of pictures reproducible: 2000-01-01 00:00:00.
	for i, v := range []uint16{2000, 1, 1, 0, 0, 0} {
		be.PutUint16(h[24+2*i:], v)
	}
	copy(h[36:], "acsp")
	copy(h[68:], iccXYZ(colour.D50.XYZ())[8:]) // illuminant of the connection space
	return h
}

// iccXYZ is an XYZType of one colour in s15Fixed16.
func iccXYZ(v [3]float64) []byte {
	b := []byte("XYZ \x00\x00\x00\x00")
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(b, uint32(int32(math.Round(65536*x))))
	}
	return b
}

// iccDescription is a textDescriptionType with its Unicode and ScriptCode parts
// empty.
func iccDescription(s string) []byte {
	b := []byte("desc\x00\x00\x00\x00")
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	b = append(append(b, s...), 0)
	return append(b, make([]byte, 4+4+2+1+67)...)
}
