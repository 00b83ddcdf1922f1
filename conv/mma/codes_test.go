package mma

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// codesTrials are variants and shapes that between them have every form of the kernel: whole and lone m-tiles,
// several groups of outputs, one stage and more, stages with and without a step of four words, tiles below each
// other.
var codesTrials = []struct {
	v     codesVariant
	shape conv.Shape
}{
	{codesVariant{mt: 3, wo: 1, wr: 2, rows: 1, words: 12, tiles: 3, reuse: 1}, conv.Shape{K: 3, SrcC: []int{45}, OutC: 42, H: 11, W: 37, Store: true}},
	{codesVariant{mt: 2, wo: 2, wr: 1, rows: 2, words: 8, tiles: 2}, conv.Shape{K: 3, SrcC: []int{40}, OutC: 70, H: 7, W: 41, Act: fuse.LeakyReLU}},
	{codesVariant{mt: 1, wo: 1, wr: 2, rows: 2, words: 4, tiles: 1, reuse: 1}, conv.Shape{K: 5, SrcC: []int{20}, OutC: 13, H: 9, W: 70, Store: true}},
	{codesVariant{mt: 1, wo: 3, wr: 1, rows: 1, words: 16, tiles: 4}, conv.Shape{K: 1, SrcC: []int{64}, OutC: 48, H: 6, W: 33, Act: fuse.LeakyReLU, Store: true}},
}

// TestEmulatedCodes holds everything but the order of copies and loads to the definition.
func TestEmulatedCodes(t *testing.T) {
	dev := convtest.Device(t)
	for i, c := range codesTrials {
		if testing.Short() && i >= 2 {
			break
		}
		c.shape.Codes = true
		convtest.RunCodes(t, convtest.CodesConfig{Algo: convtest.Emulated(codesAlgo{&c.v}, instructionsCL, emulatedCL), Device: dev, Caps: capsOf(dev),
			Precision: planar.Precision(i % 2), Pad: model.PadMode(i % 3), ResFirst: i == 3, Draw: func(*rand.Rand) conv.Shape { return c.shape }, Cases: 2})
	}
}

// TestCodes holds the kernels that shapes choose, and others, to the definition.
func TestCodes(t *testing.T) {
	dev := convtest.Units(t, Probe)
	for pad := range model.PadMode(3) {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("pad_%d_%s", pad, p), func(t *testing.T) {
				convtest.RunCodes(t, convtest.CodesConfig{Algo: Codes(), Device: dev, Caps: capsOf(dev), Precision: p, Pad: pad, Draw: convtest.AnyCodes, Cases: convtest.Cases(5)})
			})
		}
	}
	for i, c := range codesTrials {
		t.Run(c.v.String(), func(t *testing.T) {
			c.shape.Codes = true
			convtest.RunCodes(t, convtest.CodesConfig{Algo: codesAlgo{&c.v}, Device: dev, Caps: capsOf(dev), Precision: planar.Precision(i % 2), Pad: model.PadMode(i % 3), ResFirst: i == 1,
				Draw: func(*rand.Rand) conv.Shape { return c.shape }, Cases: 4})
		})
	}
}

// TestChooseCodes checks that every shape has a variant that local memory holds, that covers all outputs and
// channels, and whose weights have places of their own in what is packed.
func TestChooseCodes(t *testing.T) {
	caps := conv.Caps{MaxWorkGroup: 1024, Units: conv.Units{Matrix: true}, Cores: 132}
	for k := 1; k <= 9; k += 2 {
		for _, outs := range []int{1, 3, 12, 24, 40, 48, 64, 70, 96, 128, 200, 600} {
			for _, channels := range []int{1, 4, 8, 20, 24, 48, 64, 65, 96, 128, 300} {
				s := conv.Shape{K: k, SrcC: []int{channels}, OutC: outs, H: 1504, W: 2000, Codes: true, Store: true}
				made, err := Codes().New(caps, s, planar.FP16)
				if err != nil {
					t.Fatal(err)
				}
				m := made.(*codesImpl)
				if m.outputs() < outs || m.stages()*m.variant.words*fuse.CodesInWord < channels {
					t.Fatalf("%v: %v does not cover the shape", s, m.variant)
				}
				if outs*channels > 100*100 {
					continue
				}
				seen := make([]bool, m.firstAt())
				for o := range outs {
					for word := range planar.Words(channels) {
						for tap := range k * k {
							at := m.wordOf(o, word, tap)
							if seen[at] {
								t.Fatalf("%v: %v: two weights are packed into word %d", s, m.variant, at)
							}
							seen[at] = true
						}
					}
				}
			}
		}
	}
}

// TestCodesRefuse says what the algorithm does not take.
func TestCodesRefuse(t *testing.T) {
	caps := conv.Caps{MaxWorkGroup: 1024, Units: conv.Units{Matrix: true}}
	good := conv.Shape{K: 3, SrcC: []int{16}, OutC: 16, H: 8, W: 8, Codes: true}
	for _, c := range []struct {
		name   string
		change func(*conv.Caps, *conv.Shape)
	}{
		{"no matrix units", func(c *conv.Caps, _ *conv.Shape) { c.Matrix = false }},
		{"samples", func(_ *conv.Caps, s *conv.Shape) { s.Codes = false }},
		{"two sources", func(_ *conv.Caps, s *conv.Shape) { s.SrcC = []int{8, 8} }},
		{"even kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 4 }},
		{"large kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 11 }},
		{"narrow plane", func(_ *conv.Caps, s *conv.Shape) { s.W = 4 }},
		{"small groups", func(c *conv.Caps, _ *conv.Shape) { c.MaxWorkGroup = 64 }},
	} {
		caps, s := caps, good
		c.change(&caps, &s)
		if _, err := Codes().New(caps, s, planar.FP16); err == nil {
			t.Errorf("%s: not refused", c.name)
		}
	}
	if _, err := Codes().New(caps, good, planar.FP16); err != nil {
		t.Error(err)
	}
}
