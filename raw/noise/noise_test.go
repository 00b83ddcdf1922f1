package noise

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"enhance/raw/mosaic"
)

// painted has slopes, edges and a fine texture over a third of it.
func painted(w, h int) func(c mosaic.Colour, y, x int) float64 {
	return func(c mosaic.Colour, y, x int) float64 {
		v := 0.02 + 0.8*float64(x)/float64(w)*float64(y)/float64(h)
		if (x/97+y/61)%2 == 0 {
			v *= 0.4
		}
		if x%300 < 100 {
			v *= 1 + 0.3*math.Sin(float64(3*x))*math.Sin(float64(2*y))
		}
		return v * []float64{0.6, 1, 0.8}[c]
	}
}

// TestPainted holds the estimate against the known deviation at dark, middle and bright
// samples of a scene with flat parts.
func TestPainted(t *testing.T) {
	for i, want := range append(sensors, same(1e-5, 2e-9), same(0, 1e-3)) {
		e, err := shoot(900, 600, painted(900, 600), want, uint64(i)).estimate()
		if err != nil {
			t.Fatal(err)
		}
		for c := range e.Levels {
			for _, v := range []float64{0.01, 0.1, 0.4} {
				r := math.Sqrt(e.Levels[c].At(v) / (want[c].At(v) + 1.0/12/(white-black)/(white-black)))
				if !(r > 0.88 && r < 1.12) {
					t.Errorf("sensor %d, %v at %g: %.3f of the true deviation (%+v)", i, mosaic.Colour(c), v, r, e.Levels[c])
				}
			}
		}
	}
}

// TestOneGain: colours of different ranges have one gain in stored units.
func TestOneGain(t *testing.T) {
	s := shoot(900, 600, painted(900, 600), same(8e-4, 1.5e-5), 1)
	s.meta.White = [3]float32{white, black + 2*(white-black), black + 0.9*(white-black)}
	e, err := s.estimate()
	if err != nil {
		t.Fatal(err)
	}
	for c, span := range []float64{1, 2, 0.9} {
		l := e.Levels[c]
		if math.Abs(l.S*span/8e-4-1) > 0.15 || math.Abs(math.Sqrt(l.O*span*span/1.5e-5)-1) > 0.15 {
			t.Errorf("%v: %+v for a range of %g", mosaic.Colour(c), l, span)
		}
	}
}

// TestNoiseless: neither detail nor rounding is taken for much noise.
func TestNoiseless(t *testing.T) {
	e, err := shoot(900, 600, painted(900, 600), Levels{}, 1).estimate()
	if err != nil {
		t.Fatal(err)
	}
	if d := math.Sqrt(e.Levels[0].At(0.2)) * (white - black); d > 2 {
		t.Errorf("deviation of %.2f steps at 0.2", d)
	}
}

func TestTooLittle(t *testing.T) {
	bright := func(mosaic.Colour, int, int) float64 { return 2 }
	for name, s := range map[string]*shot{
		"small": shoot(60, 40, painted(60, 40), sensors[0], 1), "tiny": shoot(2, 2, painted(2, 2), sensors[0], 1),
		"saturated": shoot(200, 200, bright, sensors[0], 1),
	} {
		if _, err := s.estimate(); !errors.Is(err, ErrNoFlatBlocks) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	s := shoot(200, 200, painted(200, 200), sensors[0], 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Estimate(ctx, &s.meta, s.read, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	lost := errors.New("lost")
	if _, err := Estimate(t.Context(), &s.meta, func(int, int, []uint16) error { return lost }, nil); !errors.Is(err, lost) {
		t.Errorf("unreadable: error %v", err)
	}
}

// TestBands: the sample is bounded, inside the crop, in whole bands that do not overlap,
// and says the same on any number of cores.
func TestBands(t *testing.T) {
	for _, size := range [][2]int{{16, 16}, {33, 47}, {700, 5000}, {6000, 4000}, {60000, 35000}} {
		m := &mosaic.Meta{Width: size[0] + 5, Height: size[1] + 3, Crop: mosaic.Rect{X0: 3, Y0: 1, X1: size[0] + 3, Y1: size[1] + 1}}
		s := newSample(m)
		next := m.Crop.Y0
		for _, y := range s.bands {
			if y < next || y+BandRows(m) > m.Crop.Y1 {
				t.Fatalf("%v: a band at row %d, after %d", size, y, next)
			}
			next = y + BandRows(m)
		}
		if n := len(s.found); n == 0 || n > maxBlocks {
			t.Errorf("%v: %d blocks", size, n)
		}
	}
	s := shoot(1301, 907, painted(1301, 907), sensors[1], 1)
	s.meta.Crop = mosaic.Rect{X0: 5, Y0: 7, X1: 1300, Y1: 900}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, err := s.estimate()
	runtime.GOMAXPROCS(4)
	four, err4 := s.estimate()
	if err != nil || err4 != nil || one.Levels != four.Levels || one.Blocks != four.Blocks {
		t.Errorf("%+v (%v) on one core, %+v (%v) on four", one, err, four, err4)
	}
}

func TestCompare(t *testing.T) {
	e, err := shoot(900, 600, painted(900, 600), sensors[1], 1).estimate()
	if err != nil {
		t.Fatal(err)
	}
	for _, times := range []float64{0, 0.5, 1, 3} {
		l := same(8e-4*times, 1.5e-5*times)
		if r := e.Compare(&l); math.Abs(r-times) > 0.15*times {
			t.Errorf("levels of %g times the variance: %.2f", times, r)
		}
	}
}

// BenchmarkEstimate measures 24 megapixels in memory.
func BenchmarkEstimate(b *testing.B) {
	small := shoot(1000, 1000, painted(1000, 1000), sensors[1], 1)
	m := small.meta
	m.Width, m.Height, m.Crop = 6000, 4000, mosaic.Rect{X1: 6000, Y1: 4000}
	read := func(y, n int, dst []uint16) error {
		for i := range n {
			for x := 0; x < m.Width; x += 1000 {
				copy(dst[i*m.Width+x:], small.samples[(y+i)%1000*1000:][:1000])
			}
		}
		return nil
	}
	for b.Loop() {
		if _, err := Estimate(b.Context(), &m, read, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/photo")
}

// TestCutOff: blocks whose noise the camera has cut off at black are left out.
func TestCutOff(t *testing.T) {
	want := sensors[2]
	light := func(_ mosaic.Colour, y, x int) float64 { return max(0, float64(x)/900-0.4) * 0.8 }
	s := shoot(900, 600, light, want, 1)
	for i, v := range s.samples {
		s.samples[i] = max(v, black)
	}
	e, err := s.estimate()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{0.01, 0.1, 0.4} {
		if r := math.Sqrt(e.Levels[1].At(v) / want[1].At(v)); !(r > 0.85 && r < 1.15) {
			t.Errorf("at %g: %.3f of the true deviation (%+v)", v, r, e.Levels[1])
		}
	}
}

// TestGains: of a photo that a gain map has brightened to its corners, the levels are
// those of the samples before.
func TestGains(t *testing.T) {
	const w, h = 900, 600
	factor := func(y, x int) float64 {
		dy, dx := float64(2*y-h)/h, float64(2*x-w)/w
		return 1 + 2*(dy*dy+dx*dx)
	}
	want := sensors[1]
	light := painted(w, h)
	s := shoot(w, h, func(c mosaic.Colour, y, x int) float64 { return light(c, y, x) / factor(y, x) }, want, 1)
	for i, v := range s.samples {
		s.samples[i] = uint16(min(math.Round(black+(float64(v)-black)*factor(i/w, i%w)), white))
	}
	gains := func(y, x0 int, dst []float32) {
		for i := range dst {
			dst[i] = float32(factor(y, x0+i))
		}
	}
	e, err := Estimate(t.Context(), &s.meta, s.read, gains)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{0.01, 0.1, 0.3} {
		if r := math.Sqrt(e.Levels[1].At(v) / want[1].At(v)); !(r > 0.88 && r < 1.12) {
			t.Errorf("at %g: %.3f of the true deviation (%+v)", v, r, e.Levels[1])
		}
	}
}
