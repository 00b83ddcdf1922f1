package sharpen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func settings(amount, noise float64) Settings {
	return Settings{Amount: amount, Noise: func(float64) float64 { return noise }, Luminance: [3]float64{0.25, 0.5, 0.25}}
}

// sharpened gives a picture's rows through a Window, which gets so many rows at a time.
func sharpened(w, h, together int, s Settings, light func(y, x, c int) float64) [][]float32 {
	window := New(w, h, s)
	var out [][]float32
	for y := range h {
		row := make([]float32, 3*w+window.Extra())
		for i := range row {
			row[i] = float32(math.NaN()) // what is not filled shows
		}
		for i := range 3 * w {
			row[i] = float32(light(y, i%w, i/w))
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

// defined is the definition in plain loops.
func defined(w, h int, s Settings, light func(y, x, c int) float64) [][]float64 {
	root := func(y, x int) float64 {
		y, x = min(max(y, 0), h-1), min(max(x, 0), w-1)
		sum := 0.0
		for c, k := range s.Luminance {
			sum += k * light(y, x, c)
		}
		return math.Sqrt(max(sum, 0))
	}
	binomial := [5]float64{1, 4, 6, 4, 1}
	var out [][]float64
	for y := range h {
		row := make([]float64, 3*w)
		for x := range w {
			mean := 0.0
			for i, a := range binomial {
				for k, b := range binomial {
					mean += a * b / 256 * root(y+i-2, x+k-2)
				}
			}
			r := root(y, x)
			detail, change := r-mean, 0.0
			if r > 1.0/Levels {
				change = s.Amount * detail * detail * detail / (detail*detail + s.Noise(r)*s.Noise(r) + 1e-9) / r
			}
			scale := 1 + min(max(change, -MostPart), MostPart)
			for c := range 3 {
				row[c*w+x] = light(y, x, c) * scale * scale
			}
		}
		out = append(out, row)
	}
	return out
}

// random light, a third of it dark.
func random(w, h int) func(y, x, c int) float64 {
	rng := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	v := make([]float64, 3*w*h)
	for i := range v {
		v[i] = float64(float32(max(rng.Float64()*1.5-0.5, 0)))
	}
	return func(y, x, c int) float64 { return v[(y*w+x)*3+c] }
}

// TestDefinition holds odd sizes and rows that come in any number against the definition.
func TestDefinition(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 4}, {3, 3}, {4, 2}, {5, 5}, {33, 21}, {64, 70}} {
		w, h := size[0], size[1]
		light, s := random(w, h), settings(0.7, 0.02)
		want := defined(w, h, s, light)
		var first [][]float32
		for _, together := range []int{1, 2, 5, 64, 1000} {
			got := sharpened(w, h, together, s, light)
			if len(got) != h {
				t.Fatalf("%dx%d, %d rows at a time: %d rows", w, h, together, len(got))
			}
			if first == nil {
				first = got
			}
			for y := range got {
				if !slices.Equal(got[y], first[y]) {
					t.Fatalf("%dx%d, %d rows at a time: row %d differs", w, h, together, y)
				}
				for i, v := range got[y] {
					if !(math.Abs(float64(v)-want[y][i]) < 2e-5) {
						t.Fatalf("%dx%d: row %d, value %d is %g, want %g", w, h, y, i, v, want[y][i])
					}
				}
			}
		}
	}
}

// TestNoiseStays: noise of the deviation that is told of hardly grows, an edge does, and an
// amount of 0 changes nothing.
func TestNoiseStays(t *testing.T) {
	const w, h, sigma = 64, 64, 0.01
	rng := rand.New(rand.NewPCG(1, 2))
	roots := make([]float64, w*h)
	for i := range roots {
		roots[i] = 0.5 + sigma*rng.NormFloat64()
	}
	noisy := func(y, x, c int) float64 { return roots[y*w+x] * roots[y*w+x] }
	deviation := func(rows [][]float32) float64 {
		sum := 0.0
		for _, row := range rows {
			for _, v := range row[:w] {
				d := math.Sqrt(float64(v)) - 0.5
				sum += d * d / (w * h)
			}
		}
		return math.Sqrt(sum)
	}
	if d := deviation(sharpened(w, h, 8, settings(0.7, 2*sigma), noisy)); d > 1.25*sigma {
		t.Errorf("noise of %g becomes %g", sigma, d)
	}
	if d := deviation(sharpened(w, h, 8, settings(0.7, 0), noisy)); d < 1.4*sigma {
		t.Errorf("without a noise level, detail of %g becomes %g only", sigma, d)
	}
	if d := deviation(sharpened(w, h, 8, settings(0, 0), noisy)); math.Abs(d-deviation(sharpened(w, h, 8, settings(0, 1), noisy))) > 1e-9 {
		t.Errorf("an amount of 0 changes the deviation to %g", d)
	}
	edge := func(y, x, c int) float64 { return 0.2 + 0.3*min(max(float64(x-w/2)/3, 0), 1) }
	got := sharpened(w, h, 8, settings(0.7, 0.01), edge)[h/2]
	if steepest(got[:w]) < 1.2*0.1 {
		t.Errorf("an edge of 0.1 a pixel becomes one of %g", steepest(got[:w]))
	}
	if low, high := slices.Min(got[:w]), slices.Max(got[:w]); low < 0.2*0.75 || high > 0.5*1.26 {
		t.Errorf("halos of %g and %g beside 0.2 and 0.5", low, high)
	}
}

func steepest(row []float32) (most float64) {
	for x := 1; x < len(row); x++ {
		most = max(most, math.Abs(float64(row[x]-row[x-1])))
	}
	return most
}

func BenchmarkWindow(b *testing.B) {
	const w, h = 4096, 64
	light := random(w, 1)
	window := New(w, h, settings(0.7, 0.01))
	row := make([]float32, 3*w+window.Extra())
	for i := range 3 * w {
		row[i] = float32(light(0, i%w, i/w))
	}
	dst := [][]float32{make([]float32, w), make([]float32, w), make([]float32, w)}
	for b.Loop() {
		window := New(w, h, settings(0.7, 0.01))
		for range h {
			window.Measure(row)
			window.Add(row)
		}
		for first, end := window.Ready(); first < end; first++ {
			window.Make(first, dst)
		}
	}
	b.ReportMetric(float64(b.N)*w*h/1e6/b.Elapsed().Seconds(), "MP/s")
}
