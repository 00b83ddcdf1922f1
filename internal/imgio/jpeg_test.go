package imgio

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/internal/jpegbits"
)

// photo is smooth colour with edges and some noise.
func photo(w, h int) *RGB16 {
	m := &RGB16{Width: w, Height: h, Bits: 8, Pix: make([]uint16, 3*w*h)}
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	for i := range m.Pix {
		x, y, c := float64(i/3%w), float64(i/3/w), float64(i%3)
		v := 128 + 90*math.Sin(x/(9+4*c)+c) + 30*math.Cos(y/7) + 6*r.NormFloat64()
		if (i/3%w+i/3/w)%23 < 5 {
			v += 40 * (c - 1)
		}
		m.Pix[i] = uint16(min(max(v, 0), 255)) * 257
	}
	return m
}

// psnrJPEG decodes a JPEG by the standard library and compares it with m.
func psnrJPEG(t *testing.T, b []byte, m *RGB16) float64 {
	t.Helper()
	im, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if im.Bounds().Dx() != m.Width || im.Bounds().Dy() != m.Height {
		t.Fatalf("%v, want %dx%d", im.Bounds(), m.Width, m.Height)
	}
	var sum float64
	for y := range m.Height {
		for x := range m.Width {
			r, g, b, _ := im.At(x, y).RGBA()
			for c, v := range [3]uint32{r, g, b} {
				d := float64(v>>8) - float64(to8(m.Row(y)[3*x+c]))
				sum += d * d
			}
		}
	}
	return 10 * math.Log10(255*255*float64(len(m.Pix))/sum)
}

// TestJPEGSubsampling decodes every kind and quality at odd sizes, and holds those that the
// standard library writes too against it.
func TestJPEGSubsampling(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 9}, {16, 8}, {33, 31}, {130, 70}} {
		m := photo(size[0], size[1])
		for _, quality := range []int{1, 30, 75, 90, 100} {
			var db [4]float64
			var bytesOf [4]int
			for _, sub := range []Subsampling{Subsampling444, Subsampling422, Subsampling420} {
				var out bytes.Buffer
				w, err := NewJPEG(&out, Header{Width: m.Width, Height: m.Height, Bits: 8}, quality, sub)
				if err != nil {
					t.Fatal(err)
				}
				writeRows(t, w, m)
				db[sub], bytesOf[sub] = psnrJPEG(t, out.Bytes(), m), out.Len()
				im, _ := jpeg.Decode(bytes.NewReader(out.Bytes()))
				ratio := map[Subsampling]image.YCbCrSubsampleRatio{Subsampling444: image.YCbCrSubsampleRatio444, Subsampling422: image.YCbCrSubsampleRatio422, Subsampling420: image.YCbCrSubsampleRatio420}[sub]
				if got := im.(*image.YCbCr).SubsampleRatio; got != ratio {
					t.Errorf("%v quality %d: subsampling %v, want %v", size, quality, got, ratio)
				}
			}
			if size[0] > 100 && quality >= 75 && !(db[Subsampling444] > db[Subsampling422] && db[Subsampling422] > db[Subsampling420]) {
				t.Errorf("%v quality %d: %.2f, %.2f, %.2f dB", size, quality, db[1], db[2], db[3])
			}
			whole := image.NewRGBA(image.Rect(0, 0, m.Width, m.Height))
			for i, v := range m.Pix {
				whole.Pix[i/3*4+i%3], whole.Pix[i/3*4+3] = to8(v), 255
			}
			var plain bytes.Buffer
			if err := jpeg.Encode(&plain, whole, &jpeg.Options{Quality: quality}); err != nil {
				t.Fatal(err)
			}
			theirs := psnrJPEG(t, plain.Bytes(), m)
			if d := db[Subsampling420] - theirs; size[0] > 30 && math.Abs(d) > 0.1 {
				t.Errorf("%v quality %d: %.2f dB, image/jpeg has %.2f", size, quality, db[Subsampling420], theirs)
			}
		}
	}
}

func TestJPEGDefaultSubsampling(t *testing.T) {
	m := photo(40, 24)
	for quality, want := range map[int]image.YCbCrSubsampleRatio{90: image.YCbCrSubsampleRatio420, 91: image.YCbCrSubsampleRatio444} {
		var out bytes.Buffer
		w, err := NewJPEG(&out, Header{Width: m.Width, Height: m.Height, Bits: 8}, quality, SubsamplingDefault)
		if err != nil {
			t.Fatal(err)
		}
		writeRows(t, w, m)
		cfg, err := jpeg.Decode(&out)
		if err != nil || cfg.(*image.YCbCr).SubsampleRatio != want || cfg.ColorModel() != color.YCbCrModel {
			t.Errorf("quality %d: %v, %v", quality, cfg.(*image.YCbCr).SubsampleRatio, err)
		}
	}
	if _, err := NewJPEG(new(bytes.Buffer), Header{Width: 1, Height: 1, Bits: 8}, 90, Subsampling420+1); !errors.Is(err, ErrHeader) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// TestForwardDCT compares with the definition (T.81 A.3.3).
func TestForwardDCT(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		var b [64]int32
		for i := range b {
			b[i] = int32(r.IntN(256)) - 128
			if n < 10 {
				b[i] = int32(n&1*255) - 128
			} else if n < 60 {
				b[i] = int32(r.IntN(2)*255) - 128
			}
		}
		want := b
		forwardDCT(&b)
		for v := range 8 {
			for u := range 8 {
				sum := 0.0
				for i, s := range want {
					sum += float64(s) * math.Cos(math.Pi*float64(u)*(2*float64(i%8)+1)/16) * math.Cos(math.Pi*float64(v)*(2*float64(i/8)+1)/16)
				}
				for _, f := range []int{u, v} {
					if f == 0 {
						sum /= math.Sqrt2
					}
				}
				if d := float64(b[8*v+u]) - 2*sum; math.Abs(d) > 2.5 { // 8 times a quarter of the sum
					t.Fatalf("block %d, coefficient %d,%d: %d, want %.2f", n, u, v, b[8*v+u], 2*sum)
				}
			}
		}
	}
}

// TestQuantiser divides every coefficient by every step.
func TestQuantiser(t *testing.T) {
	for quality := 1; quality <= 100; quality++ {
		q := newQuantiser(&lumaSteps, quality)
		for k := 0; k < 64; k += 7 {
			step := int32(q.steps[k])
			for v := int32(-9000); v <= 9000; v++ {
				want := (max(v, -v) + 4*step) / (8 * step)
				if v < 0 {
					want = -want
				}
				if got := q.at(k, v); got != want {
					t.Fatalf("%d by 8·%d is %d, want %d", v, step, got, want)
				}
			}
		}
	}
}

// TestHuffmanTables are complete: every symbol that can occur has a code.
func TestHuffmanTables(t *testing.T) {
	for _, s := range []*huffmanSpec{&lumaDC, &chromaDC, &lumaAC, &chromaAC} {
		n, table := 0, newHuffmanTable(s)
		for _, k := range s.counts {
			n += int(k)
		}
		if n != len(s.values) {
			t.Errorf("%d codes for %d symbols", n, len(s.values))
		}
		if n == 12 {
			continue
		}
		for run := range 16 {
			for size := 1; size <= 10; size++ {
				if table.bits[run<<4|size] == 0 {
					t.Errorf("run %d, size %d has no code", run, size)
				}
			}
		}
		if table.bits[0] == 0 || table.bits[0xf0] == 0 || jpegbits.Category(1023) != 10 {
			t.Error("no code for the end of a block or 16 zeros")
		}
	}
}
