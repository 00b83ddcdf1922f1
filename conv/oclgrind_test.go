package conv_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"enhance/conv"
	"enhance/conv/convtest"
	"enhance/fuse"
	"enhance/planar"
)

// TestOclgrind runs every algorithm in every form on tiny shapes, for a device
// that checks each access (ENHANCE_OCLGRIND=1, see the Makefile).
func TestOclgrind(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("only for a checking device: ENHANCE_OCLGRIND=1")
	}
	dev := convtest.Device(t)
	own := conv.CapsOf(dev.Info())
	forGPU := gpu
	forGPU.MaxWorkGroup, forGPU.LocalMem = min(gpu.MaxWorkGroup, own.MaxWorkGroup), min(gpu.LocalMem, own.LocalMem)
	forCPU := own
	forCPU.CPU, forCPU.Vector = true, 8
	for _, a := range conv.Registry(own) {
		for form, caps := range map[string]conv.Caps{"cpu": forCPU, "gpu": forGPU} {
			for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
				t.Run(fmt.Sprintf("%s/%s/%s", a.Name(), form, p), func(t *testing.T) {
					convtest.Run(t, convtest.Config{Algo: a, Device: dev, Caps: &caps, Precision: p, Draw: tiny, Cases: 3, Families: 3})
				})
			}
		}
	}
}

// tiny draws shapes that an interpreter gets through.
func tiny(rng *rand.Rand) conv.Shape {
	s := conv.Shape{K: 1 + 2*rng.IntN(3), OutC: 1 + rng.IntN(9), H: 1 + rng.IntN(5), W: 1 + rng.IntN(18), Act: fuse.Act(rng.IntN(3))}
	for range 1 + rng.IntN(2) {
		s.SrcC = append(s.SrcC, 1+rng.IntN(5))
	}
	return s
}
