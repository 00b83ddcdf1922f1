package rawjpeg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/rawerr"
)

// noise gives samples of the given bits: a slope with noise, and some jumps to
// the extremes so that every difference category occurs.
func noise(n, bits int, seed uint64) []uint16 {
	r := rand.New(rand.NewPCG(seed, 1))
	top := 1<<bits - 1
	out := make([]uint16, n)
	for i := range out {
		v := (i*7)&top/2 + r.IntN(1+top/64)
		switch r.IntN(20) {
		case 0:
			v = 0
		case 1:
			v = top
		case 2:
			v = r.IntN(top + 1)
		}
		out[i] = uint16(min(v, top))
	}
	return out
}

func decodeAll(b []byte) (Header, []uint16, error) {
	d, err := NewDecoder(bytes.NewReader(b), 0, int64(len(b)))
	if err != nil {
		return Header{}, nil, err
	}
	var out []uint16
	row := make([]uint16, d.RowLen())
	for {
		err := d.ReadRow(row)
		if err == io.EOF {
			return d.Header, out, nil
		}
		if err != nil {
			return d.Header, nil, err
		}
		out = append(out, row...)
	}
}

func variants() []Header {
	var hs []Header
	for pred := 1; pred <= 7; pred++ {
		for comps := 1; comps <= 4; comps++ {
			hs = append(hs, Header{Width: 13, Height: 9, Components: comps, Precision: 14, Predictor: pred})
		}
		hs = append(hs,
			Header{Width: 31, Height: 20, Components: 1, Precision: 16, Predictor: pred},
			Header{Width: 10, Height: 11, Components: 2, Precision: 12, Predictor: pred, RestartInterval: 10},
			Header{Width: 10, Height: 21, Components: 2, Precision: 12, Predictor: pred, RestartInterval: 20},
			Header{Width: 10, Height: 11, Components: 1, Precision: 12, Predictor: pred, PointTransform: 3},
			Header{Width: 1, Height: 1, Components: 1, Precision: 2, Predictor: pred},
			Header{Width: 1, Height: 5, Components: 2, Precision: 8, Predictor: pred},
			Header{Width: 300, Height: 200, Components: 2, Precision: 14, Predictor: pred})
	}
	return hs
}

func TestRoundTrip(t *testing.T) {
	for i, h := range variants() {
		t.Run(fmt.Sprintf("%+v", h), func(t *testing.T) {
			want := noise(h.Width*h.Height*h.Components, h.Precision, uint64(i))
			b, err := Encode(h, want)
			if err != nil {
				t.Fatal(err)
			}
			got, samples, err := decodeAll(b)
			if err != nil {
				t.Fatal(err)
			}
			if got != h {
				t.Errorf("header %+v, want %+v", got, h)
			}
			for i := range want {
				want[i] = want[i] >> h.PointTransform << h.PointTransform
			}
			if !slices.Equal(samples, want) {
				t.Error("samples differ")
			}
		})
	}
}

// TestHandMade decodes a stream written out by hand from T.81: 2x2 samples of
// 8 bits, predictor 1. Codes: category 0 = 0, category 1 = 10, category 2 = 110.
// Row 0: 128+1=129, 129-1=128. Row 1: 129+0=129, 129+3=132.
// Bits: 10 1, 10 0, 0, 110 11 -> 1011 0001 1011 padded with ones = B1 BF.
func TestHandMade(t *testing.T) {
	b := []byte{0xFF, 0xD8,
		0xFF, 0xC4, 0, 22, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
		0xFF, 0xC3, 0, 11, 8, 0, 2, 0, 2, 1, 7, 0x11, 0,
		0xFF, 0xDA, 0, 8, 1, 7, 0, 1, 0, 0,
		0xB1, 0xBF, 0xFF, 0xD9}
	_, got, err := decodeAll(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint16{129, 128, 129, 132}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLargestDifference is category 16, which has no further bits, and with
// Extra16 has 16 that count for nothing.
func TestLargestDifference(t *testing.T) {
	want := []uint16{0, 32768, 0, 32768, 65535, 32767}
	h := Header{Width: 6, Height: 1, Components: 1, Precision: 16, Predictor: 1}
	b, err := Encode(h, want)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := decodeAll(b)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}

	// One code: category 16 = 0; twice it with 16 further bits each.
	old := []byte{0xFF, 0xD8,
		0xFF, 0xC4, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16,
		0xFF, 0xC3, 0, 11, 16, 0, 1, 0, 2, 1, 0, 0x11, 0,
		0xFF, 0xDA, 0, 8, 1, 0, 0, 1, 0, 0,
		0x40, 0x00, 0x20, 0x00, 0x3F, 0xFF, 0xD9}
	d, err := NewDecoder(bytes.NewReader(old), 0, int64(len(old)))
	if err != nil {
		t.Fatal(err)
	}
	d.Extra16 = true
	row := make([]uint16, 2)
	if err := d.ReadRow(row); err != nil || row[0] != 0 || row[1] != 32768 {
		t.Errorf("Extra16: got %v, %v", row, err)
	}
}

func TestCheckpoint(t *testing.T) {
	h := Header{Width: 40, Height: 50, Components: 2, Precision: 14, Predictor: 6, RestartInterval: 120}
	want := noise(h.Width*h.Height*h.Components, h.Precision, 3)
	b, err := Encode(h, want)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(bytes.NewReader(b), 0, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint16, d.RowLen())
	var points []*Checkpoint
	for range h.Height {
		points = append(points, d.Checkpoint())
		if err := d.ReadRow(row); err != nil {
			t.Fatal(err)
		}
	}
	for y := h.Height - 1; y >= 0; y-- {
		d.Restore(points[y])
		if err := d.ReadRow(row); err != nil {
			t.Fatal(y, err)
		}
		if !slices.Equal(row, want[y*len(row):][:len(row)]) {
			t.Fatalf("row %d differs after Restore", y)
		}
	}
}

// TestTruncated cuts a stream everywhere: it must fail with a FormatError until
// only the EOI marker is missing.
func TestTruncated(t *testing.T) {
	h := Header{Width: 12, Height: 9, Components: 2, Precision: 14, Predictor: 1, RestartInterval: 12}
	want := noise(h.Width*h.Height*h.Components, h.Precision, 5)
	b, err := Encode(h, want)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) - 2 {
		_, _, err := decodeAll(b[:n])
		var fe *rawerr.FormatError
		if !errors.As(err, &fe) {
			t.Fatalf("cut at %d of %d: error %v, want a FormatError", n, len(b), err)
		}
	}
}

func TestRefused(t *testing.T) {
	good, err := Encode(Header{Width: 4, Height: 4, Components: 1, Precision: 8}, noise(16, 8, 1))
	if err != nil {
		t.Fatal(err)
	}
	sof := bytes.Index(good, []byte{0xFF, 0xC3})
	sos := bytes.Index(good, []byte{0xFF, 0xDA})
	for _, c := range []struct {
		name        string
		at          int
		value       byte
		unsupported bool
	}{
		{"not JPEG", 0, 0, false},
		{"baseline", sof + 1, 0xC0, true},
		{"arithmetic", sof + 1, 0xCB, true},
		{"precision 17", sof + 4, 17, false},
		{"precision 1", sof + 4, 1, false},
		{"height 0", sof + 6, 0, true},
		{"width 0", sof + 8, 0, false},
		{"huge", sof + 5, 255, false},
		{"subsampled", sof + 11, 0x21, true},
		{"components", sof + 9, 2, false},
		{"predictor 0", sos + 7, 0, false},
		{"predictor 8", sos + 7, 8, false},
		{"point transform", sos + 9, 8, false},
		{"table", sos + 6, 0x10, false},
		{"scan component", sos + 5, 9, false},
	} {
		b := slices.Clone(good)
		b[c.at] = c.value
		_, _, err := decodeAll(b)
		var fe *rawerr.FormatError
		var ue *rawerr.UnsupportedError
		if c.unsupported && !errors.As(err, &ue) || !c.unsupported && !errors.As(err, &fe) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

type failingReader struct{}

var errDisk = errors.New("disk on fire")

func (failingReader) ReadAt(p []byte, off int64) (int, error) { return 0, errDisk }

func TestIOErrorStays(t *testing.T) {
	_, err := NewDecoder(failingReader{}, 0, 100)
	if !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

func TestCodeLengthsAreBounded(t *testing.T) {
	freq := make([]int, 17)
	a, b := 1, 1
	for i := range freq {
		freq[i] = a
		a, b = b, a+b
	}
	kraft := 0
	for _, l := range codeLengths(freq) {
		if l < 1 || l > 16 {
			t.Fatalf("length %d", l)
		}
		kraft += 1 << (16 - l)
	}
	if kraft >= 1<<16 {
		t.Errorf("code is overfull or has a code of all ones: %d", kraft)
	}
}

func FuzzLJPEG(f *testing.F) {
	for i, h := range variants()[:12] {
		h.Width, h.Height, h.RestartInterval = 6, 5, h.RestartInterval/10*6
		b, err := Encode(h, noise(h.Width*h.Height*h.Components, h.Precision, uint64(i)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Header
		var samples []uint16
		var err error
		boundtest.Run(t, len(b), 16<<20, 1<<16, func() { h, samples, err = decodeAll(b) })
		if err != nil {
			return
		}
		// What was decoded survives encoding. Out-of-range samples of damaged
		// streams do so too, since differences are taken modulo 65536.
		again, err := Encode(h, samples)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := decodeAll(again)
		if err != nil || !slices.Equal(got, samples) {
			t.Fatalf("decoded samples do not survive a round trip: %v", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, comps := range []int{1, 2} {
		b.Run(fmt.Sprintf("components=%d", comps), func(b *testing.B) {
			h := Header{Width: 2048 / comps, Height: 512, Components: comps, Precision: 14, Predictor: 1}
			r := rand.New(rand.NewPCG(1, 1))
			samples := make([]uint16, 2048*512)
			for i := range samples {
				samples[i] = uint16(4000 + i%2048 + r.IntN(128))
			}
			data, err := Encode(h, samples)
			if err != nil {
				b.Fatal(err)
			}
			row := make([]uint16, 2048)
			for b.Loop() {
				d, err := NewDecoder(bytes.NewReader(data), 0, int64(len(data)))
				if err != nil {
					b.Fatal(err)
				}
				for range h.Height {
					if err := d.ReadRow(row); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(samples))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
		})
	}
}
