package imgio

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// picture is a test picture: smooth colours with noise, so that every PNG filter
// wins somewhere, and all extremes occur.
func picture(w, h int) *RGB16 {
	rng := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	m := &RGB16{Width: w, Height: h, Bits: 16, Pix: make([]uint16, 3*w*h)}
	for y := range h {
		for x := range w {
			p := m.Row(y)[3*x:][:3]
			p[0] = uint16(x*65535/max(w-1, 1)) ^ uint16(rng.IntN(64))
			p[1] = uint16(y * 65535 / max(h-1, 1))
			p[2] = uint16((x*y)%65536) + uint16(rng.IntN(512))
			if (x/8+y/8)%7 == 0 {
				p[0], p[1], p[2] = 65535, 0, uint16(rng.IntN(65536))
			}
		}
	}
	return m
}

// reduced is what a writer of 8 bits keeps of m.
func reduced(m *RGB16) *RGB16 {
	r := &RGB16{Width: m.Width, Height: m.Height, Bits: 8, Pix: make([]uint16, len(m.Pix))}
	for i, v := range m.Pix {
		r.Pix[i] = uint16((int(v)*255*2+65535)/(2*65535)) * 257 // rounding, another way
	}
	return r
}

func writeRows(t testing.TB, w RowWriter, m *RGB16) {
	t.Helper()
	for y := range m.Height {
		if err := w.WriteRow(m.Row(y)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantSame(t *testing.T, got, want *RGB16) {
	t.Helper()
	if got.Width != want.Width || got.Height != want.Height || got.Bits != want.Bits {
		t.Fatalf("got %dx%d of %d bits, want %dx%d of %d", got.Width, got.Height, got.Bits, want.Width, want.Height, want.Bits)
	}
	for i := range want.Pix {
		if got.Pix[i] != want.Pix[i] {
			t.Fatalf("sample %d of row %d: got %d, want %d", i%(3*want.Width), i/(3*want.Width), got.Pix[i], want.Pix[i])
		}
	}
}

// seekBuffer is a file in memory.
type seekBuffer struct {
	data []byte
	at   int64
}

func (b *seekBuffer) Write(p []byte) (int, error) {
	if need := b.at + int64(len(p)); need > int64(len(b.data)) {
		b.data = append(b.data, make([]byte, need-int64(len(b.data)))...)
	}
	copy(b.data[b.at:], p)
	b.at += int64(len(p))
	return len(p), nil
}

func (b *seekBuffer) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += int64(len(b.data))
	}
	if offset < 0 {
		return 0, errors.New("seek before the start")
	}
	b.at = offset
	return offset, nil
}

// writers lists every way to write a picture.
var writers = []struct {
	name     string
	bits     int
	lossless bool
	make     func(w *seekBuffer, h Header) (RowWriter, error)
}{
	{"PNG8", 8, true, func(w *seekBuffer, h Header) (RowWriter, error) { return NewPNG(w, h) }},
	{"PNG16", 16, true, func(w *seekBuffer, h Header) (RowWriter, error) { return NewPNG(w, h) }},
	{"TIFF8", 8, true, func(w *seekBuffer, h Header) (RowWriter, error) { return NewTIFF(w, h, TIFFNone) }},
	{"TIFF16", 16, true, func(w *seekBuffer, h Header) (RowWriter, error) { return NewTIFF(w, h, TIFFNone) }},
	{"TIFFDeflate8", 8, true, func(w *seekBuffer, h Header) (RowWriter, error) { return NewTIFF(w, h, TIFFDeflate) }},
	{"TIFFDeflate16", 16, true, func(w *seekBuffer, h Header) (RowWriter, error) { return NewTIFF(w, h, TIFFDeflate) }},
	{"JPEG", 8, false, func(w *seekBuffer, h Header) (RowWriter, error) { return NewJPEG(w, h, 95, SubsamplingDefault) }},
}

func decode(t testing.TB, data []byte) *RGB16 {
	t.Helper()
	m, err := DecodeRGB16(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
