package amx

import (
	"fmt"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// layers are some of fast and best.
var layers = []conv.Shape{
	{K: 3, SrcC: []int{24}, OutC: 24, H: 128, W: 512}, {K: 3, SrcC: []int{48}, OutC: 48, H: 128, W: 512}, {K: 3, SrcC: []int{64}, OutC: 64, H: 64, W: 256},
	{K: 3, SrcC: []int{128}, OutC: 128, H: 32, W: 128}, {K: 1, SrcC: []int{64}, OutC: 48, H: 128, W: 256},
}

// BenchmarkCodes times convolutions of codes by tiles.
func BenchmarkCodes(b *testing.B) {
	d := convtest.Units(b, Probe)
	timeCodes(b, d, Codes(), capsOf(d))
}

// BenchmarkDirectCodes times the same by VPDPBUSD.
func BenchmarkDirectCodes(b *testing.B) {
	d := convtest.Device(b)
	caps := conv.CapsOf(d.Info())
	caps.VNNI = convtest.VNNI(b, d)
	timeCodes(b, d, conv.DirectCodes{}, caps)
}

func timeCodes(b *testing.B, d *clrt.Device, algo conv.Algo, caps conv.Caps) {
	for _, s := range layers {
		s.Act, s.Codes, s.Store = fuse.LeakyReLU, true, true
		b.Run(fmt.Sprintf("k%d-%d-%d", s.K, s.InC(), s.OutC), func(b *testing.B) { convtest.TimeAs(b, d, caps, algo, s, planar.FP32) })
	}
}

// BenchmarkPairs times the same layers in bfloat16, and those that read split samples.
func BenchmarkPairs(b *testing.B) {
	d := convtest.Units(b, Probe)
	split := []conv.Shape{{K: 3, SrcC: []int{8}, OutC: 24, H: 128, W: 512, Split: true}, {K: 5, SrcC: []int{8}, OutC: 12, H: 128, W: 512, Split: true}}
	for _, s := range append(split, layers...) {
		s.Act, s.Pairs, s.PairsOut = fuse.LeakyReLU, true, s.OutC != 12
		b.Run(fmt.Sprintf("k%d-%d-%d", s.K, s.InC(), s.OutC), func(b *testing.B) { convtest.TimeAs(b, d, capsOf(d), Pairs(), s, planar.FP32) })
	}
}
