package rawjpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/rawerr"
)

func decodeDCT(b []byte) (*DCTDecoder, []uint16, error) {
	d, err := NewDCTDecoder(bytes.NewReader(b), 0, int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	var out []uint16
	row := make([]uint16, d.RowLen())
	for {
		err := d.ReadRow(row)
		if err == io.EOF {
			return d, out, nil
		}
		if err != nil {
			return d, nil, err
		}
		out = append(out, row...)
	}
}

func dctVariants() []Header {
	var hs []Header
	for _, bits := range []int{8, 12} {
		for comps := 1; comps <= 4; comps++ {
			hs = append(hs, Header{Width: 21, Height: 19, Components: comps, Precision: bits},
				Header{Width: 40, Height: 33, Components: comps, Precision: bits, RestartInterval: 3})
		}
		hs = append(hs, Header{Width: 1, Height: 1, Components: 1, Precision: bits},
			Header{Width: 8, Height: 1, Components: 1, Precision: bits, RestartInterval: 1},
			Header{Width: 200, Height: 100, Components: 1, Precision: bits})
	}
	return hs
}

// TestDCTRoundTrip: samples of any kind come back but for the rounding of coefficients:
// by 0.5 at most each, and so by 4 at most in a sample.
func TestDCTRoundTrip(t *testing.T) {
	for i, h := range dctVariants() {
		want := noise(h.Width*h.Height*h.Components, h.Precision, uint64(i))
		b, err := EncodeDCT(h, 1, false, want)
		if err != nil {
			t.Fatal(err)
		}
		d, got, err := decodeDCT(b)
		if err != nil {
			t.Fatalf("%+v: %v", h, err)
		}
		if d.Header != h || d.YCbCr {
			t.Errorf("%+v, want %+v", d.Header, h)
		}
		sum := 0.0
		for k, v := range got {
			e := float64(v) - float64(want[k])
			sum += e * e
			if math.Abs(e) > 4 {
				t.Fatalf("%+v: sample %d is %d, want %d", h, k, v, want[k])
			}
		}
		if rms := math.Sqrt(sum / float64(len(want))); rms > 0.5 { // 1/√12 of the coefficients, and of the samples
			t.Errorf("%+v: off by %.3f", h, rms)
		}
	}
}

// TestDCTAgainstDefinition holds the transform against the double sum of T.81 A.3.3.
func TestDCTAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	var f [64]float64
	for i := range f {
		f[i] = r.NormFloat64() * 1000
	}
	got := f
	inverseDCT(&got)
	for i := range got {
		want := 0.0
		for k, v := range f {
			c := 0.25
			if k/8 == 0 {
				c *= math.Sqrt2 / 2
			}
			if k%8 == 0 {
				c *= math.Sqrt2 / 2
			}
			want += c * v * math.Cos(float64(2*(i/8)+1)*float64(k/8)*math.Pi/16) * math.Cos(float64(2*(i%8)+1)*float64(k%8)*math.Pi/16)
		}
		if math.Abs(got[i]-want) > 1e-9 {
			t.Fatalf("sample %d is %g, want %g", i, got[i], want)
		}
	}
	forwardDCT(&got)
	for i := range f {
		if math.Abs(got[i]-f[i]) > 1e-9 {
			t.Fatalf("coefficient %d is %g, want %g", i, got[i], f[i])
		}
	}
}

// TestDCTAgainstImageJPEG: image/jpeg reads what the encoder writes, and the decoder reads
// what image/jpeg writes, of 8 bits.
func TestDCTAgainstImageJPEG(t *testing.T) {
	const w, h = 61, 37
	samples := make([]uint16, w*h)
	g := image.NewGray(image.Rect(0, 0, w, h))
	for i := range samples {
		samples[i] = uint16(i%w*3 + i/w*2)
		g.Pix[i] = byte(samples[i])
	}
	ours, err := EncodeDCT(Header{Width: w, Height: h, Components: 1, Precision: 8, RestartInterval: 5}, 2, false, samples)
	if err != nil {
		t.Fatal(err)
	}
	var theirs bytes.Buffer
	if err := jpeg.Encode(&theirs, g, &jpeg.Options{Quality: 80}); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"ours": ours, "theirs": theirs.Bytes()} {
		im, err := jpeg.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, got, err := decodeDCT(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gray := im.(*image.Gray)
		for i, v := range got {
			if d := int(v) - int(gray.Pix[i/w*gray.Stride+i%w]); d < -1 || d > 1 { // image/jpeg rounds within
				t.Fatalf("%s: sample %d is %d, image/jpeg has %d", name, i, v, gray.Pix[i])
			}
		}
	}
}

func TestDCTTruncated(t *testing.T) {
	h := Header{Width: 30, Height: 20, Components: 2, Precision: 12, RestartInterval: 2}
	b, err := EncodeDCT(h, 1, false, noise(h.Width*h.Height*2, 12, 5))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) - 2 {
		var fe *rawerr.FormatError
		if _, _, err := decodeDCT(b[:n]); !errors.As(err, &fe) {
			t.Fatalf("cut at %d of %d: error %v, want a FormatError", n, len(b), err)
		}
	}
	if _, err := NewDCTDecoder(failingReader{}, 0, 100); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

func TestDCTRefused(t *testing.T) {
	good, err := EncodeDCT(Header{Width: 24, Height: 24, Components: 3, Precision: 12}, 1, true, noise(24*24*3, 12, 1))
	if err != nil {
		t.Fatal(err)
	}
	if d, _, err := decodeDCT(good); err != nil || !d.YCbCr {
		t.Errorf("luma and colour differences: %v", err)
	}
	sof, sos := bytes.Index(good, []byte{0xFF, mSOF1}), bytes.Index(good, []byte{0xFF, mSOS})
	dqt := bytes.Index(good, []byte{0xFF, mDQT})
	for _, c := range []struct {
		name        string
		at          int
		value       byte
		unsupported bool
	}{
		{"progressive", sof + 1, mSOF2, true},
		{"lossless", sof + 1, mSOF3, true},
		{"10 bits", sof + 4, 10, false},
		{"subsampled", sof + 11, 0x21, true},
		{"huge", sof + 5, 255, false},
		{"no such quantiser", sof + 12, 2, false},
		{"quantiser of destination 9", dqt + 4, 0x19, false},
		{"quantiser 0", dqt + 6, 0, false},
		{"no such table", sos + 6, 0x01, false},
		{"two components in the scan", sos + 4, 2, false},
	} {
		b := slices.Clone(good)
		b[c.at] = c.value
		_, _, err := decodeDCT(b)
		var fe *rawerr.FormatError
		var ue *rawerr.UnsupportedError
		if c.unsupported && !errors.As(err, &ue) || !c.unsupported && !errors.As(err, &fe) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

func FuzzDCT(f *testing.F) {
	for i, h := range dctVariants()[:14] {
		h.Width, h.Height = 11, 9
		b, err := EncodeDCT(h, 1+3*i, i%2 == 0, noise(h.Width*h.Height*h.Components, h.Precision, uint64(i)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d *DCTDecoder
		var samples []uint16
		var err error
		boundtest.Run(t, len(b), 16<<20, 1<<16, func() { d, samples, err = decodeDCT(b) })
		if err != nil {
			return
		}
		if len(samples) != d.RowLen()*d.Height {
			t.Fatalf("%d samples of %+v", len(samples), d.Header)
		}
		for i, v := range samples {
			if v>>d.Precision != 0 {
				t.Fatalf("sample %d is %d", i, v)
			}
		}
	})
}

func BenchmarkDCT(b *testing.B) {
	h := Header{Width: 2048, Height: 512, Components: 1, Precision: 12}
	for _, quantiser := range []int{4, 32} {
		data, err := EncodeDCT(h, quantiser, false, noise(h.Width*h.Height, 12, 1))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("quantiser=%d", quantiser), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := decodeDCT(data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(h.Width*h.Height)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
		})
	}
}
