package winograd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func randomSurd(rng *rand.Rand) Surd {
	part := func() int64 { return rng.Int64N(9) - 4 }
	return Frac(part(), 1+rng.Int64N(4)).Add(Root2(part(), 1+rng.Int64N(4)))
}

func TestSurdIsAField(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		x, y, z := randomSurd(rng), randomSurd(rng), randomSurd(rng)
		if !x.Mul(y.Add(z)).Equal(x.Mul(y).Add(x.Mul(z))) {
			t.Fatalf("distributive law fails for %v, %v, %v", x, y, z)
		}
		if !x.IsZero() && !x.Mul(x.Inv()).Equal(Int(1)) {
			t.Fatalf("%v times its inverse is %v", x, x.Mul(x.Inv()))
		}
		if got, want := x.Mul(y).Float64(), x.Float64()*y.Float64(); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Fatalf("%v·%v = %g, in float64 %g", x, y, got, want)
		}
		want := 0
		if f := x.Float64(); f > 0 {
			want = 1
		} else if f < 0 {
			want = -1
		}
		if x.Sign() != want {
			t.Fatalf("sign of %v is %d, its value is %g", x, x.Sign(), x.Float64())
		}
	}
}

func TestSurdValues(t *testing.T) {
	if !Root2(1, 2).Mul(Root2(1, 2)).Equal(Frac(1, 2)) {
		t.Error("(√½)² is not ½")
	}
	if got := Root2(1, 1).Float64(); got != math.Sqrt2 {
		t.Errorf("√2 = %v, want %v", got, math.Sqrt2)
	}
	// 665857/470832 is a convergent of √2: the difference needs cancellation.
	d := Frac(665857, 470832).Sub(Root2(1, 1))
	if got := d.Float64(); math.Abs(got-1.5948618246059559e-12) > 1e-24 || d.Sign() != 1 {
		t.Errorf("convergent minus √2 = %v with sign %d", got, d.Sign())
	}
	for _, c := range []struct {
		x    Surd
		want string
	}{{Surd{}, "0"}, {Frac(-1, 2), "-1/2"}, {Root2(-1, 2), "-1/2·√2"}, {Int(1).Add(Root2(1, 1)), "1+1·√2"}, {Int(1).Sub(Root2(3, 2)), "1-3/2·√2"}} {
		if got := c.x.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestRoundHalf(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ in, want float32 }{
		{0, 0}, {1, 1}, {-1.5, -1.5}, {65504, 65504}, {65519.996, 65504}, {65520, inf}, {-1e6, -inf}, {inf, inf},
		{1 + 1.0/2048, 1},            // tie to even
		{1 + 3.0/2048, 1 + 2.0/1024}, // tie to even
		{1 + 1.01/2048, 1 + 1.0/1024},
		{0x1p-24, 0x1p-24}, {0x1p-25, 0}, {0x1.8p-25, 0x1p-24}, {0x1.004p-14, 0x1.004p-14}, {2047.5 * 0x1p-25, 0x1p-14},
	} {
		if got := roundHalf(c.in); got != c.want {
			t.Errorf("roundHalf(%g) = %g, want %g", c.in, got, c.want)
		}
	}
	if got := roundHalf(float32(math.NaN())); got == got {
		t.Errorf("roundHalf(NaN) = %g", got)
	}
	// Every binary16 number stays, and what lies between goes to a neighbour.
	prev := float32(0)
	for e := -14; e <= 15; e++ {
		for f := range 1024 {
			x := float32(math.Ldexp(1+float64(f)/1024, e))
			if roundHalf(x) != x {
				t.Fatalf("binary16 number %g becomes %g", x, roundHalf(x))
			}
			if prev > 0 {
				if got := roundHalf(prev + (x-prev)*0.49); got != prev {
					t.Fatalf("just under half way above %g becomes %g", prev, got)
				}
			}
			prev = x
		}
	}
}
