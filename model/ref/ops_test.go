package ref

import (
	"math"
	"slices"
	"testing"

	"enhance/model"
)

func TestReflect(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int // for i = -5 ... 7
	}{
		{1, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{2, []int{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}},
		{3, []int{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1}},
		{5, []int{3, 4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1}},
	} {
		var got []int
		for i := -5; i <= 7; i++ {
			got = append(got, Reflect(i, c.n))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("n=%d: %v, want %v", c.n, got, c.want)
		}
	}
}

// The expected values were worked out by hand.
func TestConvByHand(t *testing.T) {
	src := []float64{1, 2, 3, 4, 5, 6} // 2 rows of 3
	weight := []float32{0, 0, 1, 0, 10, 0, 100, 0, 0}
	dst := make([]float64, 6)
	p := newPool(Options{}, 0)
	if err := convPlain(t.Context(), p, dst, src, model.Shape{C: 1, H: 2, W: 3}, weight, []float32{0.5}, 3, model.PadReflect); err != nil {
		t.Fatal(err)
	}
	// (y,x): upper right + 10·centre + 100·lower left, mirrored at the edges.
	want := []float64{
		5 + 10 + 500 + 0.5, 6 + 20 + 400 + 0.5, 5 + 30 + 500 + 0.5,
		2 + 40 + 200 + 0.5, 3 + 50 + 100 + 0.5, 2 + 60 + 200 + 0.5,
	}
	if !slices.Equal(dst, want) {
		t.Errorf("%v, want %v", dst, want)
	}
}

func TestElementwiseByHand(t *testing.T) {
	x := []float64{-2, -0.5, 0, 3}
	got := make([]float64, 4)
	leakyReLU(got, x, 0.25)
	if want := []float64{-0.5, -0.125, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("leaky_relu %v, want %v", got, want)
	}
	add(got, x, got)
	if want := []float64{-2.5, -0.625, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("add %v, want %v", got, want)
	}
	sigmoid(got, []float64{0, math.Log(3), -math.Log(3), -1e4})
	if d := maxDiff(t, got, []float64{0.5, 0.75, 0.25, 0}); d > 1e-15 {
		t.Errorf("sigmoid %v", got)
	}
}

func TestInstanceNormByHand(t *testing.T) {
	got := make([]float64, 4)
	instanceNorm(got, []float64{1, 3, 5, 7}, 2, 10, 4) // mean 4, variance 5, epsilon 4
	if want := []float64{8, 10 - 2.0/3, 10 + 2.0/3, 12}; maxDiff(t, got, want) > 1e-14 {
		t.Errorf("%v, want %v", got, want)
	}
	// A large mean must not swallow the variance.
	shifted := []float32{1e6 + 1, 1e6 + 3, 1e6 + 5, 1e6 + 7}
	instanceNorm(shifted, shifted, 2, 10, 4)
	if d := maxDiff(t, shifted, got); d > 1e-5 {
		t.Errorf("shifted by a million: off by %g", d)
	}
}

func TestMaxPoolByHand(t *testing.T) {
	nan := math.NaN()
	src := []float64{ // 3 rows of 5: the last row and column are dropped
		1, -2, -7, -5, 9,
		0, 3, -6, -8, 9,
		9, 9, 9, 9, 9,
	}
	got := make([]float64, 2)
	maxPool(got, src, 3, 5)
	if want := []float64{3, -5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for at := range 4 {
		plane := []float64{1, 2, 3, 4}
		plane[at] = nan
		maxPool(got[:1], plane, 2, 2)
		if got[0] == got[0] {
			t.Errorf("NaN at %d was lost: %g", at, got[0])
		}
	}
}

func TestUpsampleByHand(t *testing.T) {
	for _, c := range []struct {
		align bool
		src   []float64
		want  []float64
	}{
		{true, []float64{0, 3}, []float64{0, 1, 2, 3}},
		{true, []float64{0, 5, 10}, []float64{0, 2, 4, 6, 8, 10}},
		{true, []float64{7}, []float64{7, 7}},
		{false, []float64{0, 4}, []float64{0, 1, 3, 4}},
		{false, []float64{0, 4, 8}, []float64{0, 1, 3, 5, 7, 8}},
		{false, []float64{7}, []float64{7, 7}},
	} {
		n := len(c.src)
		got := make([]float64, 4*n)
		upsample(got, c.src, n, upsampleTaps(1, c.align), upsampleTaps(n, c.align))
		if d := maxDiff(t, got, append(slices.Clone(c.want), c.want...)); d > 1e-12 {
			t.Errorf("columns, align %v: %v, want %v twice", c.align, got, c.want)
		}
		upsample(got, c.src, 1, upsampleTaps(n, c.align), upsampleTaps(1, c.align))
		for y, v := range c.want {
			if math.Abs(got[2*y]-v) > 1e-12 || math.Abs(got[2*y+1]-v) > 1e-12 {
				t.Errorf("rows, align %v: row %d is %v, want %g", c.align, y, got[2*y:2*y+2], v)
			}
		}
	}
}

func TestPixelShuffleByHand(t *testing.T) {
	src := []float64{1, 2, 11, 12, 21, 22, 31, 32} // 4 planes of 1×2
	got := make([]float64, 8)
	pixelShuffle(got, src, 1, 2)
	if want := []float64{1, 11, 2, 12, 21, 31, 22, 32}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
