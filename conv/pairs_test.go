package conv_test

import (
	"fmt"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// pairsCaps are those of a CPU with VDPBF16PS; on others the test is skipped.
func pairsCaps(t testing.TB) conv.Caps {
	d := convtest.Device(t)
	if !convtest.Pairs(t, d) {
		t.Skip("SKIPPED, nothing was tested: no VDPBF16PS")
	}
	c := conv.CapsOf(d.Info())
	c.Pairs = true
	return c
}

// TestPairs holds convolutions of pairs and of split samples to the contract.
func TestPairs(t *testing.T) {
	caps := pairsCaps(t)
	c := convtest.Config{Algo: conv.DirectPairs{}, Device: convtest.Device(t), Caps: &caps, Accuracy: convtest.PairAccuracy, Draw: convtest.PairShape}
	t.Run("pairs", func(t *testing.T) { convtest.Run(t, c) })
	c.Accuracy, c.Draw = convtest.SplitAccuracy, convtest.SplitShape
	t.Run("split", func(t *testing.T) { convtest.Run(t, c) })
	c.Draw, c.Cases, c.Families = convtest.PairShape, 2, 1
	c.Accuracy = convtest.PairAccuracy
	for _, act := range []fuse.Act{fuse.PReLU, fuse.GELU} {
		c.Act = act
		t.Run(fmt.Sprintf("act %d", act), func(t *testing.T) { convtest.Run(t, c) })
	}
}

// BenchmarkPairs times convolutions of pairs beside those of planes, on layers of fast and best.
func BenchmarkPairs(b *testing.B) {
	caps, d := pairsCaps(b), convtest.Device(b)
	for _, s := range []conv.Shape{
		{K: 3, SrcC: []int{24}, OutC: 24, H: 128, W: 512}, {K: 3, SrcC: []int{48}, OutC: 48, H: 96, W: 256}, {K: 3, SrcC: []int{64}, OutC: 64, H: 64, W: 256},
		{K: 3, SrcC: []int{128}, OutC: 128, H: 32, W: 128}, {K: 1, SrcC: []int{64}, OutC: 48, H: 128, W: 256},
	} {
		s.Act = fuse.LeakyReLU
		pairs, split := s, s
		pairs.Pairs, pairs.PairsOut = true, true
		split.Pairs, split.Split, split.PairsOut = true, true, true
		name := fmt.Sprintf("k%d-%d-%d/", s.K, s.InC(), s.OutC)
		b.Run(name+"pairs", func(b *testing.B) { convtest.TimeAs(b, d, caps, conv.DirectPairs{}, pairs, planar.FP32) })
		b.Run(name+"split", func(b *testing.B) { convtest.TimeAs(b, d, caps, conv.DirectPairs{}, split, planar.FP32) })
		b.Run(name+"direct-rows", func(b *testing.B) { convtest.Time(b, d, conv.Rows{}, s, planar.FP32) })
	}
}
