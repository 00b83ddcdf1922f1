package demosaic

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/raw/mosaic"
)

// patterns are arrays of every kind, one with a colour far apart, all in odd phases.
func patterns(t testing.TB) []mosaic.Pattern {
	t.Helper()
	var all []mosaic.Pattern
	for _, s := range []string{"xtrans", "quad-RGGB", "RGGB", "3x5:RGBGGGBRGGBGGRG", "8x8:RGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGBGGGGGGGGGGGGGGGGGGGGGGGGGGG"} {
		p, err := mosaic.ParsePattern(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p, p.Shift(1, 2))
	}
	return all
}

// picture is a function of place and colour.
type picture func(y, x int, c mosaic.Colour) float32

// taken is the mosaic of a picture.
func taken(p mosaic.Pattern, w, h int, at picture) *Strip {
	s := &Strip{Width: w, Height: h}
	for y := range h {
		for x := range w {
			s.Samples = append(s.Samples, at(y, x, p.At(y, x)))
		}
	}
	return s
}

func made(t testing.TB, p mosaic.Pattern) *Demosaicer {
	t.Helper()
	d, err := For(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// all demosaics a whole mosaic into poisoned rows.
func all(t testing.TB, d *Demosaicer, s *Strip) []float32 {
	t.Helper()
	dst := make([]float32, 3*s.Width*s.Height+1)
	for i := range dst {
		dst[i] = float32(math.NaN())
	}
	if err := d.Rows(s, 0, s.Height, dst); err != nil {
		t.Fatal(err)
	}
	if v := dst[len(dst)-1]; v == v {
		t.Error("wrote beyond the rows")
	}
	return dst[:len(dst)-1]
}

// TestFlat: flat colours come back everywhere, in mosaics of all small sides.
func TestFlat(t *testing.T) {
	flat := func(_, _ int, c mosaic.Colour) float32 { return []float32{0.9, 0.3, 0.05}[c] }
	for _, p := range patterns(t) {
		d := made(t, p)
		for _, side := range [][2]int{{p.Cols(), p.Rows()}, {p.Cols() + 1, 30}, {131, 67}, {250, p.Rows()}} {
			w, h := side[0], side[1]
			got := all(t, d, taken(p, w, h, flat))
			for i, v := range got {
				if want := flat(0, 0, mosaic.Colour(i/w%3)); !(math.Abs(float64(v-want)) < 1e-5) {
					t.Fatalf("%v, %dx%d: sample %d is %g, want %g", p, w, h, i, v, want)
				}
			}
		}
	}
}

// TestPlanes: colours that rise evenly, each in a direction of its own, come back
// nearly so away from the borders.
func TestPlanes(t *testing.T) {
	at := func(y, x int, c mosaic.Colour) float32 {
		return 0.4 + float32(x)*[]float32{0.002, 0.001, -0.001}[c] + float32(y)*[]float32{-0.001, 0.002, 0.001}[c]
	}
	for _, p := range patterns(t)[:6] {
		const w, h, border = 140, 90, 16
		got := all(t, made(t, p), taken(p, w, h, at))
		for y := border; y < h-border; y++ {
			for x := border; x < w-border; x++ {
				for c := range mosaic.Blue + 1 {
					if v, want := got[(3*y+int(c))*w+x], at(y, x, c); !(math.Abs(float64(v-want)) < 0.003) {
						t.Fatalf("%v: %v at %d, %d is %g, want %g", p, c, y, x, v, want)
					}
				}
			}
		}
	}
}

// TestGray: in a picture without colour a diagonal edge and stripes come back far
// better than the mean of the neighbours would give them.
func TestGray(t *testing.T) {
	at := func(y, x int, _ mosaic.Colour) float32 {
		v := 0.5 + 0.3*math.Sin(float64(x)*0.9+float64(y)*0.35)
		if x > y+20 {
			v = 0.15
		}
		return float32(v)
	}
	for i, p := range patterns(t)[:6] {
		const w, h, border = 140, 90, 8
		got := all(t, made(t, p), taken(p, w, h, at))
		sum, n := 0.0, 0.0
		for y := border; y < h-border; y++ {
			for x := border; x < w-border; x++ {
				for c := range mosaic.Blue + 1 {
					e := float64(got[(3*y+int(c))*w+x] - at(y, x, c))
					sum, n = sum+e*e, n+1
				}
			}
		}
		db := -10 * math.Log10(sum/n)
		t.Logf("%v: %.2f dB", p, db)
		if want := []float64{40, 40, 39, 39, 40, 40}[i]; db < want {
			t.Errorf("%v: %.2f dB, want %g", p, db, want)
		}
	}
}

func noise(y, x int, c mosaic.Colour) float32 {
	r := rand.New(rand.NewPCG(uint64(y), uint64(x)))
	return r.Float32()
}

// TestStrips: rows are the same whatever strip they are made in, and a mosaic's phase
// is that of its corner.
func TestStrips(t *testing.T) {
	const w, h = 137, 150
	for _, p := range patterns(t) {
		d := made(t, p)
		s := taken(p, w, h, noise)
		want := all(t, d, s)
		for y0 := 0; y0 < h; {
			y1 := min(h, y0+1+(y0*7)%40)
			part := *s
			part.First = max(0, y0-d.Reach())
			part.Samples = s.Samples[part.First*w : min(h, y1+d.Reach())*w]
			got := make([]float32, 3*(y1-y0)*w)
			if err := d.Rows(&part, y0, y1, got); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if v != want[3*y0*w+i] {
					t.Fatalf("%v: rows %d to %d: sample %d is %g, want %g", p, y0, y1, i, v, want[3*y0*w+i])
				}
			}
			y0 = y1
		}
	}
}

// TestSamplesStay: what the sensor saw is not changed.
func TestSamplesStay(t *testing.T) {
	for _, p := range patterns(t) {
		const w, h = 61, 70
		s := taken(p, w, h, noise)
		got := all(t, made(t, p), s)
		for y := range h {
			for x := range w {
				if v := got[(3*y+int(p.At(y, x)))*w+x]; v != s.Samples[y*w+x] {
					t.Fatalf("%v: sample %d, %d is %g, was %g", p, y, x, v, s.Samples[y*w+x])
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, p := range []mosaic.Pattern{{}, mosaic.Mono} {
		if _, err := New(p); err == nil {
			t.Errorf("%v: no error", p)
		}
	}
	d := made(t, mosaic.XTrans)
	whole := taken(mosaic.XTrans, 40, 40, noise)
	cut := *whole
	cut.Samples = cut.Samples[:40*20]
	for name, c := range map[string]struct {
		s      *Strip
		y0, y1 int
		room   int
	}{
		"narrow":   {taken(mosaic.XTrans, 5, 40, noise), 0, 4, 99999},
		"low":      {taken(mosaic.XTrans, 40, 5, noise), 0, 4, 99999},
		"no room":  {whole, 0, 4, 3*4*40 - 1},
		"beyond":   {whole, 0, 41, 99999},
		"negative": {whole, -1, 4, 99999},
		"too few":  {&cut, 0, 20, 99999},
	} {
		if err := d.Rows(c.s, c.y0, c.y1, make([]float32, c.room)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzPattern: every pattern that is valid has filters, which keep a flat gray.
func FuzzPattern(f *testing.F) {
	f.Add(uint8(6), uint8(6), []byte("GBGGRGRGRBGBGBGGRGGRGGBGBGBRGRGRGGBG"))
	f.Add(uint8(2), uint8(1), []byte("RG"))
	f.Fuzz(func(t *testing.T, rows, cols uint8, letters []byte) {
		filters := make([]mosaic.Colour, len(letters))
		for i, l := range letters {
			filters[i] = mosaic.Colour(l % 4)
		}
		p, err := mosaic.NewPattern(int(rows), int(cols), filters)
		if err != nil || p == mosaic.Mono {
			return
		}
		d := made(t, p)
		for i, v := range all(t, d, taken(p, 16, 9, func(int, int, mosaic.Colour) float32 { return 0.5 })) {
			if !(math.Abs(float64(v)-0.5) < 1e-4) {
				t.Fatalf("%v: sample %d is %g", p, i, v)
			}
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(mosaic.XTrans); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	for _, p := range patterns(b)[:6:6] {
		b.Run(p.String(), func(b *testing.B) {
			const w, h = 1200, 64
			d, s := made(b, p), taken(p, w, h, noise)
			dst := make([]float32, 3*w*h)
			for b.Loop() {
				if err := d.Rows(s, 0, h, dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(w*h*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpixel/s")
		})
	}
}
