package raw

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

func crc(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// maxFuzzSamples keeps one fuzz execution short; a fuzzed file of some KiB may
// honestly claim eight samples a byte.
const maxFuzzSamples = 1 << 22

// tryPhoto opens b and reads all of it: it must not panic, and errors must be
// of the documented kinds.
func tryPhoto(t *testing.T, b []byte, opt Options) {
	var p *Photo
	var err error
	boundtest.Run(t, len(b), 4<<20, 300, func() { p, err = openBytes(b, opt) })
	if err == nil {
		boundtest.Run(t, len(b), 64<<20, 64*1032, func() { err = tryRows(t, p, b) })
	}
	checkKind(t, err)
}

// tryRows reads all of an open photo.
func tryRows(t *testing.T, p *Photo, b []byte) (err error) {
	m := p.Meta()
	if m.Width < 1 || m.Height < 1 || m.Width*m.Height > 8*1032*len(b) {
		t.Fatalf("%dx%d samples from %d bytes", m.Width, m.Height, len(b))
	}
	if m.Crop.X0 < 0 || m.Crop.Y0 < 0 || m.Crop.Width() < 1 || m.Crop.Height() < 1 || m.Crop.X1 > m.Width || m.Crop.Y1 > m.Height {
		t.Fatalf("crop %v of %dx%d", m.Crop, m.Width, m.Height)
	}
	if m.Width*m.Height > maxFuzzSamples {
		return nil
	}
	if m.Linear {
		return tryLinear(t, p)
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
	return err
}

func checkKind(t *testing.T, err error) {
	t.Helper()
	var fe *FormatError
	var ue *UnsupportedError
	var oe *OptionError
	if err != nil && !errors.As(err, &fe) && !errors.As(err, &ue) && !errors.As(err, &oe) {
		t.Fatalf("error of no documented kind: %v", err)
	}
}

// tryLinear reads all of a linear image.
func tryLinear(t *testing.T, p *Photo) error {
	m := p.Meta()
	dst := make([]float32, 3*m.Width*m.Height)
	if err := p.ReadLinear(0, m.Height, dst); err != nil {
		return err
	}
	last := make([]float32, 3*m.Width)
	if err := p.ReadLinear(m.Height-1, 1, last); err != nil {
		return err
	}
	for i, v := range dst[len(dst)-len(last):] {
		if v-v != 0 || v != last[i] {
			t.Fatalf("sample %d of the last row is %g, read alone %g", i, v, last[i])
		}
	}
	return nil
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
		s.Opcodes = smallOpcodes()
		out = append(out, s)
	}
	s := smallSpec() // 12-bit DCT JPEG, two rows in one
	s.Bits, s.JPEG = 12, &dng.JPEG{Quantiser: 3, Fold: 2, RestartRows: 1}
	for i := range s.Samples {
		s.Samples[i] &= 1<<12 - 1
	}
	out = append(out, s)
	return append(out, linearSpecs()...)
}

// smallOpcodes are lists for smallSpec's image.
func smallOpcodes() [3][]opcode.Operation {
	whole := opcode.Area{Bottom: 4, Right: 6, Planes: 3, RowPitch: 1, ColPitch: 1}
	gains := &opcode.GainMap{Area: whole, PointsV: 1, PointsH: 2, SpacingV: 1, SpacingH: 1, Planes: 1, Gains: []float32{1, 2}}
	return [3][]opcode.Operation{
		{{ID: opcode.BadListID, Params: &opcode.BadList{Points: []opcode.Point{{Row: 1, Column: 2}}}}},
		{{ID: opcode.GainMapID, Params: gains}, {ID: opcode.TrimBoundsID, Optional: true, Params: &opcode.TrimBounds{Bottom: 4, Right: 5}}},
		{{ID: opcode.VignetteRadialID, Params: &opcode.VignetteRadial{K: [5]float64{0.5}}},
			{ID: opcode.WarpFisheyeID, Params: &opcode.Fisheye{Planes: [][4]float64{{1}}}}},
	}
}

// linearSpecs are small linear images: integers, deflated differences, floats and
// lossy JPEG.
func linearSpecs() []dng.Spec {
	s := smallSpec()
	s.Linear, s.Samples = true, append(append(s.Samples, s.Samples...), s.Samples...)
	s.Opcodes[2] = smallOpcodes()[2]
	out := []dng.Spec{s}
	s.Opcodes[2] = nil
	s.Bits, s.Compression = 16, 8
	s.Encode = func([]uint16, int, int) ([]byte, error) {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		for i := range 6 * 3 * 4 * 2 {
			if _, err := z.Write([]byte{byte(i * i)}); err != nil {
				return nil, err
			}
		}
		err := z.Close()
		return b.Bytes(), err
	}
	s.Edit = func(_, raw *tiff.Dir) { raw.Shorts(317, 2) }
	out = append(out, s)
	s.Edit = func(_, raw *tiff.Dir) { raw.Shorts(317, 3); raw.Shorts(339, 3, 3, 3) }
	out = append(out, s)
	s.Edit = nil
	s.Bits, s.Compression = 8, 34892
	for i := range s.Samples {
		s.Samples[i] &= 0xFF
	}
	s.Encode = func([]uint16, int, int) ([]byte, error) {
		var b bytes.Buffer
		err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 6, 4)), nil)
		return b.Bytes(), err
	}
	return append(out, s)
}

func FuzzDNG(f *testing.F) {
	for _, s := range fuzzSpecs() {
		f.Add(dngBytes(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryPhoto(t, b, Options{Linear: true}) })
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
				tryPhoto(t, b, Options{Linear: true})
			}
		}
	}
}
