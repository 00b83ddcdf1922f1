// Package planar defines how activation rows lie in memory, on the device and
// on their way to it, and holds the OpenCL prelude that kernels read and write
// them with.
//
// A row of a tensor is its C channels one after another, each a line of Pitch
// samples: Pad samples, the W samples of the row, and the rest. The Rim samples
// on either side of the W mirror the row without repeating its edge, repeat its edge, or
// are zero, as the program pads (fuse.Program.Pad), so that a
// convolution of up to 2·Rim+1 columns reads its horizontal padding like any
// other sample. Whoever writes a row writes its rim. What lies beyond the rim is
// undefined and may be read, never used.
//
// A tensor on the device is a ring of such rows: row y is at slot y mod Rows.
// Vector loads may run past the last line of a ring by less than Overrun
// samples, which the ring's buffer has room for.
//
// Codes of 8 bits (fuse.Codes) lie four channels to a word of 32 bits: byte b of word x of line g is
// the code of channel 4g+b at column x. The words are as samples of float32 elsewhere, with pad, rim and pitch;
// a tensor of C channels has ⌈C/4⌉ lines. Bytes are codes of 0..255, signed codes plus 128.
// The bytes of channels beyond C, and the rim where planes are padded with zeros, hold the code of zero.
//
// Octets (fuse.Octets) are eight samples of binary16 in 16 bytes: half h of octet x of line g is channel 8g+h at column
// x. The octets are as samples elsewhere, with pad, rim and pitch; a tensor of C channels has ⌈C/8⌉ lines. Whoever
// writes a row writes zeros for channels beyond C, in the rim too, so that they may be multiplied by weights of zero.
// A view begins at a multiple of eight channels, and ends at one or with its tensor.
//
// Pairs (fuse.Pairs) are two samples of bfloat16, the upper halves of float32, in a word of 32 bits: half h of
// word x of line g is channel 2g+h at column x. The words are as those of codes elsewhere, a tensor of C
// channels has ⌈C/2⌉ lines, and a channel beyond C is zero. Split samples (fuse.Split) are each the sum of two
// of bfloat16, the sample rounded and what that leaves, rounded. Of two channels they take three lines of
// words: twice the pairs of their first parts, for the two parts of weights, and the pairs of their second
// parts. A tensor of C channels has 3·⌈C/2⌉ lines.
//
// Rows of statistics and scales (see package fuse) hold 2·C float32 without
// padding, rows of stored samples lines of SamplePitch numbers of 16 bits without a rim,
// and rows of pixels one such line, or one of BytePitch bytes.
package planar

import (
	_ "embed"

	"enhance/clrt"
	"enhance/internal/fuse"
	"enhance/model"
)

const (
	// Pad is the number of samples before the first of a line. It keeps the
	// first sample of every line aligned to 64 bytes in float32.
	Pad = 16
	// Rim is how many of them, and how many after the last, mirror the line. A
	// 9×9 kernel needs 4.
	Rim = 4
	// Overrun is how many samples a vector load may read past the end of a ring.
	Overrun = 128
)

// Pitch is the distance between lines of W samples, in samples.
func Pitch(w int) int { return Pad + (w+15)/16*16 + 16 }

// SamplePitch is the distance between lines of W stored samples, in samples.
func SamplePitch(w int) int { return (w + 31) / 32 * 32 }

// BytePitch is the same for codes of 8 bits.
func BytePitch(w int) int { return (w + 63) / 64 * 64 }

// Precision is how activation samples are stored.
type Precision uint8

const (
	// FP32 stores IEEE 754 binary32.
	FP32 Precision = iota
	// FP16 stores binary16; arithmetic stays in float32.
	FP16
)

func (p Precision) String() string { return [...]string{"fp32", "fp16"}[p] }

// Bytes is the size of one sample.
func (p Precision) Bytes() int64 {
	if p == FP16 {
		return 2
	}
	return 4
}

// RowBytes is the size of one row of tensor t.
func RowBytes(t fuse.Tensor, p Precision) int64 {
	switch t.Storage {
	case fuse.Codes:
		return int64(Words(t.C)) * int64(Pitch(t.W)) * 4
	case fuse.Octets:
		return int64(Octets(t.C)) * int64(Pitch(t.W)) * OctetBytes
	case fuse.Pairs:
		return int64(Pairs(t.C)) * int64(Pitch(t.W)) * 4
	case fuse.Split:
		return int64(SplitLines(t.C)) * int64(Pitch(t.W)) * 4
	case fuse.Floats:
		return 4 * int64(t.C) * int64(Pitch(t.W))
	case fuse.Pixels:
		return 2 * int64(SamplePitch(t.C*t.W))
	case fuse.PixelBytes:
		return int64(BytePitch(t.C * t.W))
	case fuse.Samples:
		return 2 * int64(t.C) * int64(SamplePitch(t.W))
	case fuse.Stats, fuse.Scales:
		return int64(t.C) * 8
	}
	return int64(t.C) * int64(Pitch(t.W)) * p.Bytes()
}

// RimBytes is what a ring of tensor t needs besides its rows.
func RimBytes(t fuse.Tensor, p Precision) int64 {
	switch t.Storage {
	case fuse.Codes, fuse.Pairs, fuse.Split:
		return Overrun * 4
	case fuse.Octets:
		return Overrun * OctetBytes
	case fuse.Floats:
		return Overrun * 4
	case fuse.Samples, fuse.Pixels, fuse.PixelBytes, fuse.Stats, fuse.Scales:
		return 0
	}
	return Overrun * p.Bytes()
}

// Words is how many words the codes of c channels take.
func Words(c int) int { return (c + fuse.CodesInWord - 1) / fuse.CodesInWord }

// Pairs is how many words the channels of a column take as pairs, c of them.
func Pairs(c int) int { return (c + fuse.ChannelsInPair - 1) / fuse.ChannelsInPair }

// LinesInSplit is how many lines two channels of split samples take.
const LinesInSplit = 3

// SplitLines is how many lines c channels of split samples take.
func SplitLines(c int) int { return LinesInSplit * Pairs(c) }

// OctetBytes is the size of an octet.
const OctetBytes = 16

// Octets is how many octets the channels of a column take, c of them.
func Octets(c int) int { return (c + fuse.ChannelsInOctet - 1) / fuse.ChannelsInOctet }

// Ring is a tensor on the device, or some of its channels. The channels of a ring of codes are
// words of four, those of a ring of octets are octets, those of a ring of pairs words of two, those of split samples lines.
type Ring struct {
	Buf   *clrt.Buffer
	Base  int64 // bytes from the start of Buf to slot 0, a multiple of BaseAlign
	Rows  int   // slots
	C     int   // channels of the view
	C0    int   // first channel of the view
	CAll  int   // channels of the tensor
	H, W  int
	Pitch int

	Codes, Octets, Pairs, Split bool
}

// BaseAlign is the unit of a ring's place in its buffer. Rings share buffers by
// offset, not as sub-buffers: NVIDIA's driver crashes when sub-buffers that
// overlap are released, and rings that live at different times do.
const BaseAlign = 64

// NewRing describes tensor t stored in buf, from byte base on, with rows slots.
func NewRing(buf *clrt.Buffer, base int64, t fuse.Tensor, rows int) Ring {
	r := Ring{Buf: buf, Base: base, Rows: rows, C: t.C, CAll: t.C, H: t.H, W: t.W, Pitch: Pitch(t.W)}
	switch t.Storage {
	case fuse.Codes:
		r.Codes, r.C, r.CAll = true, Words(t.C), Words(t.C)
	case fuse.Octets:
		r.Octets, r.C, r.CAll = true, Octets(t.C), Octets(t.C)
	case fuse.Pairs:
		r.Pairs, r.C, r.CAll = true, Pairs(t.C), Pairs(t.C)
	case fuse.Split:
		r.Split, r.C, r.CAll = true, SplitLines(t.C), SplitLines(t.C)
	case fuse.Samples:
		r.Pitch = SamplePitch(t.W)
	case fuse.Pixels:
		r.C, r.CAll, r.Pitch = 1, 1, SamplePitch(t.C*t.W)
	case fuse.PixelBytes:
		r.C, r.CAll, r.Pitch = 1, 1, BytePitch(t.C*t.W)
	}
	return r
}

// Slice is the view of the tensor's channels [c0, c0+c); of codes, c0 is a multiple of four, of octets one of
// eight, of pairs and split samples one of two.
func (r Ring) Slice(c0, c int) Ring {
	switch {
	case r.Codes:
		c0, c = c0/fuse.CodesInWord, Words(c)
	case r.Octets:
		c0, c = c0/fuse.ChannelsInOctet, Octets(c)
	case r.Pairs:
		c0, c = c0/fuse.ChannelsInPair, Pairs(c)
	case r.Split:
		c0, c = SplitLines(c0), SplitLines(c)
	}
	r.C0, r.C = r.C0+c0, c
	return r
}

// Arg is the ring as the kernel argument type ring_t of the prelude.
func (r Ring) Arg() [8]int32 {
	return [8]int32{int32(r.Rows), int32(r.CAll * r.Pitch), int32(r.C0 * r.Pitch), int32(r.C), int32(r.H), int32(r.W), int32(r.Pitch), int32(r.Base / BaseAlign)}
}

//go:embed prelude.cl
var prelude string

//go:embed codes.cl
var codesCL string

//go:embed octets.cl
var octetsCL string

//go:embed pairs.cl
var pairsCL string

// PairsSource is what stands after [Source] in programs whose kernels read or write pairs or split samples.
func PairsSource() string { return codesCL + pairsCL }

// OctetsSource is what stands after [Source] in programs whose kernels read or write octets.
func OctetsSource() string { return octetsCL }

// CodesSource is what stands after [Source] in programs whose kernels read or write codes.
func CodesSource() string { return codesCL }

// ActSource is what stands before [Source] in a program whose kernels apply act, behind the residual
// if resFirst. Its expression holds for vectors too.
func ActSource(act fuse.Act, resFirst bool) string {
	first := ""
	if resFirst {
		first = "#define RES_FIRST 1\n"
	}
	text := map[fuse.Act]string{
		fuse.PReLU:     "select((v) * (s), (v), (v) >= 0.0f)",
		fuse.Clipped:   "select(fmin(fmax((v), 0.0f), (s)), (v), isnan(v))",
		fuse.HardSwish: "((v) * clamp((v) / 6.0f + 0.5f, 0.0f, 1.0f))",
		fuse.SiLU:      "((v) / (1.0f + exp(-(v))))",
		fuse.GELU:      "(0.5f * (v) * (1.0f + erf((v) * M_SQRT1_2_F)))",
		fuse.Tanh:      "tanh(v)",
	}[act]
	if text == "" {
		return first
	}
	text = first + "#define ACT_OF(v, s) " + text + "\n"
	if act == fuse.PReLU {
		text = "#define ACT_SLOPES 1\n" + text
	}
	return text
}

// Source returns the prelude for precision p and padding, to stand before kernels.
func Source(p Precision, pad model.PadMode) string {
	text := prelude
	switch pad {
	case model.PadZero:
		text = "#define PAD_ZERO 1\n" + text
	case model.PadEdge:
		text = "#define PAD_EDGE 1\n" + text
	}
	if p == FP16 {
		text = "#define STORE_HALF 1\n" + text
	}
	return text
}
