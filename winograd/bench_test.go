package winograd_test

import (
	"fmt"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/winograd"
)

// BenchmarkConv times Winograd in every form for the device beside direct
// convolution, for layers of pynet-s and PyNET: 72 rows on a CPU, whole square
// planes elsewhere. GFLOP are those of the direct sum.
func BenchmarkConv(b *testing.B) {
	d := openDevice(b)
	for _, s := range []conv.Shape{
		{SrcC: []int{24}, OutC: 24, K: 3, W: 944}, {SrcC: []int{64}, OutC: 64, K: 3, W: 236}, {SrcC: []int{96}, OutC: 96, K: 3, W: 118},
		{SrcC: []int{512}, OutC: 128, K: 3, W: 124},
		{SrcC: []int{12}, OutC: 12, K: 3, W: 944}, {SrcC: []int{32}, OutC: 32, K: 3, W: 512}, {SrcC: []int{24}, OutC: 12, K: 5, W: 944},
		{SrcC: []int{32}, OutC: 32, K: 5, W: 512}, {SrcC: []int{256}, OutC: 64, K: 5, W: 256},
		{SrcC: []int{192}, OutC: 64, K: 7, W: 256}, {SrcC: []int{128}, OutC: 32, K: 9, W: 512},
	} {
		s.H, s.Act = 72, fuse.LeakyReLU
		if !d.caps().CPU {
			s.H = s.W
		}
		algos := []conv.Algo{conv.Direct(d.caps())}
		for _, v := range winograd.Variants() {
			if t, err := v.Transform(); err != nil || t.R != s.K {
				continue
			}
			algos = append(algos, winograd.Algo(v))
			if !d.caps().CPU && (v == winograd.V2x3 || v == winograd.V4x3) {
				algos = append(algos, winograd.Convolution{Variant: v, Form: winograd.Fused})
			}
		}
		for _, a := range algos {
			b.Run(fmt.Sprintf("k%d-%d-%d-w%d/%s", s.K, s.SrcC[0], s.OutC, s.W, a.Name()), func(b *testing.B) { convtest.Time(b, d.Ctx.Device(), a, s, planar.FP32) })
		}
	}
}
