package octets

import (
	_ "embed"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// accuracy is what the algorithm promises: binary16 rounds weights, and truncated
// sums count as twice the rounding error.
var accuracy = convtest.Accuracy{Growth: 2, Factor: 0x1p-11}

func capsOf(d *clrt.Device) *conv.Caps {
	c := conv.CapsOf(d.Info())
	c.Matrix, c.Warpgroup = true, true
	return &c
}

//go:embed emulated_test.cl
var emulatedCL string

// TestEmulated holds everything but the order of copies and products to the contract: patches, packed weights,
// factors, tiles, the epilogue. A CPU's compiler takes seconds for a shape; ENHANCE_LONG=1 has more of them.
func TestEmulated(t *testing.T) {
	dev := convtest.Device(t)
	caps := capsOf(dev)
	for i, c := range []struct {
		v     variant
		shape conv.Shape
	}{
		{variant{nt: 3, r: 2, teams: 1, os: 3, slots: 2}, conv.Shape{K: 3, SrcC: []int{24}, OutC: 24, H: 11, W: 37, OctetsOut: true}},
		{variant{nt: 4, r: 2, teams: 1, os: 2, slots: 2}, conv.Shape{K: 3, SrcC: []int{32}, OutC: 32, H: 9, W: 140, Act: fuse.LeakyReLU, OctetsOut: true}},
		{variant{nt: 3, r: 4, teams: 1, os: 1, slots: 3}, conv.Shape{K: 3, SrcC: []int{16, 5}, OutC: 30, H: 6, W: 70, OctetsOut: true}},
		{variant{nt: 4, r: 2, teams: 1, os: 2, slots: 3}, conv.Shape{K: 1, SrcC: []int{40, 9}, OutC: 64, H: 7, W: 35, Act: fuse.Sigmoid, OctetsOut: true}},
		{variant{nt: 1, r: 2, teams: 1, os: 1, slots: 2}, conv.Shape{K: 5, SrcC: []int{20}, OutC: 3, H: 7, W: 139, Act: fuse.LeakyReLU}},
	} {
		if i >= convtest.Cases(2) {
			break
		}
		c.shape.Octets = true
		t.Run(c.shape.String()+"/"+c.v.String(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: convtest.Emulated(algo{variant: &c.v}, instructionsCL(), emulatedCL), Device: dev, Caps: caps, Precision: planar.FP16,
				Accuracy: accuracy, Draw: func(*rand.Rand) conv.Shape { return c.shape }, Cases: 2, Families: 2})
		})
	}
}

func TestContract(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	convtest.Run(t, convtest.Config{Algo: Algo(), Device: dev, Caps: capsOf(dev), Precision: planar.FP16, Accuracy: accuracy, Draw: convtest.OctetShape})
}

// trialVariants are one of each way to divide a tile.
var trialVariants = []variant{
	{nt: 8, r: 4, teams: 3, os: 2, slots: 2},
	{nt: 3, r: 4, teams: 4, os: 3, slots: 2},
	{nt: 2, r: 2, teams: 1, os: 1, slots: 3},
}

func TestVariants(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	for _, v := range trialVariants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			convtest.Run(t, convtest.Config{Algo: algo{variant: &v}, Device: dev, Caps: capsOf(dev), Precision: planar.FP16, Accuracy: accuracy, Draw: convtest.OctetShape, Cases: convtest.Cases(3)})
		})
	}
}

// TestNoSpills reads the compiler's report on kernels of three teams. Those of four have fewer registers: that
// of 24 channels spills a word (docs/octets.md).
func TestNoSpills(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	ctx := convtest.Uncached(t, dev)
	for _, c := range []int{48, 64, 96, 128} {
		s := conv.Shape{K: 3, SrcC: []int{c}, OutC: c, H: 64, W: 64, Act: fuse.LeakyReLU, Octets: true, OctetsOut: true}
		made, err := Algo().New(*capsOf(dev), s, planar.FP16)
		if err != nil {
			t.Fatal(err)
		}
		plain(made).single().NoSpills(t, ctx)
	}
}
