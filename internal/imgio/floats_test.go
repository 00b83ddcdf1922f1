package imgio

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"

	"enhance/raw/tiff"
)

// readFloats reads a TIFF of floats that NewTIFF wrote, by TIFF's definition.
func readFloats(t *testing.T, b []byte) (w, h int, out []float32) {
	t.Helper()
	f, err := tiff.Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := f.Walk()
	if err != nil {
		t.Fatal(err)
	}
	number := func(tag uint16) int {
		v, err := dirs[0].Uint(tag, 0)
		if err != nil {
			t.Fatal(err)
		}
		return int(v)
	}
	w, h = number(tagWidth), number(tagHeight)
	if number(tagBitsPerSample) != 32 || number(tagSampleFormat) != 3 || number(tagPredictor) == 2 {
		t.Fatalf("%d bits of format %d, predictor %d", number(tagBitsPerSample), number(tagSampleFormat), number(tagPredictor))
	}
	offsets, err := dirs[0].Uints(tagStripOffsets, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := dirs[0].Uints(tagStripByteCounts, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range offsets {
		strip := b[at : at+sizes[i]]
		deflated := number(tagCompression) == 8
		if deflated {
			z, err := zlib.NewReader(bytes.NewReader(strip))
			if err != nil {
				t.Fatal(err)
			}
			if strip, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		for ; len(strip) > 0; strip = strip[12*w:] {
			row := strip[:12*w]
			for i := 3; deflated && i < len(row); i++ {
				row[i] += row[i-3]
			}
			for x := range 3 * w {
				bits := f.Order().Uint32(row[4*x:])
				if deflated {
					bits = uint32(row[x])<<24 | uint32(row[3*w+x])<<16 | uint32(row[6*w+x])<<8 | uint32(row[9*w+x])
				}
				out = append(out, math.Float32frombits(bits))
			}
		}
	}
	return w, h, out
}

func TestTIFFFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range [][2]int{{1, 1}, {13, 7}, {70, 900}} {
		for _, c := range []TIFFCompression{TIFFNone, TIFFDeflate} {
			for orientation := 1; orientation <= 8; orientation++ {
				t.Run(fmt.Sprintf("%v compression %d orientation %d", size, c, orientation), func(t *testing.T) {
					w, h := size[0], size[1]
					pix := make([]float32, 3*w*h)
					for i := range pix {
						pix[i] = float32(r.NormFloat64())
					}
					pix[0] = math.Float32frombits(0x7f7fffff) // the largest
					uw, uh := OrientedSize(w, h, orientation)
					var out seekBuffer
					exif := [][]byte{nil, testExif(), bigEndianExif()}[orientation%3]
					tw, err := NewTIFF(&out, Header{Width: uw, Height: uh, Bits: 32, Exif: exif}, c)
					if err != nil {
						t.Fatal(err)
					}
					rw, err := Oriented(tw, Header{Width: w, Height: h, Bits: 32}, orientation)
					if err != nil {
						t.Fatal(err)
					}
					for y := range h {
						var row []uint16
						for _, v := range pix[3*w*y:][:3*w] {
							row = append(row, uint16(math.Float32bits(v)>>16), uint16(math.Float32bits(v)))
						}
						if err := rw.WriteRow(row); err != nil {
							t.Fatal(err)
						}
					}
					if err := rw.Close(); err != nil {
						t.Fatal(err)
					}
					gw, gh, got := readFloats(t, out.data)
					if gw != uw || gh != uh || len(got) != len(pix) {
						t.Fatalf("%dx%d with %d samples", gw, gh, len(got))
					}
					for i, v := range got {
						x, y := uprightPlace(i/3%uw, i/3/uw, w, h, orientation)
						if want := pix[3*(y*w+x)+i%3]; v != want {
							t.Fatalf("sample %d: %g, want %g", i, v, want)
						}
					}
				})
			}
		}
	}
}

// uprightPlace is the stored place of an upright one, by the EXIF definition.
func uprightPlace(x, y, w, h, orientation int) (int, int) {
	switch orientation {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return y, h - 1 - x
	case 7:
		return w - 1 - y, h - 1 - x
	case 8:
		return w - 1 - y, x
	}
	return x, y
}

func TestFloatsAreTIFF(t *testing.T) {
	h := Header{Width: 2, Height: 2, Bits: 32}
	if _, err := NewPNG(io.Discard, h); !errors.Is(err, ErrHeader) {
		t.Errorf("PNG: %v", err)
	}
	if _, err := NewJPEG(io.Discard, h, 90, SubsamplingDefault); !errors.Is(err, ErrHeader) {
		t.Errorf("JPEG: %v", err)
	}
	w, err := NewTIFF(io.Discard, h, TIFFNone)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRow(make([]uint16, 6)); !errors.Is(err, ErrRows) {
		t.Errorf("a row of 16 bits: %v", err)
	}
}

// TestXMP finds the packet in each kind of file.
func TestXMP(t *testing.T) {
	packet := []byte("<x:xmpmeta xmlns:x='adobe:ns:meta/'>" + string(bytes.Repeat([]byte(" "), 300)) + "</x:xmpmeta>")
	tool, err := exec.LookPath("exiftool")
	for _, w := range writers {
		var out seekBuffer
		m := picture(5, 4)
		rw, werr := w.make(&out, Header{Width: 5, Height: 4, Bits: w.bits, XMP: packet, Exif: testExif()})
		if werr != nil {
			t.Fatal(werr)
		}
		writeRows(t, rw, m)
		if bytes.Count(out.data, packet) != 1 {
			t.Errorf("%s: the packet is there %d times", w.name, bytes.Count(out.data, packet))
		}
		decode(t, out.data)
		if err != nil {
			t.Logf("exiftool is not installed: what it says is not tested")
			continue
		}
		cmd := exec.Command(tool, "-b", "-xmp", "-")
		cmd.Stdin = bytes.NewReader(out.data)
		if got, err := cmd.Output(); err != nil || !bytes.Equal(got, packet) {
			t.Errorf("%s: exiftool reads %.60q, %v", w.name, got, err)
		}
	}
	if _, err := NewJPEG(io.Discard, Header{Width: 1, Height: 1, Bits: 8, XMP: make([]byte, MaxJPEGXMP+1)}, 90, SubsamplingDefault); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a packet that fits no segment: %v", err)
	}
}
