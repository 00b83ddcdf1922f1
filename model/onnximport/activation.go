package onnximport

import (
	"math"

	"enhance/model"
)

// This file recognises activations that exporters write out in several operations, so that they are one step, or part of
// the convolution's before them.

// near reports whether a and b are the same number apart from rounding.
func near(a, b float32) bool { return math.Abs(float64(a)-float64(b)) <= 1e-5*math.Abs(float64(b)) }

// only gives the operand and the two numbers of a node that is x·mul + add with the same numbers for all channels.
func (c *call) only(node int) (x int, mul, add float32, ok bool) {
	n := c.grow.Node(node)
	if n.Op != model.OpAffine {
		return 0, 0, 0, false
	}
	m, a := c.params[n.Weight].Data, c.params[n.Bias].Data
	for i := range m {
		if m[i] != m[0] || a[i] != a[0] {
			return 0, 0, 0, false
		}
	}
	return n.In[0], m[0], a[0], true
}

// mapped finds the operand of a node that applies fn.
func (c *call) mapped(node int, fn model.Func) (x int, n *model.Node, ok bool) {
	n = c.grow.Node(node)
	if n.Op != model.OpMap || n.Func != fn {
		return 0, nil, false
	}
	return n.In[0], n, true
}

// gated recognises the product of x and a function of x: SiLU, HardSwish or Mish; nil if it is none of them.
func (c *call) gated(x, gate int) *model.Node {
	if g := c.grow.Node(gate); g.Op == model.OpSigmoid && g.In[0] == x {
		return &model.Node{Op: model.OpMap, Func: model.FuncSiLU, Alpha: 1, In: []int{x}}
	}
	if y, n, ok := c.mapped(gate, model.FuncHardSigmoid); ok && y == x && near(n.Alpha, 1.0/6) && n.Beta == 0.5 {
		return &model.Node{Op: model.OpMap, Func: model.FuncHardSwish, In: []int{x}}
	}
	if y, mul, add, ok := c.only(gate); ok && near(mul, 1.0/6) && add == 0 && c.clipped(y, x) {
		return &model.Node{Op: model.OpMap, Func: model.FuncHardSwish, In: []int{x}}
	}
	if y, _, ok := c.mapped(gate, model.FuncTanh); ok {
		if z, _, ok := c.mapped(y, model.FuncSoftplus); ok && z == x {
			return &model.Node{Op: model.OpMap, Func: model.FuncMish, In: []int{x}}
		}
	}
	return nil
}

// clipped reports whether a node is min(max(x + 3, 0), 6).
func (c *call) clipped(node, x int) bool {
	y, n, ok := c.mapped(node, model.FuncClip)
	if !ok || n.Alpha != 0 || n.Beta != 6 {
		return false
	}
	z, mul, add, ok := c.only(y)
	return ok && z == x && mul == 1 && add == 3
}

// onePlusErf reports whether a node is 1 + erf(x/√2).
func (c *call) onePlusErf(node, x int) bool {
	y, mul, add, ok := c.only(node)
	if !ok || mul != 1 || add != 1 {
		return false
	}
	z, _, ok := c.mapped(y, model.FuncErf)
	if !ok {
		return false
	}
	w, mul, add, ok := c.only(z)
	return ok && w == x && near(mul, math.Sqrt2/2) && add == 0
}

// activationOf recognises an activation in the product of two nodes of the same shape; nil if there is none.
func (c *call) activationOf(a, b int) *model.Node {
	for range 2 {
		if n := c.gated(a, b); n != nil {
			return n
		}
		if x, mul, add, ok := c.only(a); ok && mul == 0.5 && add == 0 && c.onePlusErf(b, x) {
			return &model.Node{Op: model.OpMap, Func: model.FuncGELU, In: []int{x}}
		}
		a, b = b, a
	}
	return nil
}

// scaledProduct recognises an activation in a product times a number: GELU and HardSwish.
func (c *call) scaledProduct(node int, mul, add []float32) *model.Node {
	n := c.grow.Node(node)
	if n.Op != model.OpBinary || n.Binary != model.BinaryMul || len(n.In) != 2 {
		return nil
	}
	for i := range mul {
		if mul[i] != mul[0] || add[i] != 0 {
			return nil
		}
	}
	a, b := n.In[0], n.In[1]
	for range 2 {
		switch {
		case mul[0] == 0.5 && c.onePlusErf(b, a):
			return &model.Node{Op: model.OpMap, Func: model.FuncGELU, In: []int{a}}
		case near(mul[0], 1.0/6) && c.clipped(b, a):
			return &model.Node{Op: model.OpMap, Func: model.FuncHardSwish, In: []int{a}}
		}
		a, b = b, a
	}
	return nil
}
