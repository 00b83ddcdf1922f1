package sidebyside

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/imgio"
)

func noise(rng *rand.Rand, n int) []uint16 {
	row := make([]uint16, n)
	for i := range row {
		row[i] = uint16(rng.Uint32())
	}
	return row
}

// TestMeter holds the crops, histograms and colour differences of pictures of odd sizes
// against what a loop over all pixels finds.
func TestMeter(t *testing.T) {
	for _, c := range []struct{ w, h, side int }{{97, 61, 40}, {5, 3, 40}, {1, 1, 8}, {40, 64, 64}, {16, 16, 4}} {
		rng := rand.New(rand.NewPCG(1, uint64(c.w)))
		cfg := Config{Width: c.w, Height: c.h, Side: c.side, Crops: 3, CropSide: 16, DeltaE: true}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var before, after []uint16
		var all []float64
		var want Histogram
		for y := range c.h {
			a, b := noise(rng, 3*c.w), make([]uint16, 3*c.w)
			copy(b, a)
			if y >= c.h/2 { // the lower half differs, the more the further to the right
				for i := range b {
					b[i] = uint16(max(0, int(b[i])-40*i))
				}
			}
			if err := m.Add(a, b); err != nil {
				t.Fatal(err)
			}
			for x := range c.w {
				all = append(all, colour.DeltaE2000(labOf(a[3*x:]), labOf(b[3*x:])))
				for k := range 3 {
					want[k][int(math.Round(float64(b[3*x+k])/257))]++
				}
			}
			before, after = append(before, a...), append(after, b...)
		}
		if m.Add(before[:3*c.w], after[:3*c.w]) == nil {
			t.Error("a row too many was taken")
		}
		r, err := m.Result()
		if err != nil {
			t.Fatal(err)
		}
		if r.Histogram != want {
			t.Errorf("%v: wrong histogram", c)
		}
		slices.Sort(all)
		sum := 0.0
		for _, v := range all {
			sum += v
		}
		p95 := all[(len(all)*95+99)/100-1]
		if d := r.DeltaE; math.Abs(d.Mean-sum/float64(len(all))) > 1e-5 || math.Abs(d.Max-all[len(all)-1]) > 1e-4 || math.Abs(d.P95-p95) > 0.011 {
			t.Errorf("%v: %+v, want mean %g, 95 %% %g, max %g", c, *d, sum/float64(len(all)), p95, all[len(all)-1])
		}
		if side := max(r.After.Rect.Dx(), r.After.Rect.Dy()); side > c.side {
			t.Errorf("%v: the small picture has a side of %d", c, side)
		}
		checkCrops(t, cfg, r, before, after)
	}
}

// checkCrops: crops are what the pictures have there, none of those left out would be among
// the first, and none is there without a difference.
func checkCrops(t *testing.T, cfg Config, r *Result, before, after []uint16) {
	t.Helper()
	last := math.Inf(1)
	for _, c := range r.Crops {
		sum, w, h := 0.0, c.After.Rect.Dx(), c.After.Rect.Dy()
		for y := range h {
			for x := range w {
				for k := range 3 {
					at := 3*((c.Y+y)*cfg.Width+c.X+x) + k
					if got := c.After.Pix[y*c.After.Stride+4*x+k]; got != to8(after[at]) {
						t.Fatalf("crop at %d, %d: pixel %d, %d is %d, want %d", c.X, c.Y, x, y, got, to8(after[at]))
					}
					sum += math.Abs(float64(to8(before[at])) - float64(to8(after[at])))
				}
			}
		}
		if d := sum / float64(3*w*h); math.Abs(d-c.Difference) > 1e-9 || d == 0 || d > last {
			t.Errorf("crop at %d, %d: difference %g, want %g, after %g", c.X, c.Y, c.Difference, d, last)
		}
		last = c.Difference
	}
	if cfg.Width >= 32 && len(r.Crops) == 0 {
		t.Error("no crop")
	}
}

// TestAlone: one picture has no crops and no differences.
func TestAlone(t *testing.T) {
	m, err := New(Config{Width: 4, Height: 1, Alone: true, Side: 8, Crops: 2, CropSide: 2, DeltaE: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Add(nil, make([]uint16, 12)); err != nil {
		t.Fatal(err)
	}
	r, err := m.Result()
	if err != nil || r.Before != nil || r.Crops != nil || r.DeltaE != nil || r.Histogram[2][0] != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := m.Add(nil, nil); err == nil {
		t.Error("a row too many was taken")
	}
}

// TestUpright holds turning against the writer that turns pictures.
func TestUpright(t *testing.T) {
	const w, h = 5, 3
	rng := rand.New(rand.NewPCG(3, 4))
	stored := make([][]uint16, h)
	for y := range stored {
		stored[y] = noise(rng, 3*w)
	}
	for o := 1; o <= 8; o++ {
		m, err := New(Config{Width: w, Height: h, Side: 8, Crops: 12, CropSide: 1})
		if err != nil {
			t.Fatal(err)
		}
		uw, uh := imgio.OrientedSize(w, h, o)
		want := rows{picture: image.NewRGBA(image.Rect(0, 0, uw, uh))}
		to, err := imgio.Oriented(&want, imgio.Header{Width: w, Height: h, Bits: 16}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range stored {
			if err := m.Add(make([]uint16, 3*w), row); err != nil {
				t.Fatal(err)
			}
			if err := to.WriteRow(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := m.Result()
		if err != nil {
			t.Fatal(err)
		}
		r.Upright(o)
		if r.Width != uw || r.Height != uh || r.After.Rect != want.picture.Rect || !slices.Equal(r.After.Pix, want.picture.Pix) {
			t.Errorf("orientation %d: another picture than the writer's", o)
		}
		for _, c := range r.Crops {
			if !slices.Equal(c.After.Pix, want.picture.Pix[c.Y*want.picture.Stride+4*c.X:][:4]) {
				t.Errorf("orientation %d: the crop at %d, %d is not of that place", o, c.X, c.Y)
			}
		}
	}
}
