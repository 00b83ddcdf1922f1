package colour

import "math"

// This file gives what Tone and Transfer look up as plain numbers, for kernels that do the same.

// ToneTables are what Tone.Row calculates with.
type ToneTables struct {
	ToWide, ToOutput [9]float32
	Luminance        [3]float32
	// The curve of light x is, with s = Scale·x: Slope·s if the bits of s are below First, 1 if
	// s is at least 1, and else base + rise·s of the chord (bits of s - First) >> CurveShift.
	Scale, Slope float32
	First        uint32
	Chords       [][2]float32 // base, rise
}

// CurveShift and MaxCurveChords are of ToneTables.
const (
	CurveShift     = curveShift
	MaxCurveChords = 126 << curveBits
)

// GamutKnee is how far colours may be on the way from grey to the gamut's bounds before they
// are moved.
const GamutKnee = gamutKnee

// Tables are the tone's.
func (t *Tone) Tables() ToneTables {
	c := t.curve
	out := ToneTables{ToWide: t.toWide, ToOutput: t.toOutput, Luminance: t.luminance, Scale: c.scale, Slope: c.slope, First: c.first}
	for _, k := range c.chords {
		out.Chords = append(out.Chords, [2]float32{k.base, k.rise})
	}
	return out
}

// CodeTables are what Transfer.EncodeLight calculates with, in single precision: a code is the whole part of
// Slope·x + 1/2 up to Knee; beyond it, chord (bits of x - CodeFirst) >> CodeShift has it.
type CodeTables struct {
	Knee, Slope float32
	Chords      [][3]float32 // the code at the chord's beginning, its fraction plus 1/2, rise
}

// The layout of CodeTables.
const (
	CodeShift  = encodeShift
	CodeFirst  = encodeFirst
	CodeChords = encodeOctaves << encodeBits
)

// Tables are the transfer's.
func (t *Transfer) Tables() CodeTables {
	table := t.table()
	out := CodeTables{Knee: table.knee, Slope: float32(table.slope)}
	for i, c := range table.chords {
		x := float64(math.Float32frombits(uint32(encodeFirst + i<<encodeShift)))
		whole, part := math.Modf(c.base + c.rise*x)
		out.Chords = append(out.Chords, [3]float32{float32(whole), float32(part + 0.5), float32(c.rise)})
	}
	return out
}
