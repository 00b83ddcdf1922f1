package dng

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"strings"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/rawjpeg"
	"enhance/raw/tiff"
)

// deflate compresses a chunk of integers after predictor kind, spp samples a pixel.
func deflate(order tiff.Order, bits, spp int, p predictor) func([]uint16, int, int) ([]byte, error) {
	return func(c []uint16, w, h int) ([]byte, error) {
		var plain []byte
		for y := range h {
			row := append([]uint16(nil), c[y*w:][:w]...)
			if p.kind == predictHorizontal {
				for x := w - 1; x >= spp*p.apart; x-- {
					row[x] -= row[x-spp*p.apart]
					if bits == 8 {
						row[x] &= 0xFF
					}
				}
			}
			plain = pack(plain, row, bits, order)
		}
		return zipped(plain)
	}
}

func zipped(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err := z.Write(plain)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// floatChunk encodes samples v/1000 as floats of so many bits.
func floatChunk(order tiff.Order, bits, spp int, p predictor, compress bool) func([]uint16, int, int) ([]byte, error) {
	return func(c []uint16, w, h int) ([]byte, error) {
		size := bits / 8
		var plain []byte
		for y := range h {
			row := make([]byte, w*size)
			for x, v := range c[y*w:][:w] {
				b := floatBytes(float32(v)/1000, bits) // big-endian
				for k := range size {
					switch {
					case p.kind == predictFloat:
						row[k*w+x] = b[k]
					case order == tiff.Order(binary.LittleEndian):
						row[x*size+size-1-k] = b[k]
					default:
						row[x*size+k] = b[k]
					}
				}
			}
			if p.kind == predictFloat {
				for i := len(row) - 1; i >= spp*p.apart; i-- {
					row[i] -= row[i-spp*p.apart]
				}
			}
			plain = append(plain, row...)
		}
		if !compress {
			return plain, nil
		}
		return zipped(plain)
	}
}

// floatBytes cuts a float32 down to a shorter one, towards zero.
func floatBytes(v float32, bits int) []byte {
	x := math.Float32bits(v)
	sign, exponent, fraction := x>>31, int(x>>23&255)-127, x&(1<<23-1)
	switch bits {
	case 16:
		if exponent < -14 {
			return []byte{byte(sign << 7), 0}
		}
		return binary.BigEndian.AppendUint16(nil, uint16(sign<<15|uint32(exponent+15)<<10|fraction>>13))
	case 24:
		if exponent < -62 {
			return []byte{byte(sign << 7), 0, 0}
		}
		y := sign<<23 | uint32(exponent+63)<<16 | fraction>>7
		return []byte{byte(y >> 16), byte(y >> 8), byte(y)}
	}
	return binary.BigEndian.AppendUint32(nil, x)
}

func TestShortFloats(t *testing.T) {
	for v, want := range map[uint16]float64{0: 0, 1: math.Ldexp(1, -24), 0x3C00: 1, 0xC000: -2, 0x7BFF: 65504, 0x7C00: math.Inf(1), 0x0400: math.Ldexp(1, -14)} {
		if got := fromHalf(v); float64(got) != want {
			t.Errorf("half %#04x is %g, want %g", v, got, want)
		}
	}
	if v := fromHalf(0x7E00); v == v {
		t.Errorf("half NaN is %g", v)
	}
	for v, want := range map[uint32]float64{0: 0, 0x3F0000: 1, 0xC00000: -2, 0x7F0000: math.Inf(1), 1: math.Ldexp(1, -78)} {
		if got := from24(v); float64(got) != want {
			t.Errorf("24-bit %#06x is %g, want %g", v, got, want)
		}
	}
}

// TestFloatMosaic reads a mosaic of floats, as programs that merge exposures write.
func TestFloatMosaic(t *testing.T) {
	s := spec(21, 17, 12)
	s.Compression, s.Encode = compDeflate, floatChunk(binary.LittleEndian, 32, 1, predictor{predictFloat, 1}, true)
	s.Edit = func(_, raw *tiff.Dir) {
		raw.Shorts(tagBitsPerSample, 32)
		raw.Shorts(tagSampleFormat, 3)
		raw.Shorts(tagPredictor, 3)
		raw.URationals(tagWhiteLevel, 4)
		raw.URationals(tagBlackLevel, 0.25)
	}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if m := im.Meta; m.White[0] != 65535 || math.Abs(float64(m.Black[0])-65535/16.0) > 0.01 || m.BitDepth != 16 {
		t.Errorf("white %v, black %v, %d bits", m.White, m.Black, m.BitDepth)
	}
	want := make([]uint16, len(s.Samples))
	for i, v := range s.Samples {
		want[i] = uint16(min(float32(v)/1000*(65535/float32(4)), 65535) + 0.5)
	}
	checkRows(t, im, want)
}

// TestDeflatedMosaic reads integers of a mosaic.
func TestDeflatedMosaic(t *testing.T) {
	for _, bits := range []int{8, 12, 16} {
		s := spec(21, 17, bits)
		s.TileWidth, s.TileHeight = 16, 16
		s.Compression, s.Encode = compDeflate, deflate(binary.LittleEndian, bits, 1, predictor{})
		im, err := openBytes(write(t, s))
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, im, s.Samples)
	}
}

// jpegChunk encodes 8-bit samples as baseline JPEG of one or three components.
func jpegChunk(spp int) func([]uint16, int, int) ([]byte, error) {
	return func(c []uint16, w, h int) ([]byte, error) {
		var img image.Image
		if spp == 1 {
			g := image.NewGray(image.Rect(0, 0, w, h))
			for i, v := range c {
				g.Pix[i] = byte(v)
			}
			img = g
		} else {
			m := image.NewRGBA(image.Rect(0, 0, w/3, h))
			for i := range w / 3 * h {
				m.SetRGBA(i%(w/3), i/(w/3), color.RGBA{byte(c[3*i]), byte(c[3*i+1]), byte(c[3*i+2]), 255})
			}
			img = m
		}
		var b bytes.Buffer
		err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100})
		return b.Bytes(), err
	}
}

// TestBaselineJPEG reads mosaics and linear images of lossy JPEG, under both of the
// numbers that files give it.
func TestBaselineJPEG(t *testing.T) {
	for _, linear := range []bool{false, true} {
		for _, compression := range []uint16{compLosslessJPEG, compLossyJPEG} {
			s := Spec{Width: 50, Height: 41, Bits: 8, Linear: linear, TileWidth: 16, TileHeight: 16, Meta: mosaic.Meta{CFA: mosaic.RGGB}}
			s.Samples = make([]uint16, s.Width*s.Height*s.planes())
			for i := range s.Samples { // smooth
				at := i / s.planes()
				s.Samples[i] = uint16(40 + at%50*2 + at/50*2)
			}
			s.Compression, s.Encode = compression, jpegChunk(s.planes())
			im, err := openBytes(write(t, s))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(im.Meta.Format, "lossy baseline JPEG 8-bit") {
				t.Errorf("%q", im.Meta.Format)
			}
			if linear {
				checkLinear(t, im, func(i int) float64 { return float64(s.Samples[i]) / 255 }, 5.0/255)
				continue
			}
			got, err := readAll(im)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if d := int(v) - int(s.Samples[i]); d < -2 || d > 2 {
					t.Fatalf("sample %d is %d, want %d", i, v, s.Samples[i])
				}
			}
		}
	}
}

// TestStreamsCutShort damages compressed chunks: an error of the documented kind.
func TestStreamsCutShort(t *testing.T) {
	for name, s := range map[string]Spec{
		"deflate": {Compression: compDeflate, Encode: deflate(binary.LittleEndian, 8, 3, predictor{})},
		"jpeg":    {Compression: compLossyJPEG, Encode: jpegChunk(3)},
		"12 bits": {Compression: compLossyJPEG, Bits: 12, Encode: func(c []uint16, w, h int) ([]byte, error) {
			return rawjpeg.EncodeDCT(rawjpeg.Header{Width: w / 3, Height: h, Components: 3, Precision: 12}, 8, false, c)
		}},
	} {
		full := linearSpec(33, 31, max(s.Bits, 8))
		full.Compression = s.Compression
		for cut := 1; cut < 300; cut += 17 {
			full.Encode = func(c []uint16, w, h int) ([]byte, error) {
				b, err := s.Encode(c, w, h)
				return b[:max(len(b)-cut, 0)], err
			}
			im, err := openBytes(write(t, full))
			if err == nil {
				err = im.ReadLinear(0, 31, make([]float32, 3*33*31))
			}
			var fe *rawerr.FormatError
			var ue *rawerr.UnsupportedError
			if err == nil && cut > 8 || err != nil && !errors.As(err, &fe) && !errors.As(err, &ue) {
				t.Errorf("%s, %d bytes cut: %v", name, cut, err)
			}
		}
	}
}
