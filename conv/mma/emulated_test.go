package mma

import (
	_ "embed"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
)

//go:embed emulated_test.cl
var emulatedCL string

// TestEmulated holds everything but the order of copies and loads to the contract:
// patches, packed weights, fragments, tiles, statistics, norms, the epilogue. A
// CPU's compiler takes seconds for a shape; ENHANCE_LONG=1 has more of them.
func TestEmulated(t *testing.T) {
	dev := convtest.Device(t)
	caps := capsOf(dev)
	for i, c := range []struct {
		p     Precision
		v     variant
		shape conv.Shape
	}{
		{FP16, variant{mt: 1, wo: 2, wr: 2, rows: 1, piece: 9, slots: 2, ahead: 1}, conv.Shape{K: 3, SrcC: []int{20}, OutC: 30, H: 11, W: 37}},
		{TF32, variant{mt: 2, wo: 1, wr: 1, rows: 2, piece: 2, slots: 3}, conv.Shape{K: 3, SrcC: []int{12, 5}, OutC: 40, H: 9, W: 35, Act: fuse.LeakyReLU}},
		{FP32, variant{mt: 1, wo: 1, wr: 1, rows: 2, piece: 9, slots: 2, ahead: 1}, conv.Shape{K: 3, SrcC: []int{10}, OutC: 12, H: 6, W: 40}},
		{FP16, variant{mt: 1, wo: 1, wr: 2, rows: 2, piece: 3, slots: 3}, conv.Shape{K: 5, SrcC: []int{5}, OutC: 10, H: 14, W: 33}},
		{TF32, variant{mt: 1, wo: 3, wr: 1, rows: 1, piece: 9, slots: 2, ahead: 1}, conv.Shape{K: 3, SrcC: []int{9, 4, 30}, OutC: 50, H: 6, W: 40, Act: fuse.Sigmoid}},
		{FP16, variant{mt: 1, wo: 1, wr: 1, rows: 2, piece: 1, slots: 2, ahead: 1}, conv.Shape{K: 1, SrcC: []int{40, 9}, OutC: 12, H: 7, W: 35, Act: fuse.LeakyReLU}},
	} {
		if i >= convtest.Cases(2) {
			break
		}
		t.Run(c.shape.String(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: convtest.Emulated(algo{c.p, &c.v}, instructionsCL, emulatedCL), Device: dev, Caps: caps, Precision: c.p.Storage(),
				Accuracy: accuracy[c.p], Draw: func(*rand.Rand) conv.Shape { return c.shape }, Cases: 2, Families: 2})
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
	in, want := probeData()
	got, err := runProbe(ctx, strings.Replace(probeSource(), instructionsCL, emulatedCL, 1), in, len(want)*4)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); v != w {
			t.Fatalf("sum %d is %g, want %g", i, v, w)
		}
	}
}
