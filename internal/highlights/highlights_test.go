package highlights

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/internal/colour"
)

// clips are the lights at which a sensor's colours are clipped, balanced for daylight.
var clips = [3]float64{2, 1, 1.6}

const level = 2 // of white

// rebuilt gives a picture's rows through a Window, which gets so many rows at a time.
func rebuilt(w, h, together int, clip [3]float64, light func(y, x int) [3]float64) [][]float32 {
	window := New(w, h, clip, level)
	var out [][]float32
	for y := range h {
		row := make([]float32, 3*w+window.Extra())
		for i := range row {
			row[i] = float32(math.NaN()) // what is not filled shows
		}
		for x := range w {
			for c, v := range light(y, x) {
				row[c*w+x] = float32(min(v, clip[c]))
			}
		}
		window.Measure(row)
		window.Add(row)
		if (y+1)%together != 0 && y != h-1 {
			continue
		}
		for first, end := window.Ready(); first < end; first++ {
			dst := make([]float32, 3*w)
			if err := window.Make(first, [][]float32{dst[:w], dst[w:][:w], dst[2*w:]}); err != nil {
				panic(err)
			}
			out = append(out, dst)
		}
		window.Drop()
	}
	return out
}

// TestRamp: light of a colour rises through the clipping of one, two and three components.
// Rendered, its luminance never falls, it makes no step, its hue stays until two are
// clipped, and it ends in white.
func TestRamp(t *testing.T) {
	const w, h = 2400, 70
	curve := colour.NewCurve(0, level)
	tone := colour.NewTone(curve, colour.Identity(), colour.Rec2020, colour.Rec2020)
	lum := colour.Rec2020.Luminance()
	for _, k := range [][3]float64{{1, 1, 1}, {1, 0.8, 0.6}, {0.5, 0.75, 1}, {1, 0.5, 0.3}, {0.5, 1, 0.4}, {1, 0.6, 0.9}, {0.3, 0.3, 1}, {0.9, 1, 0.3}} {
		rise := func(x int) float64 { return 0.15 * math.Pow(60, float64(x)/(w-1)) }
		ramp := func(_, x int) (v [3]float64) {
			for c := range v {
				v[c] = k[c] * rise(x)
			}
			return v
		}
		row := rebuilt(w, h, 16, clips, ramp)[h/2]
		tone.Row(row[:w], row[w:][:w], row[2*w:])
		last, lastCode := 0.0, [3]float64{-1, -1, -1}
		worst, step := 0.0, 0.0
		for x := range w {
			y, clipped, v := 0.0, 0, [3]float64{}
			for c := range v {
				v[c] = float64(row[c*w+x])
				y += lum[c] * v[c]
				if k[c]*rise(x) >= clips[c] {
					clipped++
				}
			}
			if y < last-1e-5 {
				t.Errorf("%v: luminance %.5f after %.5f at %d", k, y, last, x)
				break
			}
			last = y
			for c := range v {
				code := colour.SRGBEncode(v[c])
				if lastCode[c] >= 0 {
					step = max(step, math.Abs(code-lastCode[c]))
				}
				lastCode[c] = code
			}
			if clipped < 2 && k != [3]float64{1, 1, 1} && chroma(v) > 0.02 {
				worst = max(worst, math.Abs(math.Remainder(angle(v)-angle(k), 360)))
			}
			if clipped == 3 && min(v[0], v[1], v[2]) < 0.999 {
				t.Errorf("%v: clipped light gives %v at %d", k, v, x)
				break
			}
		}
		t.Logf("%v: hue within %.2f degrees, steps of up to %.2f/255", k, worst, 255*step)
		if worst > 5 || step > 1.0/255 {
			t.Errorf("%v: hue off by %.1f degrees, a step of %.2f/255", k, worst, 255*step)
		}
	}
}

func chroma(v [3]float64) float64 { return max(v[0], v[1], v[2]) - min(v[0], v[1], v[2]) }

// angle is the hue of linear components on the colour circle.
func angle(v [3]float64) float64 {
	return math.Atan2(math.Sqrt(3)*(v[1]-v[2]), 2*v[0]-v[1]-v[2]) * 180 / math.Pi
}

// lamp is a bright spot of a colour on a dim ground of another.
func lamp(w, h int, spot, ground [3]float64) func(y, x int) [3]float64 {
	return func(y, x int) (v [3]float64) {
		d := math.Hypot(float64(x-w/2), float64(y-h/2)) / float64(min(w, h)) * 4
		f := 5 * math.Exp(-d*d)
		for c := range v {
			v[c] = ground[c] + f*spot[c]
		}
		return v
	}
}

// TestCore: a lamp's core is no darker than its rim, and white.
func TestCore(t *testing.T) {
	const w, h = 161, 120
	rows := rebuilt(w, h, 1, clips, lamp(w, h, [3]float64{1, 0.7, 0.4}, [3]float64{0.05, 0.1, 0.2}))
	for y := h / 2; y < h-1; y++ {
		for c := range 3 {
			v, next := rows[y][c*w+w/2], rows[y+1][c*w+w/2]
			if min(next, level) > min(v, level)+0.02 {
				t.Fatalf("component %d rises from %g to %g away from the core, at %d", c, v, next, y-h/2)
			}
		}
	}
	if v := rows[h/2]; min(v[w/2], v[w+w/2], v[2*w+w/2]) < 0.99*level {
		t.Errorf("the core is %g, %g, %g", v[w/2], v[w+w/2], v[2*w+w/2])
	}
}

// TestRowsTogether: the result does not depend on how many rows come at a time, and no
// sample of it is darker than the source's.
func TestRowsTogether(t *testing.T) {
	for _, size := range [][2]int{{161, 120}, {1, 1}, {16, 16}, {17, 15}, {15, 33}, {40, 7}} {
		w, h := size[0], size[1]
		light := lamp(w, h, [3]float64{0.4, 0.7, 1}, [3]float64{0.3, 0.5, 0.2})
		noise := rand.New(rand.NewPCG(1, uint64(w)))
		noisy := make([]float64, w*h)
		for i := range noisy {
			noisy[i] = 0.9 + 0.2*noise.Float64()
		}
		scene := func(y, x int) (v [3]float64) {
			for c, l := range light(y, x) {
				v[c] = l * noisy[y*w+x]
			}
			return v
		}
		want := rebuilt(w, h, 1, clips, scene)
		if len(want) != h {
			t.Fatalf("%dx%d: %d rows", w, h, len(want))
		}
		for _, together := range []int{3, 16, 64, 1000} {
			got := rebuilt(w, h, together, clips, scene)
			for y := range want {
				if !slices.Equal(got[y], want[y]) {
					t.Fatalf("%dx%d, %d rows at a time: row %d differs", w, h, together, y)
				}
			}
		}
		for y := range want {
			for x := range w {
				for c, l := range scene(y, x) {
					if v := want[y][c*w+x]; !(v >= float32(min(l, clips[c]))) {
						t.Fatalf("%dx%d: row %d, column %d, component %d is %g, was %g", w, h, y, x, c, v, l)
					}
				}
			}
		}
	}
}

// TestUnclipped: light below the clipping levels stays as it is.
func TestUnclipped(t *testing.T) {
	const w, h = 50, 40
	scene := func(y, x int) [3]float64 {
		return [3]float64{1.8 * float64(x) / w, 0.9 * float64(y) / h, 1.4 * float64(x*y) / w / h}
	}
	for y, row := range rebuilt(w, h, 16, clips, scene) {
		for x := range w {
			for c, l := range scene(y, x) {
				if row[c*w+x] != float32(l) {
					t.Fatalf("row %d, column %d, component %d is %g, was %g", y, x, c, row[c*w+x], l)
				}
			}
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	const w, h = 4096, 64
	for _, bright := range []float64{0.3, 1.2} {
		b.Run(fmt.Sprint(bright), func(b *testing.B) {
			light := lamp(w, h, [3]float64{0.1, 0.1, 0.1}, [3]float64{bright, bright, bright})
			window := New(w, h, clips, level)
			row := make([]float32, 3*w+window.Extra())
			for x := range w {
				for c, v := range light(h/4, x) {
					row[c*w+x] = float32(min(v, clips[c]))
				}
			}
			dst := [][]float32{make([]float32, w), make([]float32, w), make([]float32, w)}
			for b.Loop() {
				window := New(w, h, clips, level)
				for range h {
					window.Measure(row)
					window.Add(row)
				}
				for first, end := window.Ready(); first < end; first++ {
					window.Make(first, dst)
				}
			}
			b.ReportMetric(float64(b.N)*w*h/1e6/b.Elapsed().Seconds(), "MP/s")
		})
	}
}
