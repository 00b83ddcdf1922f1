package onnximport

import "math"

// foldOne are functions of a number.
var foldOne = map[string]func(float64) float64{
	"Neg": func(x float64) float64 { return -x }, "Abs": math.Abs, "Sqrt": math.Sqrt, "Exp": math.Exp, "Log": math.Log, "Floor": math.Floor,
	"Ceil": math.Ceil, "Round": math.RoundToEven, "Reciprocal": func(x float64) float64 { return 1 / x }, "Erf": math.Erf, "Tanh": math.Tanh,
	"Sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, "Sign": sign, "Sin": math.Sin, "Cos": math.Cos,
	"Relu": func(x float64) float64 { return math.Max(x, 0) }, "Not": func(x float64) float64 { return truth(x == 0) },
}

// foldTwo are functions of two numbers.
var foldTwo = map[string]func(x, y float64) float64{
	"Add": func(x, y float64) float64 { return x + y }, "Sub": func(x, y float64) float64 { return x - y },
	"Mul": func(x, y float64) float64 { return x * y }, "Div": func(x, y float64) float64 { return x / y }, "Pow": math.Pow,
	"Min": math.Min, "Max": math.Max, "Mod": nil,
	"Equal": func(x, y float64) float64 { return truth(x == y) }, "Greater": func(x, y float64) float64 { return truth(x > y) },
	"Less": func(x, y float64) float64 { return truth(x < y) }, "GreaterOrEqual": func(x, y float64) float64 { return truth(x >= y) },
	"LessOrEqual": func(x, y float64) float64 { return truth(x <= y) },
	"And":         func(x, y float64) float64 { return truth(x != 0 && y != 0) }, "Or": func(x, y float64) float64 { return truth(x != 0 || y != 0) },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// comparisons have results that are integers.
var comparisons = map[string]bool{"Equal": true, "Greater": true, "Less": true, "GreaterOrEqual": true, "LessOrEqual": true, "And": true, "Or": true, "Not": true}

func (c *call) foldUnary() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	out := k.like(k.Dims, k.Len())
	for i := range k.Len() {
		if v := foldOne[c.n.Op](k.float(i)); k.Real {
			out.Floats[i] = float32(v)
		} else if out.Ints[i], err = whole(v); err != nil {
			return err
		}
	}
	return c.con(out)
}

// whole is v as an integer, if a float64 holds it exactly.
func whole(v float64) (int64, error) {
	if !(math.Abs(v) <= 1<<53) {
		return 0, refuse("the integer %g is beyond 2^53", v)
	}
	return int64(v), nil
}

// foldBinary computes in float64, which holds all integers that sizes are made of.
func (c *call) foldBinary() error {
	out, err := c.need(0)
	if err != nil {
		return err
	}
	for i := 1; i < len(c.in); i++ {
		k, err := c.need(i)
		if err != nil {
			return err
		}
		if out, err = c.foldPair(out, k); err != nil {
			return err
		}
	}
	return c.con(out)
}

func (c *call) foldPair(a, b *constant) (*constant, error) {
	if a.Real != b.Real && c.n.Op != "Pow" {
		return nil, refuse("its inputs have different types")
	}
	dims, err := broadcast(a.Dims, b.Dims)
	if err != nil {
		return nil, err
	}
	n, err := c.elements(dims)
	if err != nil {
		return nil, err
	}
	out := a.like(dims, n)
	if comparisons[c.n.Op] && a.Real {
		out = &constant{Dims: dims, Ints: make([]int64, n)}
	}
	c.int("fmod", 0)
	for i := range n {
		v, err := c.foldNumbers(a, index(i, dims, a.Dims), b, index(i, dims, b.Dims))
		if err != nil {
			return nil, err
		}
		if out.Real {
			out.Floats[i] = float32(v)
		} else if out.Ints[i], err = whole(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *call) foldNumbers(a *constant, i int, b *constant, j int) (float64, error) {
	x, y := a.float(i), b.float(j)
	switch {
	case a.Real && c.n.Op != "Mod":
		return foldTwo[c.n.Op](x, y), nil
	case c.n.Op != "Div" && c.n.Op != "Mod":
		return foldTwo[c.n.Op](x, y), nil
	case a.Real || y == 0:
		return 0, refuse("%g and %g have no result", x, y)
	}
	q := math.Trunc(x / y)
	if c.n.Op == "Div" {
		return q, nil
	}
	return x - math.Floor(x/y)*y, nil
}
