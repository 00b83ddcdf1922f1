package winograd

import (
	"fmt"
	"strings"
	"sync"
)

// Variant names a transform that convolution kernels exist for.
type Variant string

// The variants: outputs per tile side, then taps. Those for 5×5 as f6x5, 7×7 and
// 9×9 are nested.
const (
	V2x3 Variant = "f2x3"
	V3x3 Variant = "f3x3"
	V4x3 Variant = "f4x3"
	V6x3 Variant = "f6x3"
	V2x5 Variant = "f2x5"
	V4x5 Variant = "f4x5"
	V6x5 Variant = "f6x5"
	V6x7 Variant = "f6x7"
	V9x7 Variant = "f9x7"
	V6x9 Variant = "f6x9"
	V9x9 Variant = "f9x9"
)

var builders = []struct {
	v    Variant
	taps int
	make func() *Transform
}{
	{V2x3, 3, F2x3}, {V3x3, 3, F3x3}, {V4x3, 3, F4x3}, {V6x3, 3, F6x3},
	{V2x5, 5, F2x5}, {V4x5, 5, F4x5}, {V6x5, 5, F6x5},
	{V6x7, 7, F6x7}, {V9x7, 7, F9x7}, {V6x9, 9, F6x9}, {V9x9, 9, F9x9},
}

// Variants lists all variants, small kernels first.
func Variants() []Variant {
	var vs []Variant
	for _, b := range builders {
		vs = append(vs, b.v)
	}
	return vs
}

// compiled is a variant's transform with the code of its two sides.
type compiled struct {
	*Transform
	variant       Variant
	input, output *Program
	noise         float64
}

// cache holds compiled by Variant: exact construction takes milliseconds and
// every layer of a network asks again.
var cache sync.Map

func (v Variant) compiled() (*compiled, error) {
	if c, ok := cache.Load(v); ok {
		return c.(*compiled), nil
	}
	for _, b := range builders {
		if b.v != v {
			continue
		}
		c := &compiled{Transform: b.make(), variant: v}
		c.noise = c.Transform.NoiseGain()
		var err error
		if c.input, err = c.InputProgram(); err != nil {
			return nil, err
		}
		if c.output, err = c.OutputProgram(); err != nil {
			return nil, err
		}
		cache.Store(v, c)
		return c, nil
	}
	return nil, fmt.Errorf("winograd: there is no variant %q; there are %s", string(v), names(Variants()))
}

// NoiseGain is the transform's, computed once: it takes roots to full precision.
func (c *compiled) NoiseGain() float64 { return c.noise }

// pack is TransformFilter for weights that package conv promises to be k×c×R×R.
func (c *compiled) pack(weights []float32, outC, inC int) []float32 {
	u, err := c.TransformFilter(weights, outC, inC)
	if err != nil {
		panic("winograd: Pack: " + err.Error())
	}
	return u
}

// Transform is the variant's transform, or an error that lists the variants.
func (v Variant) Transform() (*Transform, error) {
	c, err := v.compiled()
	if err != nil {
		return nil, err
	}
	return c.Transform, nil
}

func names(vs []Variant) string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = string(v)
	}
	return strings.Join(s, ", ")
}

// variantsFor lists the variants for k×k kernels. It constructs none: those of 7 and
// 9 taps take a third of a second, which a network of 3×3 kernels need not pay.
func variantsFor(k int) []Variant {
	var vs []Variant
	for _, b := range builders {
		if b.taps == k {
			vs = append(vs, b.v)
		}
	}
	return vs
}
