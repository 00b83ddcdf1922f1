package raw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

func crc(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// maxFuzzSamples keeps one fuzz execution short; a fuzzed file of some KiB may
// honestly claim eight samples a byte.
const maxFuzzSamples = 1 << 22

// tryPhoto opens b and reads all of it: it must not panic, and errors must be
// of the documented kinds.
func tryPhoto(t *testing.T, b []byte, opt Options) {
	p, err := openBytes(b, opt)
	if err == nil {
		m := p.Meta()
		if m.Width < 1 || m.Height < 1 || m.Width*m.Height > 8*1032*len(b) {
			t.Fatalf("%dx%d samples from %d bytes", m.Width, m.Height, len(b))
		}
		if m.Crop.X0 < 0 || m.Crop.Y0 < 0 || m.Crop.Width() < 1 || m.Crop.Height() < 1 || m.Crop.X1 > m.Width || m.Crop.Y1 > m.Height {
			t.Fatalf("crop %v of %dx%d", m.Crop, m.Width, m.Height)
		}
		if m.Width*m.Height > maxFuzzSamples {
			return
		}
		dst := make([]uint16, m.Width*m.Height)
		out := make([]float32, m.Width)
		if err = p.ReadRows(0, m.Height, dst); err == nil {
			for y := range m.Height {
				p.Normalise(y, 0, dst[y*m.Width:][:m.Width], out)
			}
			last := make([]uint16, m.Width)
			if err = p.ReadRows(m.Height-1, 1, last); err == nil && m.Width > 0 && last[0] != dst[len(dst)-m.Width] {
				t.Fatal("the last row read alone differs")
			}
		}
	}
	var fe *FormatError
	var ue *UnsupportedError
	var oe *OptionError
	if err != nil && !errors.As(err, &fe) && !errors.As(err, &ue) && !errors.As(err, &oe) {
		t.Fatalf("error of no documented kind: %v", err)
	}
}

// fuzzSpecs are small DNG files of different coding.
func fuzzSpecs() []dng.Spec {
	var out []dng.Spec
	for i, order := range []interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		s := smallSpec()
		s.Order = order
		out = append(out, s)
		s.Bits, s.RowsPerStrip, s.InSubIFD = 14, 2, true
		s.ActiveArea = Rect{X0: 1, Y0: 1, X1: 6, Y1: 4}
		s.Meta.Crop = Rect{X0: 1, X1: 4, Y1: 3}
		s.Meta.Make, s.Meta.Orientation = "Maker", 6
		s.Meta.AsShot = &[3]float64{0.5, 1, 0.6}
		s.Meta.ColorMatrix1 = &[3][3]float64{{1}, {0, 1}, {0, 0, 1}}
		s.Meta.BlackRows, s.Meta.BlackCols, s.Meta.Black = 2, 2, []float32{1, 2, 3, 4}
		s.Meta.BlackDeltaV = []float32{0, 1, 2}
		out = append(out, s)
		s.JPEG = &dng.JPEG{Components: 2, Predictor: 1 + i, RestartRows: 1}
		s.Linearization = []uint16{0, 10, 20, 4000}
		out = append(out, s)
		s.TileWidth, s.TileHeight, s.Big = 4, 4, true
		out = append(out, s)
		s.JPEG = nil
		out = append(out, s)
	}
	return out
}

func FuzzDNG(f *testing.F) {
	for _, s := range fuzzSpecs() {
		f.Add(dngBytes(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryPhoto(t, b, Options{}) })
}

func FuzzTIFFMosaic(f *testing.F) {
	f.Add(grayTIFF(3, 2, nil))
	cfa := mosaic.RGGB
	f.Fuzz(func(t *testing.T, b []byte) { tryPhoto(t, b, Options{CFA: &cfa}) })
}

func FuzzPNGMosaic(f *testing.F) {
	f.Add(gray16(f, 1, 1))
	f.Add(gray16(f, 5, 3))
	cfa := mosaic.RGGB
	f.Fuzz(func(t *testing.T, b []byte) { tryPhoto(t, fixCRC(b), Options{CFA: &cfa}) })
}

// fixCRC corrects the checksums of the PNG's chunks, so that fuzzing gets past
// them.
func fixCRC(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 8; at+12 <= len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > len(b)-at-12 {
			break
		}
		binary.BigEndian.PutUint32(b[at+8+n:], crc(b[at+4:at+8+n]))
		at += 12 + n
	}
	return b
}

// shortReader ends early although the file claims to be longer.
type shortReader struct{ b []byte }

func (s shortReader) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(p, off)
}

func TestFileShrinksWhileRead(t *testing.T) {
	b := dngBytes(t, smallSpec())
	p, err := OpenReader(shortReader{b[:len(b)-5]}, int64(len(b)), "photo", Options{})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]uint16, 24)
	if err := p.ReadRows(0, 4, dst); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want unexpected EOF", err)
	}
}

// TestEveryByteChanged does by plan what FuzzDNG does by chance: every byte of
// every seed is set to values that make counts, sizes and offsets absurd.
func TestEveryByteChanged(t *testing.T) {
	for _, s := range fuzzSpecs() {
		good := dngBytes(t, s)
		for i := range good {
			for _, v := range []byte{0, 1, good[i] + 1, good[i] ^ 0x80, 0xFF} {
				b := bytes.Clone(good)
				b[i] = v
				tryPhoto(t, b, Options{})
			}
		}
	}
}
