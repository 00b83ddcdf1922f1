package conv_test

import (
	"fmt"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// BenchmarkAlgos times every algorithm of the registry that is made for the
// device on layers of PyNET; ENHANCE_LONG=1 takes planes of the paper's size.
func BenchmarkAlgos(b *testing.B) {
	d := convtest.Device(b)
	caps := conv.CapsOf(d.Info())
	shapes := []conv.Shape{
		{K: 9, SrcC: []int{128}, OutC: 32, H: 16, W: 512}, {K: 7, SrcC: []int{192}, OutC: 64, H: 16, W: 256},
		{K: 5, SrcC: []int{32}, OutC: 32, H: 32, W: 512}, {K: 3, SrcC: []int{64}, OutC: 64, H: 64, W: 236},
		{K: 3, SrcC: []int{16}, OutC: 3, H: 64, W: 992}, {K: 3, SrcC: []int{512}, OutC: 512, H: 16, W: 124},
	}
	for i, s := range shapes {
		if convtest.Cases(1) > 1 {
			full := [][2]int{{1440, 1984}, {720, 992}, {1440, 1984}, {720, 992}, {2880, 3968}, {90, 124}}[i]
			s.H, s.W = full[0], full[1]
		}
		s.Act = fuse.LeakyReLU
		for _, a := range conv.Registry(caps) {
			if caps.CPU && (a.Name() == "direct-tile" || a.Name() == "direct-packed") || !caps.CPU && a.Name() == "direct-rows" {
				continue
			}
			for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
				b.Run(fmt.Sprintf("k%d-%d-%d-%dx%d/%s/%s", s.K, s.InC(), s.OutC, s.H, s.W, a.Name(), p), func(b *testing.B) { convtest.Time(b, d, a, s, p) })
			}
		}
	}
}

// BenchmarkConv times single convolutions of pynet-s and PyNET in 64 rows.
func BenchmarkConv(b *testing.B) {
	d := convtest.Device(b)
	for _, s := range []conv.Shape{
		{K: 3, SrcC: []int{24}, OutC: 24, W: 944}, {K: 5, SrcC: []int{24}, OutC: 12, W: 944}, {K: 3, SrcC: []int{12}, OutC: 12, W: 944},
		{K: 5, SrcC: []int{12}, OutC: 12, W: 944},
		{K: 3, SrcC: []int{96}, OutC: 96, W: 118}, {K: 3, SrcC: []int{64}, OutC: 64, W: 236}, {K: 5, SrcC: []int{40}, OutC: 20, W: 472},
		{K: 9, SrcC: []int{128}, OutC: 32, W: 512}, {K: 7, SrcC: []int{192}, OutC: 64, W: 256}, {K: 5, SrcC: []int{32}, OutC: 32, W: 512},
	} {
		s.H, s.Act = 64, fuse.LeakyReLU
		b.Run(fmt.Sprintf("k%d-%d-%d-w%d", s.K, s.SrcC[0], s.OutC, s.W), func(b *testing.B) { convtest.Time(b, d, conv.Direct(conv.CapsOf(d.Info())), s, planar.FP32) })
	}
}
