package octets

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// packVariants have even and odd numbers of octets in a stage.
var packVariants = []variant{{nt: 3, os: 2}, {nt: 4, os: 1}, {nt: 1, os: 3}}

// TestPack sums packed weights times activations as the kernel goes through them and the instructions are specified to take
// them (PTX ISA, "Shared Memory Matrix Layout" of wgmma), and compares that with the
// sums of the plain weights.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 20 {
		v := packVariants[i%len(packVariants)]
		s := conv.Shape{K: 1 + 2*rng.IntN(3), OutC: 1 + rng.IntN(90), H: 9, W: 9, Octets: true, OctetsOut: true}
		for range rng.IntN(3) {
			s.SrcC = append(s.SrcC, 8*(1+rng.IntN(3)))
		}
		s.SrcC = append(s.SrcC, 1+rng.IntN(20))
		m := &impl{shape: s, variant: v, order: octetOrder(s.SrcC)}
		kk := s.K * s.K
		weights, bias, x := convtest.Randoms(rng, s.OutC*s.InC()*kk), convtest.Randoms(rng, s.OutC), convtest.Randoms(rng, s.InC()*kk)
		packed := m.Pack(weights, bias)
		if len(packed) != m.PackedLen() {
			t.Fatalf("%v: %d values, PackedLen says %d", s, len(packed), m.PackedLen())
		}
		for o := range m.groups() * v.outputs() {
			want, wantBias, scale := 0.0, float32(0), 1.0
			if o < s.OutC {
				wantBias = bias[o]
				for i, a := range x {
					want += float64(weights[o*len(x)+i]) * float64(a)
					scale += math.Abs(float64(weights[o*len(x)+i]) * float64(a))
				}
			}
			if got := m.sumPacked(packed, x, o); math.Abs(got-want) > 0x1p-11*scale {
				t.Fatalf("%s %v: output %d is %v, want %v", v, s, o, got, want)
			}
			if packed[m.biasAt()+o] != wantBias {
				t.Fatalf("%s %v: bias %d is %v, want %v", v, s, o, packed[m.biasAt()+o], wantBias)
			}
		}
	}
}

// sumPacked is the sum for output o, stage by stage, step by step and kernel row by kernel row.
func (m *impl) sumPacked(packed, x []float32, o int) (sum float64) {
	v, k := m.variant, m.shape.K
	group, n := o/v.outputs(), o%v.outputs()
	words := packed[group*m.groupWords():]
	for stage := range m.stages() {
		for step := range v.steps(k) {
			for ky := range k {
				for half := range 2 {
					octet, kx := v.half(k, step, half)
					octet += stage * v.os
					for i := range 8 {
						w := half16(words, v.unitPlace(n, half, i))
						if octet < len(m.order) && kx < k && i < m.order[octet][1] {
							sum += w * float64(x[(m.order[octet][0]+i)*k*k+ky*k+kx])
						} else if w != 0 {
							return math.NaN() // a weight for a channel that is not there
						}
					}
				}
				words = words[v.outputs()*8:]
			}
		}
	}
	return sum
}

func half16(words []float32, i int) float64 {
	return float64(planar.Float(uint16(math.Float32bits(words[i/2]) >> (16 * (i % 2)))))
}

// unitPlace is where the instruction finds the factor of output n and channel i of a half among the halves of
// words of a kernel row: core matrices of 8 by 8, at strides of outputs·16 bytes along K and 128 along N.
func (v variant) unitPlace(n, half, i int) int { return half*v.outputs()*8 + n/8*64 + n%8*8 + i }

// TestFits checks that every shape that networks have gets a variant that fits.
func TestFits(t *testing.T) {
	for _, k := range []int{1, 3, 5} {
		for _, in := range []int{1, 8, 24, 40, 64, 96, 160, 320} {
			for _, outs := range []int{1, 3, 16, 24, 64, 128} {
				s := conv.Shape{K: k, SrcC: []int{in}, OutC: outs, H: 100, W: 100, Octets: true, OctetsOut: true}
				if v := choose(s); !v.sane() || v.localBytes(k, stagesOf(s, v)) > localMem {
					t.Errorf("%v: %v takes %d bytes of local memory", s, v, v.localBytes(k, stagesOf(s, v)))
				}
			}
		}
	}
}

// TestRefuses says what New does not take.
func TestRefuses(t *testing.T) {
	caps := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024, Units: conv.Units{Matrix: true, Warpgroup: true}}
	good := conv.Shape{K: 3, SrcC: []int{16, 9}, OutC: 16, H: 8, W: 8, Octets: true, OctetsOut: true}
	for _, c := range []struct {
		name   string
		change func(*conv.Caps, *conv.Shape)
		p      planar.Precision
	}{
		{"no matrix units", func(c *conv.Caps, _ *conv.Shape) { c.Warpgroup, c.Matrix = false, false }, planar.FP16},
		{"fp32 storage", func(*conv.Caps, *conv.Shape) {}, planar.FP32},
		{"planes", func(_ *conv.Caps, s *conv.Shape) { s.Octets = false }, planar.FP16},
		{"even kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 4 }, planar.FP16},
		{"large kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 11 }, planar.FP16},
		{"no channels", func(_ *conv.Caps, s *conv.Shape) { s.SrcC = nil }, planar.FP16},
		{"half an octet between", func(_ *conv.Caps, s *conv.Shape) { s.SrcC = []int{9, 16} }, planar.FP16},
		{"weights larger than local memory", func(_ *conv.Caps, s *conv.Shape) { s.SrcC, s.OutC = []int{2048}, 8 }, planar.FP16}, // from 16 outputs on they pass through
		{"small groups for weights that pass through", func(c *conv.Caps, s *conv.Shape) { c.MaxWorkGroup, s.K, s.OutC = 64, 9, 32 }, planar.FP16},
		{"small groups", func(c *conv.Caps, _ *conv.Shape) { c.MaxWorkGroup = 64 }, planar.FP16},
	} {
		caps, s := caps, good
		c.change(&caps, &s)
		if _, err := Algo().New(caps, s, c.p); err == nil {
			t.Errorf("%s: not refused", c.name)
		}
	}
	if _, err := Algo().New(caps, good, planar.FP16); err != nil {
		t.Error(err)
	}
}

// TestShared: the rows that a launch is said to take as long as are the largest share of its tiles times all teams of
// the device, and never fewer than its own.
func TestShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		s := conv.Shape{K: 3, SrcC: []int{8 * (1 + rng.IntN(12))}, OutC: 8 * (1 + rng.IntN(20)), H: 400, W: 1 + rng.IntN(900), Octets: true, OctetsOut: true}
		m := &impl{shape: s, variant: choose(s), order: octetOrder(s.SrcC), cores: 1 + rng.IntN(140)}
		rows := 1 + rng.IntN(400)
		_, global, local := m.launch(nil, &conv.Args{Src: make([]planar.Ring, 1), Dst: planar.Ring{W: s.W}, Y1: rows})
		teams := global[0] / local[0] / m.groups() * m.variant.teams
		across := ceilDiv(s.W, tileW)
		shares := make([]int, teams)
		for tile := range across * ceilDiv(rows, m.variant.r) {
			shares[tile%teams]++
		}
		all := max(m.cores/m.groups(), 1) * m.variant.teams
		want := float64(shares[0]*all*m.variant.r) / float64(across)
		if got := m.Shared(rows); got != want || got < float64(rows) {
			t.Errorf("%v on %d units, %d rows: %g, want %g", s, m.cores, rows, got, want)
		}
	}
}
