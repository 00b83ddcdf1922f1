package wgmma

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// accuracy is what the algorithm promises: binary16 rounds weights, and truncated
// sums count as twice the rounding error.
var accuracy = convtest.Accuracy{Growth: 2, Factor: 0x1p-11}

func capsOf(d *clrt.Device) conv.Caps {
	c := conv.CapsOf(d.Info())
	c.Warpgroup = true
	return c
}

func TestContract(t *testing.T) {
	dev := convtest.Units(t, Probe)
	caps := capsOf(dev)
	for _, draw := range []struct {
		name string
		draw func(*rand.Rand) conv.Shape
	}{{"norm", normShape}, {"any", convtest.AnyShape}, {"wide", convtest.WideShape}} {
		t.Run(draw.name, func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: Algo(), Device: dev, Caps: &caps, Precision: planar.FP16, Accuracy: accuracy, Draw: draw.draw})
		})
	}
}

// TestVariants runs variants that no shape chooses.
func TestVariants(t *testing.T) {
	dev := convtest.Units(t, Probe)
	caps := capsOf(dev)
	for _, v := range []variant{{block: 1, buffers: 1, piece: 2, slots: 2}, {block: 2, buffers: 2, piece: 1, slots: 4}, {block: 2, buffers: 1, piece: 1, slots: 3}, {block: 1, buffers: 1, piece: 1, slots: 2}} {
		t.Run(v.String(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: algo{&v}, Device: dev, Caps: &caps, Precision: planar.FP16, Accuracy: accuracy,
				Draw: convtest.WideShape, Cases: convtest.Cases(3)})
		})
	}
}

// normShape draws what stands between norms: one source and no activation.
func normShape(rng *rand.Rand) conv.Shape {
	s := convtest.WideShape(rng)
	s.SrcC, s.Act = s.SrcC[:1], fuse.NoAct
	return s
}

// TestNoSpills reads the compiler's report on every form of the kernels.
func TestNoSpills(t *testing.T) {
	dev := convtest.Units(t, Probe)
	ctx := convtest.Uncached(t, dev)
	for _, k := range []int{3, 5, 7, 9} {
		for _, outs := range []int{32, 64} {
			t.Run(fmt.Sprintf("k%d_to_%d", k, outs), func(t *testing.T) {
				s := conv.Shape{K: k, SrcC: []int{64}, OutC: outs, H: 64, W: 64, Act: fuse.LeakyReLU}
				made, err := Algo().New(capsOf(dev), s, planar.FP16)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range forms(made.(*impl)) {
					single(m).NoSpills(t, ctx)
				}
			})
		}
	}
}

// TestProbeHere checks that asking does no harm, whatever the device.
func TestProbeHere(t *testing.T) { convtest.ProbeHere(t, Probe) }

//go:embed emulated_test.cl
var emulatedCL string

// TestEmulated holds everything but the order of copies and products to the
// contract: the patch, the packed weights, the factors' places, the epilogue. A
// CPU's compiler takes ten seconds for a shape; ENHANCE_LONG=1 has more of them.
func TestEmulated(t *testing.T) {
	dev := convtest.Device(t)
	caps := capsOf(dev)
	shapes := []conv.Shape{
		{K: 5, SrcC: []int{21}, OutC: 20, H: 37, W: 21},
		{K: 3, SrcC: []int{40}, OutC: 66, H: 21, W: 35},
		{K: 5, SrcC: []int{12, 5}, OutC: 70, H: 18, W: 35, Act: fuse.LeakyReLU},
		{K: 9, SrcC: []int{20}, OutC: 5, H: 35, W: 9, Act: fuse.Sigmoid},
		{K: 1, SrcC: []int{40, 9}, OutC: 65, H: 20, W: 20},
		{K: 7, SrcC: []int{30}, OutC: 24, H: 9, W: 50},
	}
	for _, s := range shapes[:min(len(shapes), convtest.Cases(1))] {
		t.Run(s.String(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: convtest.Emulated(Algo(), instructionsCL, emulatedCL), Device: dev, Caps: &caps, Precision: planar.FP16, Accuracy: accuracy,
				Draw: func(*rand.Rand) conv.Shape { return s }, Cases: 2, Families: 2})
		})
	}
}

// TestEmulatedProbe finds by the emulated kernel what Probe expects of the other.
func TestEmulatedProbe(t *testing.T) {
	ctx, err := clrt.NewContext(convtest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	got, want, err := probe(ctx, convtest.Emulated(algo{&probedVariant}, instructionsCL, emulatedCL))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Error("the results differ")
	}
	if slices.Max(want) == slices.Min(want) {
		t.Error("all outputs are the same")
	}
}

// TestRefuses says what New does not take.
func TestRefuses(t *testing.T) {
	caps := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024, Units: conv.Units{Warpgroup: true}}
	good := conv.Shape{K: 5, SrcC: []int{16}, OutC: 16, H: 8, W: 8}
	for _, c := range []struct {
		name   string
		change func(*conv.Caps, *conv.Shape)
		p      planar.Precision
	}{
		{"fp32 storage", func(*conv.Caps, *conv.Shape) {}, planar.FP32},
		{"another device", func(c *conv.Caps, _ *conv.Shape) { c.Warpgroup = false }, planar.FP16},
		{"even kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 4 }, planar.FP16},
		{"large kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 11 }, planar.FP16},
		{"narrow plane", func(_ *conv.Caps, s *conv.Shape) { s.W = 4 }, planar.FP16},
		{"no channels", func(_ *conv.Caps, s *conv.Shape) { s.SrcC = nil }, planar.FP16},
		{"small groups", func(c *conv.Caps, _ *conv.Shape) { c.MaxWorkGroup = 128 }, planar.FP16},
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

// TestFits checks that every shape's variant fits.
func TestFits(t *testing.T) {
	for k := 1; k <= 9; k += 2 {
		for _, outs := range []int{3, 16, 32, 33, 64, 128} {
			s := conv.Shape{K: k, SrcC: []int{128}, OutC: outs, H: 100, W: 100}
			if v := choose(s); v.localBytes(k) > localMem {
				t.Errorf("%v: %v takes %d bytes of local memory", s, v, v.localBytes(k))
			}
		}
	}
}
