package mma

import (
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// accuracy is what the precisions promise: binary16 rounds weights, tf32 weights
// and activations, and three products leave 2^-22 of each factor and of the
// product. Truncated sums count as twice the rounding error.
var accuracy = map[Precision]convtest.Accuracy{
	FP16: {Growth: 2, Factor: 0x1p-11},
	TF32: {Growth: 2, Factor: 0x1.8p-11},
	FP32: {Growth: 2, Factor: 0x1.8p-22},
}

func TestContract(t *testing.T) {
	dev := convtest.Units(t, Probe)
	for _, p := range []Precision{FP16, TF32, FP32} {
		for _, draw := range []struct {
			name string
			draw func(*rand.Rand) conv.Shape
		}{{"any", convtest.AnyShape}, {"wide", convtest.WideShape}} {
			t.Run(p.String()+"/"+draw.name, func(t *testing.T) {
				convtest.Run(t, convtest.Config{Algo: Algo(p), Device: dev, Caps: capsOf(dev), Precision: p.Storage(), Accuracy: accuracy[p], Draw: draw.draw})
			})
		}
	}
}

// capsOf are the device's, with the matrix units that Probe found.
func capsOf(dev *clrt.Device) *conv.Caps {
	c := conv.CapsOf(dev.Info())
	c.Matrix = true
	return &c
}

// TestVariants runs variants that no shape chooses, or only large ones do.
func TestVariants(t *testing.T) {
	dev := convtest.Units(t, Probe)
	for _, v := range trialVariants {
		draw := convtest.WideShape
		if v.ahead == 1 {
			draw = func(rng *rand.Rand) conv.Shape {
				s := convtest.WideShape(rng)
				s.K = 3
				return s
			}
		}
		for _, p := range []Precision{FP16, TF32, FP32} {
			if v.ahead == 1 && v.localBytes(p, 3) > most(v, dev.Info().LocalMem) {
				continue
			}
			t.Run(p.String()+"/"+(&impl{variant: v}).name(), func(t *testing.T) {
				convtest.Run(t, convtest.Config{Algo: algo{p, &v}, Device: dev, Caps: capsOf(dev), Precision: p.Storage(), Accuracy: accuracy[p], Draw: draw, Cases: convtest.Cases(3)})
			})
		}
	}
}

// trialVariants are one of each way to divide a tile.
var trialVariants = []variant{
	{mt: 1, wo: 1, wr: 4, rows: 1, piece: 2, slots: 2}, {mt: 3, wo: 1, wr: 4, rows: 2, piece: 1, slots: 3}, {mt: 2, wo: 2, wr: 2, rows: 4, piece: 3, slots: 3},
	{mt: 1, wo: 3, wr: 2, rows: 2, piece: 9, slots: 2, ahead: 1}, {mt: 4, wo: 1, wr: 2, rows: 2, piece: 2, slots: 3}, {mt: 1, wo: 2, wr: 1, rows: 2, piece: 9, slots: 2, ahead: 1},
}

// TestProbeHere checks that asking does no harm, whatever the device.
func TestProbeHere(t *testing.T) { convtest.ProbeHere(t, Probe) }

// TestRefuses says what New does not take.
func TestRefuses(t *testing.T) {
	caps := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024, Units: conv.Units{Matrix: true}}
	good := conv.Shape{K: 3, SrcC: []int{16}, OutC: 16, H: 8, W: 8}
	for _, c := range []struct {
		name   string
		change func(*conv.Caps, *conv.Shape)
		p      planar.Precision
	}{
		{"no matrix units", func(c *conv.Caps, _ *conv.Shape) { c.Matrix = false }, planar.FP16},
		{"fp32 storage", func(*conv.Caps, *conv.Shape) {}, planar.FP32},
		{"even kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 4 }, planar.FP16},
		{"large kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 11 }, planar.FP16},
		{"narrow plane", func(_ *conv.Caps, s *conv.Shape) { s.W = 4 }, planar.FP16},
		{"no channels", func(_ *conv.Caps, s *conv.Shape) { s.SrcC = nil }, planar.FP16},
		{"small groups", func(c *conv.Caps, _ *conv.Shape) { c.MaxWorkGroup = 64 }, planar.FP16},
		{"little local memory", func(c *conv.Caps, _ *conv.Shape) { c.LocalMem = 4 << 10 }, planar.FP16},
	} {
		caps, s := caps, good
		c.change(&caps, &s)
		if _, err := Algo(FP16).New(caps, s, c.p); err == nil {
			t.Errorf("%s: not refused", c.name)
		}
	}
	if _, err := Algo(FP16).New(caps, good, planar.FP16); err != nil {
		t.Error(err)
	}
}
