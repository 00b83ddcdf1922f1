package defects

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/internal/usage"
	"enhance/raw/mosaic"
)

// star is a point of light as a lens shows it.
type star struct {
	y, x, sigma float64
	peak        [3]float64
}

// sky is light of stars of many sizes, colours and places, and where they are.
func sky(n, side int, seed uint64) (stars []star, light func(y, x int, c mosaic.Colour) float64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	const apart = 24
	var grid [][]float64
	for range 3 {
		g := make([]float64, side*side)
		for i := range g {
			g[i] = 0.004
		}
		grid = append(grid, g)
	}
	for y := apart; y+apart < side && len(stars) < n; y += apart {
		for x := apart; x+apart < side; x += apart {
			s := star{float64(y) + 4*rng.Float64(), float64(x) + 4*rng.Float64(), 1 + 0.5*rng.Float64(), [3]float64{}}
			peak := 0.02 * math.Pow(45, rng.Float64())
			for c := range s.peak {
				s.peak[c] = peak / wb[c] * math.Pow(1.5, 2*rng.Float64()-1)
			}
			stars = append(stars, s)
			for dy := -7; dy <= 12; dy++ {
				for dx := -7; dx <= 12; dx++ {
					a, b := float64(y+dy)-s.y, float64(x+dx)-s.x
					for c, g := range grid {
						g[(y+dy)*side+x+dx] += s.peak[c] * math.Exp(-(a*a+b*b)/(2*s.sigma*s.sigma))
					}
				}
			}
		}
	}
	return stars, func(y, x int, c mosaic.Colour) float64 { return grid[c][y*side+x] }
}

// TestStars: of stars no brighter pixel is changed.
func TestStars(t *testing.T) {
	const side = 1000
	for i, noise := range []float64{2e-5, 4e-4} {
		stars, light := sky(1600, side, uint64(i))
		s := expose(side, side, light, noise, noise/1000, uint64(i))
		out, found := s.repaired(t, nil)
		worst, lost := 0.0, 0
		for _, st := range stars {
			var before, after float64
			for y := int(st.y) - 1; y <= int(st.y)+2; y++ {
				for x := int(st.x) - 1; x <= int(st.x)+2; x++ {
					before, after = max(before, s.light(y, x)), max(after, out.light(y, x))
				}
			}
			d := math.Abs(after/before - 1)
			worst = max(worst, d)
			if d > 0.05 {
				lost++
			}
		}
		t.Logf("noise %g: %d stars, %d lost, peak changed by %.3f at most; %d repaired", noise, len(stars), lost, worst, found.Count(0, side))
		if lost > 0 {
			t.Errorf("noise %g: %d of %d stars changed by more than 5 %%", noise, lost, len(stars))
		}
	}
}

// hills is smooth light with edges.
func hills(y, x int, c mosaic.Colour) float64 {
	v := 0.2 + 0.15*math.Sin(float64(x)/9)*math.Cos(float64(y)/7)
	if (x/40+y/30)%2 == 0 {
		v *= 0.4
	}
	return v / wb[c]
}

// TestNoise: of flat fields, dark and bright, at low and high sensitivity, at most one
// sample in 10,000 is changed.
func TestNoise(t *testing.T) {
	const side = 400
	for _, v := range []float64{0, 0.001, 0.004, 0.02, 0.07, 0.085, 0.1, 0.4} {
		for _, gain := range []float64{2e-5, 4e-4, 4e-3} {
			s := expose(side, side, func(int, int, mosaic.Colour) float64 { return v }, gain, gain/200, 5)
			_, found := s.repaired(t, nil)
			if n := found.Count(0, side); n > side*side/10000 {
				t.Errorf("light %g, gain %g: %d of %d samples repaired", v, gain, n, side*side)
			}
		}
	}
}

// TestPhases: defects on all filter places of all filter patterns, at borders and in
// corners too, are found and repaired; nothing else is.
func TestPhases(t *testing.T) {
	for _, cfa := range []mosaic.Pattern{mosaic.RGGB, mosaic.BGGR, mosaic.GBRG, mosaic.GRBG, mosaic.Mono} {
		clean := newShot(200, 171)
		clean.meta.CFA = cfa
		rng := rand.New(rand.NewPCG(1, 2))
		for y := range 171 {
			for x := range 200 {
				v := hills(y/3, x/3, cfa.At(y, x))
				clean.set(y, x, v+rng.NormFloat64()*math.Sqrt(2e-5*v+2e-8))
			}
		}
		hurt, want := clean.clone(), []Place{}
		for i, y := range []int{0, 31, 60, 91, 120, 139, 170, 1, 169} {
			columns := []int{0, 33, 66, 101, 132, 199}
			if i > 6 {
				columns = []int{1, 50, 83, 116, 149, 198}
			}
			for j, x := range columns {
				hurt.set(y, x, float64((i+j)%2)*0.9)
				want = append(want, Place{y, x})
			}
		}
		out, found := hurt.repaired(t, nil)
		missed, off := 0, 0
		for _, p := range want {
			if !slices.Contains(found.List(0, 171), p) {
				missed++
			}
			if d := math.Abs(out.shown(p.Row, p.Column) - clean.shown(p.Row, p.Column)); d > 8 {
				off++
			}
		}
		healthy := int(found.Count(0, 171)) - (len(want) - missed)
		if missed > 4 || off > 8 || healthy > 3 {
			t.Errorf("%v: of %d defects %d missed, %d visible; %d healthy samples changed", cfa, len(want), missed, off, healthy)
		}
	}
}

// TestStrips: rows are the same however they are asked for, on one core and on many, and
// what is found counts once.
func TestStrips(t *testing.T) {
	clean := expose(301, 207, hills, 2e-5, 2e-8, 4)
	hurt, _ := clean.injure(4)
	list, err := ReadList(strings.NewReader("5 7\n6 7\n7 7\n5 8\n300 206\n0 0\n9999 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*List{"auto": nil, "list": list, "long list": scattered(t, 20000, 301, 207)} {
		want, found := hurt.repaired(t, l)
		if found.Count(0, 207) == 0 {
			t.Fatalf("%s: nothing found", name)
		}
		for _, procs := range []int{1, 4} {
			old := runtime.GOMAXPROCS(procs)
			r := New(&hurt.meta, hurt.read, l)
			rng := rand.New(rand.NewPCG(uint64(procs), 1))
			dst := make([]uint16, 301*207)
			for range 60 {
				y := rng.IntN(207)
				n := 1 + rng.IntN(min(40, 207-y))
				for i := range dst {
					dst[i] = 0xAAAA
				}
				if err := r.ReadRows(y, n, dst[:n*301]); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(dst[:n*301], want.samples[y*301:][:n*301]) || dst[n*301] != 0xAAAA && n < 207 {
					t.Fatalf("%s: rows %d to %d differ on %d cores", name, y, y+n-1, procs)
				}
			}
			if err := r.ReadRows(0, 207, dst); err != nil {
				t.Fatal(err)
			}
			if r.Found().Count(0, 207) != found.Count(0, 207) || !slices.Equal(r.Found().List(0, 207), found.List(0, 207)) {
				t.Errorf("%s: %d found, then %d", name, found.Count(0, 207), r.Found().Count(0, 207))
			}
			runtime.GOMAXPROCS(old)
		}
	}
}

// TestClusters: a list may have whole blocks and rows; samples without a good one near
// are left alone.
func TestClusters(t *testing.T) {
	clean := expose(120, 120, func(_, x int, c mosaic.Colour) float64 { return (0.1 + float64(x)/400) / wb[c] }, 2e-5, 2e-8, 4)
	hurt := clean.clone()
	var lines strings.Builder
	bad := map[Place]bool{}
	add := func(y, x int) {
		hurt.set(y, x, 1)
		bad[Place{y, x}] = true
		lines.WriteString(fmt.Sprintf("%d %d\n", x, y))
	}
	for i := range 5 {
		for j := range 4 {
			add(20+i, 30+j)
		}
	}
	for x := range 120 {
		add(70, x)
	}
	list, err := ReadList(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	out, found := hurt.repaired(t, list)
	if n := found.Count(0, 120); n != int64(len(bad)) {
		t.Errorf("%d repaired of %d", n, len(bad))
	}
	for y := range 120 {
		for x := range 120 {
			i := y*120 + x
			if !bad[Place{y, x}] {
				if out.samples[i] != clean.samples[i] {
					t.Fatalf("row %d column %d changed, which is not listed", y, x)
				}
				continue
			}
			if d := math.Abs(out.shown(y, x) - clean.shown(y, x)); d > 12 {
				t.Errorf("row %d column %d is off by %.1f/255", y, x, d)
			}
		}
	}
}

// TestSmall: photos that are too small for a neighbourhood are left alone.
func TestSmall(t *testing.T) {
	for _, size := range [][2]int{{2, 2}, {21, 40}, {40, 21}, {22, 22}} {
		s := expose(size[0], size[1], hills, 2e-5, 2e-8, 4)
		s.set(1, 1, 1)
		s.repaired(t, nil)
		list, _ := ReadList(strings.NewReader("1 1\n"))
		s.repaired(t, list)
	}
}

// waves is smooth light: most extreme samples are noise.
func waves(y, x int, c mosaic.Colour) float64 {
	v := 0.2 + 0.1*math.Sin(2*math.Pi*float64(x)/256) + 0.07*math.Sin(2*math.Pi*float64(y)/512)
	return v / wb[c]
}

// large is 24 megapixels that repeat a shot of 512 x 512.
func large(s *shot) (mosaic.Meta, Source) {
	m := s.meta
	m.Width, m.Height = 6144, 4096
	return m, func(y, n int, dst []uint16) error {
		for i := range n {
			for x := 0; x < m.Width; x += 512 {
				copy(dst[i*m.Width+x:], s.samples[(y+i)%512*512:][:512])
			}
		}
		return nil
	}
}

// BenchmarkRows measures 24 megapixels in memory.
func BenchmarkRows(b *testing.B) {
	for name, light := range map[string]func(int, int, mosaic.Colour) float64{"edges": hills, "waves": waves} {
		b.Run(name, func(b *testing.B) {
			m, read := large(expose(512, 512, light, 2e-4, 2e-7, 1))
			const strip = 512
			dst := make([]uint16, strip*m.Width)
			before := usage.CPUSeconds()
			for b.Loop() {
				r := New(&m, read, nil)
				for y := 0; y < m.Height; y += strip {
					if err := r.ReadRows(y, strip, dst); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/photo")
			b.ReportMetric((usage.CPUSeconds()-before)/float64(b.N)*1000, "core-ms/photo")
		})
	}
}

// TestPlain: behind other filter arrays a list is obeyed, and nothing is looked for.
func TestPlain(t *testing.T) {
	for _, cfa := range []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(1, 2)} {
		clean := expose(90, 90, func(y, x int, _ mosaic.Colour) float64 { return 0.3 / wb[cfa.At(y, x)] }, 0, 0, 1)
		clean.meta.CFA = cfa
		hurt := clean.clone()
		hurt.set(30, 40, 1)
		hurt.set(0, 89, 0)
		out, found := hurt.repaired(t, nil)
		if found.Count(0, 90) != 0 || !slices.Equal(out.samples, hurt.samples) {
			t.Errorf("%v: %d defects found", cfa.Kind(), found.Count(0, 90))
		}
		list, err := ReadList(strings.NewReader("40 30\n89 0\n"))
		if err != nil {
			t.Fatal(err)
		}
		if out, found = hurt.repaired(t, list); found.Count(0, 90) != 2 || !slices.Equal(out.samples, clean.samples) {
			t.Errorf("%v: %d defects of the list repaired", cfa.Kind(), found.Count(0, 90))
		}
	}
}
