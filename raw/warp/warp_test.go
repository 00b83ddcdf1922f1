package warp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/raw/opcode"
	"enhance/raw/rawerr"
)

// identity is a warp that moves nothing.
func identity() *opcode.Rectilinear {
	return &opcode.Rectilinear{Planes: []opcode.RectilinearPlane{{Radial: []float64{1, 0, 0, 0, 0, 0, 0}, MaxRadius: 1}}, CX: 0.5, CY: 0.5}
}

// barrel is a warp of some percent with a tangential part.
func barrel(cx, cy float64, k ...float64) *opcode.Rectilinear {
	return &opcode.Rectilinear{Planes: []opcode.RectilinearPlane{{Radial: []float64{k[0], 0, k[1], 0, k[2], 0, 0}, Tangential: [2]float64{k[3], k[4]}, MaxRadius: 1}}, CX: cx, CY: cy}
}

// whole is a spec of a picture that is all of the frame.
func whole(w, h int, warps ...opcode.Warp) Spec {
	return Spec{Warps: warps, Frame: opcode.Frame{Width: w, Height: h}, Width: w, Height: h, Scale: 1, Right: w, Bottom: h}
}

// run warps a picture in chunks of rows and returns the result's planes.
func run(t testing.TB, s Spec, chunk int, pixel func(p, y, x int) float32) [planes][]float32 {
	t.Helper()
	w, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var out [planes][]float32
	rw, rh := s.Right-s.Left, s.Bottom-s.Top
	for p := range out {
		out[p] = make([]float32, rw*rh)
	}
	done := 0
	for y0 := 0; y0 < s.Height; y0 += chunk {
		for y := y0; y < min(y0+chunk, s.Height); y++ {
			row := make([]float32, planes*s.Width)
			for i := range row {
				row[i] = pixel(i/s.Width, y, i%s.Width)
			}
			w.Add(row)
		}
		first, end := w.Ready()
		for y := first; y < end; y++ {
			if err := w.Make(y, [][]float32{out[0][y*rw:][:rw], out[1][y*rw:][:rw], out[2][y*rw:][:rw]}); err != nil {
				t.Fatal(err)
			}
			done++
		}
		for _, row := range w.Drop() {
			clear(row)
		}
	}
	if done != rh {
		t.Fatalf("%d of %d rows were made", done, rh)
	}
	return out
}

func TestIdentityChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	const w, h = 37, 29
	var in [planes][]float32
	for p := range in {
		in[p] = make([]float32, w*h)
		for i := range in[p] {
			in[p][i] = r.Float32()
		}
	}
	s := whole(w, h, identity(), identity())
	s.Left, s.Top, s.Right, s.Bottom = 3, 2, 30, 27
	out := run(t, s, 5, func(p, y, x int) float32 { return in[p][y*w+x] })
	for p := range out {
		for i, v := range out[p] {
			if want := in[p][(2+i/27)*w+3+i%27]; math.Abs(float64(v-want)) > 1e-5 {
				t.Fatalf("plane %d, pixel %d: %g, want %g", p, i, v, want)
			}
		}
	}
}

// TestBentGridComesOutStraight photographs a grid through a lens, by inverting the
// correction point by point, and measures where the lines are after it.
func TestBentGridComesOutStraight(t *testing.T) {
	const w, h, pitch = 240, 200, 40
	red := barrel(0.5, 0.5, 1.02, -0.06, 0.02, 0.001, -0.002)
	three := &opcode.Rectilinear{CX: 0.48, CY: 0.53}
	for p := range 3 {
		three.Planes = append(three.Planes, opcode.RectilinearPlane{Radial: []float64{1 + 0.002*float64(p), 0, 0.03, 0, 0, 0, 0}, MaxRadius: 1})
	}
	for name, warps := range map[string][]opcode.Warp{
		"barrel":     {red},
		"pincushion": {barrel(0.45, 0.55, 0.97, 0.05, 0, 0, 0)},
		"colours":    {three},
		"two":        {red, three},
		"fisheye":    {&opcode.Fisheye{Planes: [][4]float64{{1.15, -0.2, 0.05, 0}}, CX: 0.5, CY: 0.5}},
	} {
		s := whole(w, h, warps...)
		pixel := func(p, y, x int) float32 {
			gx, gy := float64(x), float64(y) // of the straight grid, by iteration
			for range 25 {
				sx, sy := gx, gy
				for i := len(warps) - 1; i >= 0; i-- {
					sx, sy = lens(warps[i], w, h, p, sx, sy)
				}
				gx, gy = gx+float64(x)-sx, gy+float64(y)-sy
			}
			near := func(v float64) float64 { d := v - pitch*math.Round(v/pitch); return math.Exp(-d * d / (2 * 2 * 2)) }
			return float32(max(near(gx), near(gy)))
		}
		out := run(t, s, 16, pixel)
		worst := 0.0
		for p := range planes {
			worst = max(worst, lineError(out[p], w, h, pitch))
		}
		t.Logf("%s: lines are within %.3f pixels of straight", name, worst)
		if worst > 0.1 {
			t.Errorf("%s: a line is %.3f pixels from straight", name, worst)
		}
	}
}

// lens is where a corrected pixel is in the photo: the formulas of the DNG
// specification, chapter 7, written down once more.
func lens(warp opcode.Warp, w, h, plane int, x, y float64) (float64, float64) {
	cx, cy := warp.Center()
	x0, y0 := cx*float64(w-1), cy*float64(h-1)
	m := math.Hypot(max(x0, float64(w-1)-x0), max(y0, float64(h-1)-y0))
	dx, dy := (x-x0)/m, (y-y0)/m
	r := math.Hypot(dx, dy)
	switch q := warp.(type) {
	case *opcode.Fisheye:
		k, o := q.Planes[0], math.Atan(r)
		if r == 0 {
			return x, y
		}
		f := (k[0]*o + k[1]*math.Pow(o, 3) + k[2]*math.Pow(o, 5) + k[3]*math.Pow(o, 7)) / r
		return x0 + m*f*dx, y0 + m*f*dy
	case *opcode.Rectilinear:
		v := q.Planes[min(plane, len(q.Planes)-1)]
		k, t := v.Radial, v.Tangential
		f := k[0] + k[2]*r*r + k[4]*math.Pow(r, 4) + k[6]*math.Pow(r, 6)
		return x0 + m*(f*dx+t[0]*2*dx*dy+t[1]*(r*r+2*dx*dx)), y0 + m*(f*dy+t[1]*2*dx*dy+t[0]*(r*r+2*dy*dy))
	}
	panic("no such warp")
}

// lineError is how far the centre of a grid line is from where it belongs, half-way
// between crossings, away from the edges, where the source is out of sight.
func lineError(img []float32, w, h, pitch int) float64 {
	worst := 0.0
	centre := func(at func(k int) float32, line int) {
		sum, moment := 0.0, 0.0
		for k := line - 7; k <= line+7; k++ {
			v := float64(at(k))
			sum += v
			moment += v * float64(k-line)
		}
		worst = max(worst, math.Abs(moment/sum))
	}
	for line := 2 * pitch; line < w-2*pitch+1; line += pitch {
		for y := 2*pitch + pitch/2; y < h-2*pitch; y += pitch {
			centre(func(k int) float32 { return img[y*w+k] }, line)
		}
	}
	for line := 2 * pitch; line < h-2*pitch+1; line += pitch {
		for x := 2*pitch + pitch/2; x < w-2*pitch; x += pitch {
			centre(func(k int) float32 { return img[k*w+x] }, line)
		}
	}
	return worst
}

// TestChunksDoNotMatter cuts the source at every number of rows.
func TestChunksDoNotMatter(t *testing.T) {
	s := whole(41, 33, barrel(0.4, 0.6, 1.1, -0.2, 0.05, 0.01, 0.02))
	s.Frame = opcode.Frame{X0: 1, Y0: 2, Width: 25, Height: 20}
	s.Scale, s.X0, s.Y0 = 2, 3, 4
	s.Left, s.Top, s.Right, s.Bottom = 2, 3, 39, 31
	pixel := func(p, y, x int) float32 { return float32((p*7+y*13+x*x)%31) / 31 }
	want := run(t, s, 33, pixel)
	for chunk := 1; chunk < 33; chunk += 3 {
		got := run(t, s, chunk, pixel)
		for p := range got {
			for i, v := range got[p] {
				if math.Float32bits(v) != math.Float32bits(want[p][i]) {
					t.Fatalf("chunks of %d rows: plane %d, pixel %d is %g, want %g", chunk, p, i, v, want[p][i])
				}
			}
		}
	}
}

// TestMemoryDoesNotGrowWithHeight warps pictures of one width and rising height,
// and counts the rows that are in memory at once.
func TestMemoryDoesNotGrowWithHeight(t *testing.T) {
	const width, chunk = 400, 16
	out := [][]float32{make([]float32, width), make([]float32, width), make([]float32, width)}
	for _, h := range []int{600, 4800} {
		w, err := New(whole(width, h, barrel(0.5, 0.5, 1.03, -0.05, 0, 0, 0)))
		if err != nil {
			t.Fatal(err)
		}
		row, most := make([]float32, planes*width), 0
		for y := range h {
			w.Add(row)
			most = max(most, len(w.rows))
			if y%chunk < chunk-1 && y < h-1 {
				continue
			}
			first, end := w.Ready()
			for r := first; r < end; r += 7 { // some will do
				if err := w.Make(r, out); err != nil {
					t.Fatal(err)
				}
			}
			w.Drop()
		}
		t.Logf("height %d: %d rows in memory, of which %d are held", h, most, w.Held())
		if most > w.Held()+chunk {
			t.Errorf("height %d: %d rows in memory, %d held and %d of a chunk", h, most, w.Held(), chunk)
		}
		if w.Held() > 16 {
			t.Errorf("height %d: %d rows are held", h, w.Held())
		}
	}
}

// TestWarpToNowhere refuses coefficients that lead to no pixel.
func TestWarpToNowhere(t *testing.T) {
	zero := &opcode.Rectilinear{Planes: []opcode.RectilinearPlane{{Radial: []float64{0}, MaxRadius: 1}}, CX: 0.5, CY: 0.5, Reciprocal: true}
	for _, w := range []opcode.Warp{zero, barrel(0.5, 0.5, 1e300, 1e300, 0, 0, 0)} {
		var fe *rawerr.FormatError
		if _, err := New(whole(20, 10, w)); !errors.As(err, &fe) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// FuzzWarp lets any coefficients warp a small picture: it is refused or comes out
// whole.
func FuzzWarp(f *testing.F) {
	f.Add(1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, false)
	f.Add(1.02, -0.06, 0.02, 0.001, -0.002, 0.5, 0.4, true)
	f.Fuzz(func(t *testing.T, a, b, c, d, e, cx, cy float64, fish bool) {
		if !(cx >= 0 && cx <= 1 && cy >= 0 && cy <= 1) {
			return
		}
		var warp opcode.Warp = barrel(cx, cy, a, b, c, d, e)
		if fish {
			warp = &opcode.Fisheye{Planes: [][4]float64{{a, b, c, d}}, CX: cx, CY: cy}
		}
		s := whole(23, 17, warp)
		w, err := New(s)
		if err != nil {
			return
		}
		out := [][]float32{make([]float32, 23), make([]float32, 23), make([]float32, 23)}
		for range s.Height {
			w.Add(make([]float32, planes*s.Width))
			first, end := w.Ready()
			for r := first; r < end; r++ {
				if w.Make(r, out) != nil {
					return
				}
			}
			w.Drop()
		}
		if w.next != s.Height {
			t.Fatalf("%d of %d rows", w.next, s.Height)
		}
	})
}

func BenchmarkWarp(b *testing.B) {
	const width, chunk, h = 4000, 64, 256
	for b.Loop() {
		w, err := New(whole(width, h, barrel(0.5, 0.5, 1.03, -0.05, 0, 0, 0)))
		if err != nil {
			b.Fatal(err)
		}
		out := [][]float32{make([]float32, width), make([]float32, width), make([]float32, width)}
		for range h / chunk {
			for range chunk {
				w.Add(make([]float32, planes*width))
			}
			for first, end := w.Ready(); first < end; first++ {
				if err := w.Make(first, out); err != nil {
					b.Fatal(err)
				}
			}
			w.Drop()
		}
	}
	b.ReportMetric(width*h*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpixel/s")
}
