package winograd_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/winograd"
)

// sameBits fails unless both have the same bits.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: sample %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// fullBytes is V and M of a whole plane in the tiled form.
func fullBytes(t *testing.T, d *device, v winograd.Variant, s conv.Shape, p planar.Precision) (full, row int64) {
	t.Helper()
	one := func(rows int) int64 {
		impl, err := winograd.Convolution{Variant: v, Form: winograd.Tiled, Cap: math.MaxInt64}.New(d.caps(), s, p)
		if err != nil {
			t.Fatal(err)
		}
		return impl.Scratch(rows)
	}
	return one(s.H), one(1)
}

// TestByteCaps runs with 100, 50, 25 and 10 % of full tile buffers: the scratch
// reported is within the cap, no byte after it is written (Bench.Launch), and the
// result has the same bits. A cap below the least names that size.
func TestByteCaps(t *testing.T) {
	d := openDevice(t)
	for _, v := range []winograd.Variant{winograd.V4x3, winograd.V2x5} {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("%s/%s", v, p), func(t *testing.T) {
				tr, _ := v.Transform()
				s := conv.Shape{K: tr.R, SrcC: []int{5, 2}, OutC: 6, H: 11*tr.M - 1, W: 37, Act: fuse.LeakyReLU}
				full, row := fullBytes(t, d, v, s, p)
				j := newJob(s, p, true, 3)
				var want []float32
				for _, percent := range []int64{100, 50, 25, 10} {
					a := winograd.Convolution{Variant: v, Form: winograd.Tiled, Cap: full * percent / 100}
					impl, err := a.New(d.caps(), s, p)
					if err != nil {
						t.Fatal(err)
					}
					if n := impl.Scratch(s.H); n > a.Cap {
						t.Fatalf("cap of %d bytes (%d%%): asks for %d", a.Cap, percent, n)
					}
					got, err := j.run(d, a, d.caps())
					if err != nil {
						t.Fatal(err)
					}
					if want == nil {
						want = got
					}
					sameBits(t, fmt.Sprintf("%d%% of %d bytes", percent, full), got, want)
				}
				least := lessScratch(t, d, v, s, p)
				if least[0] != row {
					t.Errorf("one row of tiles is %d bytes, the first of %v", row, least)
				}
				_, err := winograd.Convolution{Variant: v, Form: winograd.Tiled, Cap: least[len(least)-1] - 1}.New(d.caps(), s, p)
				var ce *winograd.CapError
				if n := least[len(least)-1]; !errors.As(err, &ce) || ce.Smallest != n || !strings.Contains(err.Error(), fmt.Sprint(n)) {
					t.Fatalf("cap of %d bytes: error %v, want one that names %d", n-1, err, n)
				}
			})
		}
	}
}

func lessScratch(t *testing.T, d *device, v winograd.Variant, s conv.Shape, p planar.Precision) []int64 {
	t.Helper()
	impl, err := winograd.Convolution{Variant: v, Form: winograd.Tiled}.New(d.caps(), s, p)
	if err != nil {
		t.Fatal(err)
	}
	return impl.(conv.Dividing).LessScratch()
}

// TestLessScratch gives launches of the tiled form every size of scratch that it lists,
// one byte more and one less, and odd ones between: M keeps float32 sums in the order of
// channels, so the bits are those of a launch that has all it wants. Below the least the
// launch says what it needs.
func TestLessScratch(t *testing.T) {
	d := openDevice(t)
	for _, c := range []struct {
		v    winograd.Variant
		srcC []int
	}{{winograd.V4x3, []int{9, 4, 18}}, {winograd.V6x3, []int{40}}, {winograd.V4x5, []int{16, 11}}, {winograd.V9x7, []int{33}}, {winograd.V4x3, []int{3}}} {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("%s/%v/%s", c.v, c.srcC, p), func(t *testing.T) {
				tr, _ := c.v.Transform()
				s := conv.Shape{K: tr.R, SrcC: c.srcC, OutC: 5, H: 2*tr.M + 3, W: 21, Act: fuse.LeakyReLU}
				j, algo := newJob(s, p, true, 4), winograd.Convolution{Variant: c.v, Form: winograd.Tiled}
				want, err := j.run(d, algo, d.caps())
				if err != nil {
					t.Fatal(err)
				}
				less := lessScratch(t, d, c.v, s, p)
				least := less[len(less)-1]
				if s.InC() > 8 && 2*len(less) < 4 {
					t.Fatalf("%d channels have %d sizes of scratch", s.InC(), len(less))
				}
				for i, n := range less {
					if i > 0 && n >= less[i-1] {
						t.Errorf("sizes %v do not fall", less)
					}
					for _, n := range []int64{n + 64, n, n - 64} {
						if n < least {
							continue
						}
						j.scratch = n
						got, err := j.run(d, algo, d.caps())
						if err != nil {
							t.Fatal(err)
						}
						sameBits(t, fmt.Sprintf("%d bytes of scratch of %v", n, less), got, want)
					}
				}
				j.scratch = least - 4
				var ce *winograd.CapError
				if _, err := j.run(d, algo, d.caps()); !errors.As(err, &ce) || ce.Smallest != least {
					t.Errorf("%d bytes of scratch: error %v, want one that names %d", j.scratch, err, least)
				}
			})
		}
	}
}

// TestSplitByChannels: over all rows of a launch, half and a quarter of the channels at a
// time give the bits of all at once, in scratch that is as small as the cap.
func TestSplitByChannels(t *testing.T) {
	d := openDevice(t)
	s := conv.Shape{K: 5, SrcC: []int{20, 12}, OutC: 6, H: 19, W: 30, Act: fuse.LeakyReLU}
	full, _ := fullBytes(t, d, winograd.V4x5, s, planar.FP32)
	j := newJob(s, planar.FP32, true, 8)
	want, err := j.run(d, winograd.Convolution{Variant: winograd.V4x5, Form: winograd.Tiled, Cap: full}, d.caps())
	if err != nil {
		t.Fatal(err)
	}
	vBytes := full / int64(s.InC()+s.OutC) * int64(s.InC())
	for _, parts := range []int64{2, 4} {
		a := winograd.Convolution{Variant: winograd.V4x5, Form: winograd.Tiled, Cap: full - vBytes + vBytes/parts, Split: winograd.ByChannels}
		impl, err := a.New(d.caps(), s, planar.FP32)
		if err != nil {
			t.Fatal(err)
		}
		if n := impl.Scratch(s.H); n != a.Cap {
			t.Errorf("%d parts: asks for %d bytes, the cap is %d", parts, n, a.Cap)
		}
		got, err := j.run(d, a, d.caps())
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, fmt.Sprintf("%d parts of the channels", parts), got, want)
	}
}

// TestStripsCap: a small cap leaves fewer workers, and the same bits.
func TestStripsCap(t *testing.T) {
	d := openDevice(t)
	s := conv.Shape{K: 3, SrcC: []int{7}, OutC: 5, H: 23, W: 150, Act: fuse.Sigmoid}
	j := newJob(s, planar.FP32, false, 5)
	a := winograd.Convolution{Variant: winograd.V4x3, Form: winograd.Strips, Cap: 1}
	_, err := a.New(d.caps(), s, planar.FP32)
	var ce *winograd.CapError
	if !errors.As(err, &ce) {
		t.Fatalf("cap of a byte: %v", err)
	}
	var want []float32
	for _, n := range []int64{100, 3, 1} {
		a.Cap = n * ce.Smallest
		impl, err := a.New(d.caps(), s, planar.FP32)
		if err != nil {
			t.Fatal(err)
		}
		if got := impl.Scratch(s.H); got > a.Cap {
			t.Fatalf("cap %d: asks for %d", a.Cap, got)
		}
		got, err := j.run(d, a, d.caps())
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		sameBits(t, fmt.Sprintf("%d slices", n), got, want)
	}
	// The launch copes with less scratch than was asked for, and says so if it is none.
	j.scratch = ce.Smallest
	got, err := j.run(d, winograd.Algo(winograd.V4x3), d.caps())
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, "one slice given", got, want)
	j.scratch = ce.Smallest - 4
	if _, err := j.run(d, winograd.Algo(winograd.V4x3), d.caps()); !errors.As(err, &ce) {
		t.Fatalf("less than a slice given: %v", err)
	}
}

// TestRowRanges launches over ranges of rows with the rows that they need alone.
func TestRowRanges(t *testing.T) {
	d := openDevice(t)
	for _, f := range []winograd.Form{winograd.Strips, winograd.Tiled, winograd.Fused} {
		a := winograd.Convolution{Variant: winograd.V4x3, Form: f}
		s := conv.Shape{K: 3, SrcC: []int{3, 4}, OutC: 9, H: 29, W: 43, Act: fuse.LeakyReLU}
		j := newJob(s, planar.FP32, true, 6)
		want, err := j.run(d, a, d.caps())
		if err != nil {
			t.Fatal(err)
		}
		j.cuts = []int{4, 12, 16, 28}
		got, err := j.run(d, a, d.caps())
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, a.Name()+" in row ranges", got, want)
		for _, cuts := range [][]int{{3}, {8, 8}} {
			j.cuts = cuts
			if _, err := j.run(d, a, d.caps()); err == nil || !strings.Contains(err.Error(), "multiples of 4") {
				t.Errorf("%s: launches cut at rows %v: error %v", a.Name(), cuts, err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	caps := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024}
	ok := conv.Shape{K: 3, SrcC: []int{4}, OutC: 4, H: 8, W: 8}
	with := func(f func(*conv.Shape)) conv.Shape {
		s := ok
		f(&s)
		return s
	}
	for name, c := range map[string]struct {
		a     winograd.Convolution
		caps  conv.Caps
		shape conv.Shape
		want  string
	}{
		"variant":       {winograd.Convolution{Variant: "f5x3"}, caps, ok, "f4x3"},
		"kernel size":   {winograd.Convolution{Variant: winograd.V4x3}, caps, with(func(s *conv.Shape) { s.K = 9 }), "does 3x3 kernels, not 9x9"},
		"no variant":    {winograd.Convolution{Variant: winograd.V4x3}, caps, with(func(s *conv.Shape) { s.K = 1 }), "does 3x3 kernels, not 1x1"},
		"no channels":   {winograd.Convolution{Variant: winograd.V4x3}, caps, with(func(s *conv.Shape) { s.SrcC = nil }), "not a convolution"},
		"no rows":       {winograd.Convolution{Variant: winograd.V4x3}, caps, with(func(s *conv.Shape) { s.H = 0 }), "not a convolution"},
		"local memory":  {winograd.Convolution{Variant: winograd.V4x3}, conv.Caps{LocalMem: 1 << 10, MaxWorkGroup: 1024}, ok, "local memory"},
		"work-group":    {winograd.Convolution{Variant: winograd.V4x3}, conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 64}, ok, "work-groups"},
		"form":          {winograd.Convolution{Variant: winograd.V4x3, Form: 9}, caps, ok, "form 9"},
		"fused":         {winograd.Convolution{Variant: winograd.V4x5, Form: winograd.Fused}, caps, with(func(s *conv.Shape) { s.K = 5 }), "tiled"},
		"channel split": {winograd.Convolution{Variant: winograd.V4x3, Form: winograd.Strips, Split: winograd.ByChannels}, caps, ok, "tiled"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.a.New(c.caps, c.shape, planar.FP32)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
