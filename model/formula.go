package model

import (
	"hash/fnv"
	"math"
	"sync"
)

// FormulaTensor gives n values u in [0,1), multiples of 2^-24, that depend only
// on a seed, a name and their index, so that tests and benchmarks need no weight
// files: u = (splitmix64(fnv1a64(seed+name) + i) >> 40) / 2^24. The input of a
// network is made from it with the name "input"; see FormulaParams for weights.
func FormulaTensor(seed, name string, n int) []float32 {
	out := make([]float32, n)
	start := fnv1a64(seed + name)
	for i := range out {
		out[i] = float32(splitmix64(start+uint64(i))>>40) / (1 << 24)
	}
	return out
}

// FormulaParams makes every parameter of a valid graph from FormulaTensor's u:
// the weight of a convolution is (2u-1)·sqrt(6/(1.04·fanIn)), its bias
// (2u-1)·0.05, integer weights are ⌊255u⌋-127, the weight of an instance norm 1+(2u-1)·0.2, its bias (2u-1)·0.1,
// computed in float64 and rounded to float32.
func FormulaParams(seed string, g *Graph) map[string]*Tensor {
	type affine struct{ offset, scale float64 }
	kinds, integers := make(map[string]affine), map[string]bool{}
	specs := g.Params()
	shapes := make(map[string][]int, len(specs))
	for _, s := range specs {
		shapes[s.Name] = s.Shape
	}
	for i := range g.Nodes {
		switch n := &g.Nodes[i]; n.Op {
		case OpConv:
			fanIn := elems(shapes[n.Weight][1:])
			kinds[n.Weight] = affine{0, math.Sqrt(6 / (1.04 * float64(fanIn)))}
			kinds[n.Bias] = affine{0, 0.05}
		case OpQuantConv:
			fanIn := elems(shapes[n.Weight][1:])
			kinds[n.Weight] = affine{0, 0}
			kinds[n.Scales] = affine{math.Sqrt(6/(1.04*float64(fanIn))) / 127 * float64(g.Nodes[n.In[0]].Step), 0}
			kinds[n.Bias] = affine{0, 0.05}
			integers[n.Weight] = true
		case OpPReLU:
			kinds[n.Weight] = affine{0.2, 0.1}
		default:
			kinds[n.Weight] = affine{1, 0.2}
			kinds[n.Bias] = affine{0, 0.1}
		}
	}
	params := make(map[string]*Tensor, len(specs))
	var wg sync.WaitGroup
	for _, s := range specs {
		t, kind, integer := &Tensor{Shape: s.Shape}, kinds[s.Name], integers[s.Name]
		params[s.Name] = t
		wg.Go(func() {
			t.Data = FormulaTensor(seed, s.Name, int(elems(s.Shape)))
			for i, u := range t.Data {
				// Converted, so that no processor fuses the sum with the product.
				t.Data[i] = float32(kind.offset + float64((2*float64(u)-1)*kind.scale))
				if integer {
					t.Data[i] = float32(math.Floor(255*float64(u)) - 127)
				}
			}
		})
	}
	wg.Wait()
	return params
}

func fnv1a64(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// splitmix64 is one step of the generator of Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators" (2014), from state x.
func splitmix64(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// elems is the number of elements of a shape that has been checked.
func elems(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}
