package amx

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

//go:embed emulated_test.cl
var emulatedCL string

// capsOf are those of a device as if it had tiles.
func capsOf(d *clrt.Device) conv.Caps {
	c := conv.CapsOf(d.Info())
	c.Tiles = true
	return c
}

// TestEmulated holds everything but the instructions to the definition, on any processor: one tile of outputs
// and two, groups, stages that share lines, outputs that end within a word.
func TestEmulated(t *testing.T) {
	dev := convtest.Device(t)
	if dev.Info().Type != clrt.CPU {
		t.Skip("SKIPPED, nothing was tested: kernels for CPUs")
	}
	shapes := []conv.Shape{
		{K: 3, SrcC: []int{24}, OutC: 24, H: 7, W: 37, Store: true, Act: fuse.LeakyReLU},
		{K: 3, SrcC: []int{70}, OutC: 42, H: 5, W: 70},
		{K: 5, SrcC: []int{5}, OutC: 11, H: 6, W: 65, Store: true},
		{K: 1, SrcC: []int{133}, OutC: 65, H: 3, W: 9, Act: fuse.LeakyReLU, Store: true},
	}
	for i, s := range shapes {
		s.Codes = true
		convtest.RunCodes(t, convtest.CodesConfig{Algo: convtest.Emulated(Codes(), instructionsCL, emulatedCL), Device: dev, Caps: new(capsOf(dev)),
			Precision: planar.Precision(i % 2), Pad: model.PadMode(i % 3), ResFirst: i == 3, Draw: func(*rand.Rand) conv.Shape { return s }, Cases: 2})
	}
}

// TestEmulatedPairs is TestEmulated for pairs and split samples.
func TestEmulatedPairs(t *testing.T) {
	dev := convtest.Device(t)
	if dev.Info().Type != clrt.CPU {
		t.Skip("SKIPPED, nothing was tested: kernels for CPUs")
	}
	for _, s := range []conv.Shape{
		{K: 3, SrcC: []int{24}, OutC: 24, H: 7, W: 37, PairsOut: true, Act: fuse.LeakyReLU},
		{K: 3, SrcC: []int{67}, OutC: 39, H: 5, W: 70, PairsOut: true},
		{K: 5, SrcC: []int{8}, OutC: 12, H: 6, W: 65, Split: true},
		{K: 1, SrcC: []int{20}, OutC: 35, H: 3, W: 9, Split: true, PairsOut: true},
	} {
		s.Pairs = true
		accuracy := convtest.PairAccuracy
		if s.Split {
			accuracy = convtest.SplitAccuracy
		}
		convtest.Run(t, convtest.Config{Algo: convtest.Emulated(Pairs(), instructionsCL, emulatedCL), Device: dev, Caps: new(capsOf(dev)), Accuracy: accuracy,
			Draw: func(*rand.Rand) conv.Shape { return s }, Cases: 2, Families: 2})
	}
}

// TestPairs holds the kernels to the contract where there are tiles.
func TestPairs(t *testing.T) {
	dev := convtest.Units(t, Probe)
	c := convtest.Config{Algo: Pairs(), Device: dev, Caps: new(capsOf(dev)), Accuracy: convtest.PairAccuracy, Draw: convtest.PairShape}
	t.Run("pairs", func(t *testing.T) { convtest.Run(t, c) })
	c.Accuracy, c.Draw = convtest.SplitAccuracy, convtest.SplitShape
	t.Run("split", func(t *testing.T) { convtest.Run(t, c) })
}

// TestEmulatedProbe finds by the emulated kernel what Probe expects of the other.
func TestEmulatedProbe(t *testing.T) {
	ctx, err := clrt.NewContext(convtest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	a, b, want := probeData()
	got, err := runProbe(ctx, strings.Replace(instructionsCL+probeCL, instructionsCL, emulatedCL, 1), a, b)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if got[i] != w {
			t.Fatalf("sum %d is %#x, want %#x", i, got[i], w)
		}
	}
}

// TestProbe checks that asking does no harm, whatever the device.
func TestProbe(t *testing.T) {
	ctx, err := clrt.NewContext(convtest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	t.Logf("tiles on %s: %v", ctx.Device().Info().Name, convtest.Has(t, Probe, ctx))
	if ctx.Live() != 0 {
		t.Errorf("probing left %d bytes on the device", ctx.Live())
	}
}

// TestCodes holds the kernels to the definition where there are tiles.
func TestCodes(t *testing.T) {
	dev := convtest.Units(t, Probe)
	for pad := range model.PadMode(3) {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("pad_%d_%s", pad, p), func(t *testing.T) {
				convtest.RunCodes(t, convtest.CodesConfig{Algo: Codes(), Device: dev, Caps: new(capsOf(dev)), Precision: p, Pad: pad, ResFirst: pad == 1, Draw: convtest.AnyCodes, Cases: convtest.Cases(5)})
			})
		}
	}
}
