package icc

import (
	"encoding/binary"
	"math"
	"sync"

	"enhance/internal/colour"
)

// curvePoints is the length of the tone curve table. 1024 points, between
// which readers interpolate, stay within 0.02 of an 8-bit step of sRGB's curve.
const curvePoints = 1024

// srgbProfile is a profile (version 2.1, display, matrix and curve,
// ICC.1:2001-04) of sRGB, computed from the primaries and the curve of
// IEC 61966-2-1.
var srgbProfile = sync.OnceValue(func() []byte {
	be := binary.BigEndian
	colorants := colour.SRGBToXYZD50()
	column := func(j int) []byte {
		return xyz([3]float64{colorants[0][j], colorants[1][j], colorants[2][j]})
	}
	curve := append([]byte("curv\x00\x00\x00\x00"), be.AppendUint32(nil, curvePoints)...)
	for i := range curvePoints {
		v := colour.SRGBDecode(float64(i) / (curvePoints - 1))
		curve = be.AppendUint16(curve, uint16(math.Round(65535*v)))
	}
	return assemble(0x02100000, []tag{
		{"desc", description("sRGB IEC61966-2.1")},
		{"cprt", []byte("text\x00\x00\x00\x00No copyright, use freely\x00")},
		{"wtpt", xyz(colour.D50.XYZ())},
		{"rXYZ", column(0)}, {"gXYZ", column(1)}, {"bXYZ", column(2)},
		{"rTRC", curve}, {"gTRC", nil}, {"bTRC", nil},
	})
})

// description is a textDescriptionType with its Unicode and ScriptCode parts
// empty.
func description(s string) []byte {
	b := []byte("desc\x00\x00\x00\x00")
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	b = append(append(b, s...), 0)
	return append(b, make([]byte, 4+4+2+1+67)...)
}
