package conv_test

import (
	"fmt"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// BenchmarkCodes times convolutions of codes beside those of samples, on layers of fast and best.
func BenchmarkCodes(b *testing.B) {
	d := convtest.Device(b)
	for _, s := range []conv.Shape{
		{K: 3, SrcC: []int{24}, OutC: 24, H: 128, W: 512}, {K: 3, SrcC: []int{48}, OutC: 48, H: 96, W: 256}, {K: 3, SrcC: []int{64}, OutC: 64, H: 64, W: 256},
		{K: 3, SrcC: []int{128}, OutC: 128, H: 32, W: 128}, {K: 1, SrcC: []int{64}, OutC: 48, H: 128, W: 256},
	} {
		s.Act = fuse.LeakyReLU
		codes := s
		codes.Codes, codes.Store = true, true
		for _, vnni := range []bool{false, true} {
			caps := conv.CapsOf(d.Info())
			caps.VNNI = vnni
			b.Run(fmt.Sprintf("k%d-%d-%d/codes-vnni=%t", s.K, s.InC(), s.OutC, vnni), func(b *testing.B) { convtest.TimeAs(b, d, caps, conv.DirectCodes{}, codes, planar.FP32) })
		}
		b.Run(fmt.Sprintf("k%d-%d-%d/direct-rows", s.K, s.InC(), s.OutC), func(b *testing.B) { convtest.Time(b, d, conv.Rows{}, s, planar.FP32) })
	}
}
