package winograd

import "fmt"

// DefaultPoints gives the points for F(m,r) that measured best in the search of
// internal/points (docs/winograd-points.md); where several are within the noise
// of the measurement, the ones with the cheapest code. It refuses sizes that were
// not searched.
func DefaultPoints(m, r int) ([]Point, error) {
	switch [2]int{m, r} {
	case [2]int{2, 2}:
		return pointSet(false, Frac(2, 3)), nil
	case [2]int{2, 3}, [2]int{3, 2}:
		return pointSet(true, Int(1)), nil
	case [2]int{3, 3}, [2]int{4, 2}:
		return pointSet(false, Frac(1, 3), Frac(4, 3)), nil
	case [2]int{4, 3}, [2]int{2, 5}:
		return pointSet(true, Frac(2, 3), Frac(3, 2)), nil
	case [2]int{4, 5}, [2]int{6, 3}:
		return pointSet(true, Frac(1, 2), Int(1), Int(2)), nil
	}
	return nil, fmt.Errorf("winograd F(%d,%d): no default points; search them with winograd/internal/points and use New", m, r)
}

// pointSet is 0 if zero, then ±x for each x, then infinity.
func pointSet(zero bool, xs ...Surd) []Point {
	var p []Point
	if zero {
		p = append(p, At(Int(0)))
	}
	for _, x := range xs {
		p = append(p, At(x), At(x.Neg()))
	}
	return append(p, Infinity())
}

// Default is F(m,r) with DefaultPoints.
func Default(m, r int) (*Transform, error) {
	p, err := DefaultPoints(m, r)
	if err != nil {
		return nil, err
	}
	return New(m, r, p)
}

// must is for the sets below, whose arguments are constants: an error would be a
// fault of this package, and the tests build them all.
func must(t *Transform, err error) *Transform {
	if err != nil {
		panic(err)
	}
	return t
}

// F2x2 is F(2,2), an outer transform for nesting.
func F2x2() *Transform { return must(Default(2, 2)) }

// F3x2 is F(3,2), an outer transform for nesting.
func F3x2() *Transform { return must(Default(3, 2)) }

// F4x2 is F(4,2), an outer transform for nesting.
func F4x2() *Transform { return must(Default(4, 2)) }

// F2x3 is F(2,3), whose code has no multiplications.
func F2x3() *Transform { return must(Default(2, 3)) }

// F3x3 is F(3,3), the inner transform for nesting.
func F3x3() *Transform { return must(Default(3, 3)) }

// F4x3 is F(4,3).
func F4x3() *Transform { return must(Default(4, 3)) }

// F6x3 is F(6,3), for float32 storage.
func F6x3() *Transform { return must(Default(6, 3)) }

// F2x5 is F(2,5).
func F2x5() *Transform { return must(Default(2, 5)) }

// F4x5 is F(4,5).
func F4x5() *Transform { return must(Default(4, 5)) }

// F6x9 is nested F(2,3)×F(3,3): 6 outputs of 9 taps by 20 products.
func F6x9() *Transform { return must(Nest(F2x3(), F3x3())) }

// F6x7 is F6x9 cut to 7 taps: 19 products.
func F6x7() *Transform { return must(Truncate(F6x9(), 7)) }

// F9x9 is nested F(3,3)×F(3,3): 9 outputs of 9 taps by 25 products.
func F9x9() *Transform { return must(Nest(F3x3(), F3x3())) }

// F9x7 is F9x9 cut to 7 taps: 24 products.
func F9x7() *Transform { return must(Truncate(F9x9(), 7)) }

// F6x5 is nested F(2,2)×F(3,3) cut to 5 taps: 6 outputs by 14 products.
func F6x5() *Transform { return must(Truncate(must(Nest(F2x2(), F3x3())), 5)) }
