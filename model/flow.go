package model

import "fmt"

// ratio is the side of a plane divided by the input's, in lowest terms, apart from rows and
// columns that pads, crops and kernels add or take.
type ratio struct{ num, den int }

func (r ratio) times(num, den int) ratio {
	num, den = r.num*num, r.den*den
	if g := gcd(num, den); g > 1 {
		num, den = num/g, den/g
	}
	return ratio{num, den}
}

func (r ratio) String() string {
	if r.den == 1 {
		return fmt.Sprint(r.num)
	}
	return fmt.Sprintf("%d/%d", r.num, r.den)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// scale is a plane's ratios; point says that it is one sample, whatever the input.
type scale struct {
	rows, columns ratio
	point         bool
	// free says that the sides follow from no ratio: what meets the plane is checked where its
	// sides are known.
	free bool
}

func (s scale) String() string {
	switch {
	case s.free:
		return "other sides"
	case s.point:
		return "one sample"
	case s.rows == s.columns:
		return s.rows.String()
	}
	return fmt.Sprintf("%v by %v", s.rows, s.columns)
}

func (s scale) times(numH, denH, numW, denW int) scale {
	if s.free || s.point && (numH < denH || numW < denW) || numH == denH && numW == denW {
		return s
	}
	return scale{rows: s.rows.times(numH, denH), columns: s.columns.times(numW, denW)}
}

// bounded reports whether the ratios are such that sides and further ratios cannot overflow.
func (s scale) bounded() bool {
	return s.free || max(s.rows.num, s.rows.den, s.columns.num, s.columns.den) <= maxRatio
}

// checkFlow gives the channels of every value after checking that the values
// meeting in one node have fitting channels and the same scale.
func (g *Graph) checkFlow() ([]int, error) {
	channels := make([]int, len(g.Nodes))
	scales := make([]scale, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		var err error
		if channels[i], scales[i], err = g.flow(n, channels, scales); err == nil && !scales[i].bounded() {
			err = fmt.Errorf("its side would be %v of the input's", scales[i])
		}
		if err != nil {
			return nil, fmt.Errorf("graph: node %d %q (%s): %w", i, n.Name, n.Op, err)
		}
	}
	return channels, nil
}

// flow gives the channels and the scale of n's value.
func (g *Graph) flow(n *Node, channels []int, scales []scale) (int, scale, error) {
	if n.Op == OpInput {
		return n.C, scale{rows: ratio{1, 1}, columns: ratio{1, 1}}, nil
	}
	first := n.In[0]
	c, s := channels[first], scales[first]
	same := func(in int) error {
		if scales[in] != s && !scales[in].free && !s.free {
			return fmt.Errorf("%q and %q differ in scale (%v and %v of the input)", g.Nodes[first].Name, g.Nodes[in].Name, s, scales[in])
		}
		return nil
	}
	switch n.Op {
	case OpConcat:
		for _, in := range n.In[1:] {
			if c += channels[in]; c > maxChannels {
				return 0, s, fmt.Errorf("more than %d channels", maxChannels)
			}
			if err := same(in); err != nil {
				return 0, s, err
			}
		}
		return c, s, nil
	case OpAdd:
		if b := channels[n.In[1]]; c != b {
			return 0, s, fmt.Errorf("adds %d channels to %d", b, c)
		}
		return c, s, same(n.In[1])
	case OpBinary:
		return g.flowBinary(n, channels, scales)
	case OpDequantize:
		return c, s, g.readsCodes(n)
	case OpQuantConv:
		if terms := int64(c) * int64(n.K) * int64(n.K); terms > maxQuantTerms {
			return 0, s, fmt.Errorf("sums of %d products do not fit 32 bits for certain: want at most %d", terms, maxQuantTerms)
		}
		return n.C, s, g.readsCodes(n)
	case OpMatMul:
		return channels[n.In[1]], s, same(n.In[1])
	case OpConv:
		if n.K != 0 {
			return n.C, s, nil
		}
		if c%n.Groups != 0 {
			return 0, s, fmt.Errorf("%d groups do not divide %d channels", n.Groups, c)
		}
		return n.C, s.times(1, n.Window.StrideH, 1, n.Window.StrideW), nil
	}
	return flowUnary(n, c, s)
}

// flowBinary lets one operand have one channel, or one sample, for all of the other's.
func (g *Graph) flowBinary(n *Node, channels []int, scales []scale) (int, scale, error) {
	first, second := n.In[0], n.In[len(n.In)-1]
	c, s := max(channels[first], channels[second]), scales[first]
	if s.point || scales[second].free {
		s = scales[second]
	}
	for _, in := range n.In {
		if channels[in] != c && channels[in] != 1 {
			return 0, s, fmt.Errorf("%d channels meet %d", channels[first], channels[second])
		}
		if scales[in] != s && !scales[in].point && !s.free {
			return 0, s, fmt.Errorf("%q and %q differ in scale (%v and %v of the input)", g.Nodes[first].Name, g.Nodes[second].Name, scales[first], scales[second])
		}
	}
	return c, s, nil
}

// flowUnary is flow of operations that have one input and make a value of channels that follow from it.
func flowUnary(n *Node, c int, s scale) (int, scale, error) {
	switch n.Op {
	case OpMaxPool:
		return c, s.times(1, 2, 1, 2), nil
	case OpUpsample:
		return c, s.times(2, 1, 2, 1), nil
	case OpPixelShuffle:
		if c%4 != 0 {
			return 0, s, fmt.Errorf("%d channels are not a multiple of 4", c)
		}
		return c / 4, s.times(2, 1, 2, 1), nil
	case OpDepthToSpace:
		if f := n.Factor * n.Factor; c%f != 0 {
			return 0, s, fmt.Errorf("%d channels are not a multiple of %d", c, f)
		}
		return c / (n.Factor * n.Factor), s.times(n.Factor, 1, n.Factor, 1), nil
	case OpSpaceToDepth:
		if c *= n.Factor * n.Factor; c > maxChannels {
			return 0, s, fmt.Errorf("more than %d channels", maxChannels)
		}
		return c, s.times(1, n.Factor, 1, n.Factor), nil
	case OpResize:
		return c, s.times(n.Resize.NumH, n.Resize.DenH, n.Resize.NumW, n.Resize.DenW), nil
	case OpPool, OpCrop:
		return c, s.times(1, n.Window.StrideH, 1, n.Window.StrideW), nil
	case OpGlobalPool:
		return c, scale{rows: ratio{1, 1}, columns: ratio{1, 1}, point: true}, nil
	case OpReduceChannels:
		return 1, s, nil
	case OpRearrange:
		c, err := n.Rearrange.channels()
		return c, scale{free: true}, err
	case OpSlice:
		if n.First+n.C > c {
			return 0, s, fmt.Errorf("channels %d to %d of %d", n.First, n.First+n.C-1, c)
		}
		return n.C, s, nil
	case OpGroupNorm:
		if c%n.Groups != 0 {
			return 0, s, fmt.Errorf("%d groups do not divide %d channels", n.Groups, c)
		}
	}
	return c, s, nil
}
