package wgmma

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// TestPack finds every weight where the comment of Pack says, and nothing
// else.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range []conv.Shape{
		{K: 3, SrcC: []int{5, 9}, OutC: 70, H: 9, W: 9},
		{K: 5, SrcC: []int{16}, OutC: 20, H: 9, W: 9},
		{K: 1, SrcC: []int{40}, OutC: 64, H: 9, W: 9},
	} {
		made, err := Algo().New(conv.Caps{MaxWorkGroup: 1024, Units: conv.Units{Warpgroup: true}}, s, planar.FP16)
		if err != nil {
			t.Fatal(err)
		}
		m := made.(*impl)
		weights, bias := convtest.Randoms(rng, s.OutC*s.InC()*s.K*s.K), convtest.Randoms(rng, s.OutC)
		packed := m.Pack(weights, bias)
		if len(packed) != m.PackedLen() {
			t.Fatalf("%v: %d values, PackedLen says %d", s, len(packed), m.PackedLen())
		}
		halves := func(i int) uint16 { return uint16(math.Float32bits(packed[i/2]) >> (16 * (i % 2))) }
		v, filled := m.variant, 0
		for i := range 2 * m.biasAt() {
			if halves(i)&0x7fff != 0 {
				filled++
			}
		}
		if want := s.OutC * s.InC() * s.K * s.K; filled > want || filled < want*99/100 {
			t.Errorf("%v: %d weights that are not zero, want about %d", s, filled, want)
		}
		for o := range s.OutC {
			if got := packed[m.biasAt()+o]; got != bias[o] {
				t.Fatalf("%v: bias %d is %v, want %v", s, o, got, bias[o])
			}
			for place, c := range m.order {
				if c < 0 {
					continue
				}
				for i := range s.K * s.K {
					ky, kx := i/s.K, i%s.K
					at := 2*(o/v.outputs()*m.groupWords()) + place%16/8*64 + o%8*8 + place%8
					if v.block == 2 {
						at += (((place/16*(s.K+1)+1+ky)*4+o%32/8)*s.K + kx) * 128
					} else {
						at += ((place/16*s.K+ky)*s.K+kx)*1024 + o%64/8*128
					}
					if got, want := halves(at), planar.Half(weights[((o*s.InC()+c)*s.K+ky)*s.K+kx]); got != want {
						t.Fatalf("%v: output %d, channel %d, row %d, column %d: %#x, want %#x", s, o, c, ky, kx, got, want)
					}
				}
			}
		}
	}
}
