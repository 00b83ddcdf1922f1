package conv_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// TestAlgosOclgrind runs the kernels of both kinds of device once on small shapes,
// for scripts/oclgrind.sh to watch.
func TestAlgosOclgrind(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("SKIPPED: only of use in oclgrind, by scripts/oclgrind.sh")
	}
	d := convtest.Device(t)
	small := func(rng *rand.Rand) conv.Shape {
		return conv.Shape{K: 1 + 2*rng.IntN(2), SrcC: []int{1 + rng.IntN(5), 2}, OutC: 1 + rng.IntN(20), H: 1 + rng.IntN(4), W: 1 + rng.IntN(70)}
	}
	cpu := conv.Caps{CPU: true, Vector: 8, LocalMem: 32 << 10, MaxWorkGroup: 64}
	gpu := conv.Caps{Vector: 1, LocalMem: 32 << 10, MaxWorkGroup: 256}
	for _, c := range []struct {
		algo conv.Algo
		caps conv.Caps
	}{{conv.Simple{}, gpu}, {conv.Packed{}, gpu}, {conv.ImplicitGEMM{}, gpu}, {conv.ImplicitGEMM{}, cpu}} {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("%s/cpu=%t/%s", c.algo.Name(), c.caps.CPU, p), func(t *testing.T) {
				convtest.Run(t, convtest.Config{Algo: c.algo, Device: d, Caps: &c.caps, Precision: p, Draw: small, Cases: 2})
			})
		}
	}
	for i := range conv.ImplicitTiles {
		t.Run(fmt.Sprintf("implicit tile %d", i), func(t *testing.T) {
			defer conv.OnlyImplicitTile(i)()
			convtest.Run(t, convtest.Config{Algo: conv.ImplicitGEMM{}, Device: d, Caps: &gpu, Draw: small, Cases: 2})
		})
	}
}
