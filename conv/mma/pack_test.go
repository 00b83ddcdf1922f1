package mma

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

func TestChannelOrder(t *testing.T) {
	for _, c := range []struct {
		sources []int
		n       int
		want    []int
	}{
		{[]int{4}, 2, []int{0, 1, 2, 3}},
		{[]int{3}, 4, []int{0, 1, 2, -1, -1, -1, -1, -1}},
		{[]int{5, 2}, 4, []int{0, 1, 2, 3, 4, -1, -1, -1, 5, 6, -1, -1, -1, -1, -1, -1}},
		{[]int{1, 1}, 2, []int{0, -1, 1, -1}},
	} {
		if got := channelOrder(c.sources, c.n); !slices.Equal(got, c.want) {
			t.Errorf("sources %v in chunks of %d: %v, want %v", c.sources, c.n, got, c.want)
		}
	}
}

// TestPack multiplies packed fragments as the instruction is specified to (PTX
// ISA, "Matrix Fragments for mma.m16n8k16" and "m16n8k8") with a column of
// activations, and compares the sums with those of the plain weights.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	caps := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024, Units: conv.Units{Matrix: true}}
	for range 20 {
		s := conv.Shape{K: 1 + 2*rng.IntN(3), OutC: 1 + rng.IntN(90), H: 9, W: 9}
		for range 1 + rng.IntN(3) {
			s.SrcC = append(s.SrcC, 1+rng.IntN(20))
		}
		for _, p := range []Precision{FP16, TF32, FP32} {
			made, err := Algo(p).New(caps, s, p.Storage())
			if err != nil {
				t.Fatal(err)
			}
			m, kk := made.(*impl), s.K*s.K
			weights, bias, x := convtest.Randoms(rng, s.OutC*s.InC()*kk), convtest.Randoms(rng, s.OutC), convtest.Randoms(rng, s.InC()*kk)
			packed := m.Pack(weights, bias)
			if len(packed) != m.PackedLen() {
				t.Fatalf("%v: %d values, PackedLen says %d", s, len(packed), m.PackedLen())
			}
			for o := range m.groups() * m.variant.outputs() {
				want, wantBias, scale := 0.0, float32(0), 1.0
				if o < s.OutC {
					wantBias = bias[o]
					for i, v := range x {
						want += float64(weights[o*len(x)+i]) * float64(v)
						scale += math.Abs(float64(weights[o*len(x)+i]) * float64(v))
					}
				}
				unit := map[Precision]float64{FP16: 0x1p-11, TF32: 0x1p-11, FP32: 0x1p-22}[p]
				if got := m.sumPacked(packed, x, o); math.Abs(got-want) > unit*scale {
					t.Fatalf("%s %v: output %d is %v, want %v", p, s, o, got, want)
				}
				if packed[m.biasAt()+o] != wantBias {
					t.Fatalf("%s %v: bias %d is %v, want %v", p, s, o, packed[m.biasAt()+o], wantBias)
				}
			}
		}
	}
}

// sumPacked is the sum that lanes of output o find in packed weights, where
// lane t of a quad multiplies words 2t and 2t+1 of a stage.
func (m *impl) sumPacked(packed, x []float32, o int) (sum float64) {
	v, kk := m.variant, m.shape.K*m.shape.K
	group, warp, tile, g, high := o/v.outputs(), o/(16*v.mt)%v.wo, o/16%v.mt, o%8, o/8%2
	tiles := v.mt * m.precision.parts()
	for stage := range m.stages() {
		for tap := range kk {
			words := packed[(((group*m.stages()+stage)*kk+tap)*v.wo+warp)*tiles*128:]
			for part := range m.precision.parts() {
				for t := range 4 {
					registers := words[(tile+part*v.mt)*128+(4*g+t)*4:][:4]
					sum += m.product(registers[high], x, stage, 2*t, tap) + m.product(registers[high+2], x, stage, 2*t+1, tap)
				}
			}
		}
	}
	return sum
}

// product multiplies packed word w with the activations of word k of a stage.
func (m *impl) product(w float32, x []float32, stage, k, tap int) (sum float64) {
	kk := m.shape.K * m.shape.K
	take := func(place int, w float32) {
		if c := m.order[place]; c >= 0 {
			sum += float64(w) * float64(x[c*kk+tap])
		} else if w != 0 {
			sum = math.NaN() // a weight for a channel that is not there
		}
	}
	if m.precision == FP16 {
		bits := math.Float32bits(w)
		take(stage*16+2*k, planar.Float(uint16(bits)))
		take(stage*16+2*k+1, planar.Float(uint16(bits>>16)))
	} else {
		take(stage*8+k, w)
	}
	return sum
}

func TestRoundTF32(t *testing.T) {
	for _, c := range []struct{ in, want uint32 }{
		{0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f802000}, {0xbf801000, 0xbf802000},
		{0x3fffffff, 0x40000000}, {0x7f7fffff, 0x7f800000}, {0x7f800000, 0x7f800000}, {0, 0}, {0x80000000, 0x80000000},
	} {
		if got := math.Float32bits(roundTF32(math.Float32frombits(c.in))); got != c.want {
			t.Errorf("%#08x: %#08x, want %#08x", c.in, got, c.want)
		}
	}
}
