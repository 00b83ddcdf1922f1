package mma

import (
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
)

// TestNoSpills reads the compiler's report: registers that the kernel may not
// spill to memory, neither plain nor with norms before and after.
func TestNoSpills(t *testing.T) {
	dev := convtest.Units(t, Probe)
	ctx := convtest.Uncached(t, dev)
	seen := map[string]bool{}
	for _, p := range []Precision{FP16, TF32, FP32} {
		for _, s := range []conv.Shape{
			{K: 3, SrcC: []int{64}, OutC: 64, H: 720, W: 992}, {K: 3, SrcC: []int{32}, OutC: 32, H: 1440, W: 1984}, {K: 3, SrcC: []int{16}, OutC: 3, H: 2880, W: 3968},
			{K: 5, SrcC: []int{64}, OutC: 64, H: 720, W: 992}, {K: 7, SrcC: []int{32}, OutC: 32, H: 1440, W: 1984}, {K: 9, SrcC: []int{32}, OutC: 32, H: 1440, W: 1984},
		} {
			made, err := Algo(p).New(*capsOf(dev), s, p.Storage())
			if err != nil {
				t.Fatal(err)
			}
			full, _ := made.(*impl).Summed()
			if scaled, ok := full.(*impl).Scaled(fuse.LeakyReLU).(*impl); ok {
				full = scaled
			}
			for _, m := range []conv.Impl{made, full} {
				if name := m.Kernels()[0].Name; !seen[name] {
					seen[name] = true
					single(m.(*impl)).NoSpills(t, ctx)
				}
			}
		}
	}
	for _, s := range []conv.Shape{{K: 3, SrcC: []int{24}, OutC: 24, H: 1500, W: 2000, Store: true}, {K: 3, SrcC: []int{48}, OutC: 48, H: 1504, W: 2000}, {K: 3, SrcC: []int{64}, OutC: 64, H: 752, W: 1000, Store: true}} {
		s.Codes = true
		made, err := Codes().New(*capsOf(dev), s, FP16.Storage())
		if err != nil {
			t.Fatal(err)
		}
		m := made.(*codesImpl)
		convtest.Single{Impl: m, Shape: s, Precision: FP16.Storage(), Launch: m.launch}.NoSpills(t, ctx)
	}
}
