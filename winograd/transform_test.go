package winograd

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// allSets are the named transforms and some with other points.
func allSets(t testing.TB) map[string]*Transform {
	sets := map[string]*Transform{
		"F2x2": F2x2(), "F3x2": F3x2(), "F4x2": F4x2(), "F2x3": F2x3(), "F3x3": F3x3(), "F4x3": F4x3(),
		"F6x3": F6x3(), "F2x5": F2x5(), "F4x5": F4x5(), "F6x5": F6x5(), "F6x7": F6x7(), "F6x9": F6x9(),
		"F9x7": F9x7(), "F9x9": F9x9(),
	}
	add := func(name string, m, r int, p []Point) {
		tr, err := New(m, r, p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sets[name] = tr
	}
	add("F4x3 root", 4, 3, pointSet(true, Root2(1, 2), Root2(1, 1)))
	add("F4x3 integer", 4, 3, pointSet(true, Int(1), Int(2)))
	add("F3x3 no zero, no infinity", 3, 3, []Point{At(Int(1)), At(Int(-1)), At(Int(2)), At(Frac(-1, 2)), At(Root2(1, 1))})
	add("F1x1", 1, 1, []Point{Infinity()})
	add("F1x3", 1, 3, pointSet(false, Int(1)))
	add("F3x1", 3, 1, pointSet(false, Int(1)))
	return sets
}

// direct is the correlation of taps g with input d, the definition.
func direct(g, d []Surd, m int) []Surd {
	y := make([]Surd, m)
	for i := range y {
		for k := range g {
			y[i] = y[i].Add(g[k].Mul(d[i+k]))
		}
	}
	return y
}

// TestIdentity checks the algorithm on the definition, not through Verify: unit
// vectors, and random surds.
func TestIdentity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, tr := range allSets(t) {
		check := func(g, d []Surd) {
			u, v := tr.G.MulVec(g), tr.BT.MulVec(d)
			for j := range u {
				u[j] = u[j].Mul(v[j])
			}
			want := direct(g, d, tr.M)
			for i, got := range tr.AT.MulVec(u) {
				if !got.Equal(want[i]) {
					t.Fatalf("%s: output %d is %v, want %v", name, i, got, want[i])
				}
			}
		}
		for k := range tr.R {
			for l := range tr.T() {
				g, d := make([]Surd, tr.R), make([]Surd, tr.T())
				g[k], d[l] = Int(1), Int(1)
				check(g, d)
			}
		}
		g, d := make([]Surd, tr.R), make([]Surd, tr.T())
		for i := range g {
			g[i] = randomSurd(rng)
		}
		for i := range d {
			d[i] = randomSurd(rng)
		}
		check(g, d)
	}
}

func TestVerifyNoticesAnyChange(t *testing.T) {
	for _, m := range []func(*Transform) Matrix{
		func(t *Transform) Matrix { return t.AT },
		func(t *Transform) Matrix { return t.G },
		func(t *Transform) Matrix { return t.BT },
	} {
		tr := F2x3()
		mat := m(tr)
		for i := range mat {
			for j := range mat[i] {
				old := mat[i][j]
				mat[i][j] = old.Add(Frac(1, 1000))
				if tr.Verify() == nil {
					t.Errorf("a change of entry (%d,%d) passes", i, j)
				}
				mat[i][j] = old
			}
		}
		if err := tr.Verify(); err != nil {
			t.Error(err)
		}
	}
	tr := F6x9()
	tr.btFactors[0][0][0] = tr.btFactors[0][0][0].Add(Int(1))
	if tr.Verify() == nil {
		t.Error("a wrong factor passes")
	}
}

func TestProducts(t *testing.T) {
	for _, c := range []struct {
		t       *Transform
		m, r, n int
		want    float64
	}{
		{F2x3(), 2, 3, 4, 2.25}, {F4x3(), 4, 3, 6, 4}, {F4x5(), 4, 5, 8, 6.25}, {F3x3(), 3, 3, 5, 3.24},
		{F6x9(), 6, 9, 20, 7.29}, {F6x7(), 6, 7, 19, 42. * 42 / 19 / 19}, {F6x5(), 6, 5, 14, 30. * 30 / 14 / 14},
		{F9x9(), 9, 9, 25, 81. * 81 / 625}, {F9x7(), 9, 7, 24, 63. * 63 / 576},
	} {
		if c.t.M != c.m || c.t.R != c.r || c.t.N != c.n {
			t.Errorf("%v has M=%d R=%d N=%d, want %d %d %d", c.t, c.t.M, c.t.R, c.t.N, c.m, c.r, c.n)
		}
		if got := c.t.Reduction(); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v reduces multiplications %g times, want %g", c.t, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	wrap := func(_ *Transform, err error) error { return err }
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"no outputs", "at least 1", wrap(New(0, 3, nil))},
		{"too large", "more than 16", wrap(New(1<<62, 1<<62, nil))},
		{"too many points", "4 points given, need m+r-1 = 3", wrap(New(2, 2, pointSet(true, Int(1))))},
		{"equal points", "1/2 given twice", wrap(New(2, 2, []Point{At(Frac(1, 2)), At(Frac(2, 4)), Infinity()}))},
		{"two infinities", "∞ given twice", wrap(New(2, 2, []Point{Infinity(), Infinity(), At(Int(1))}))},
		{"no defaults", "no default points", wrap(Default(5, 5))},
		{"nest", "as many outputs as taps", wrap(Nest(F2x3(), F4x3()))},
		{"nest nested", "only plain", wrap(Nest(F6x9(), F3x3()))},
		{"truncate", "need 1 to 3", wrap(Truncate(F2x3(), 4))},
		{"truncate to none", "need 1 to 3", wrap(Truncate(F2x3(), 0))},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, c.err, c.want)
		}
	}
}

// TestRangesAreBalanced keeps V and U away from the ends of fp16; nesting
// multiplies the ranges of two transforms.
func TestRangesAreBalanced(t *testing.T) {
	for name, tr := range allSets(t) {
		v0, v1, u0, u1 := tr.Ranges()
		most := 0x1p6
		if tr.btFactors != nil {
			most = 0x1p8
		}
		if v0 < 0x1p-6 || u0 < 0x1p-8 || v1 > most || u1 > 0x1p6 {
			t.Errorf("%s: V %g to %g, U %g to %g", name, v0, v1, u0, u1)
		}
	}
}
