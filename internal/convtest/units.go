package convtest

import (
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
)

// Units is the first device, which must have the matrix units that probe looks for: else the
// test is skipped.
func Units(t testing.TB, probe func(*clrt.Context) (bool, error)) *clrt.Device {
	t.Helper()
	d := Device(t)
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	if !Has(t, probe, ctx) {
		t.Skipf("SKIPPED, nothing was tested: Probe finds no such matrix units on %s", d.Info().Name)
	}
	return d
}

// ProbeHere checks that asking for matrix units does no harm, whatever the device.
func ProbeHere(t *testing.T, probe func(*clrt.Context) (bool, error)) {
	t.Helper()
	ctx, err := clrt.NewContext(Device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	found := Has(t, probe, ctx)
	t.Logf("matrix units on %s: %v", ctx.Device().Info().Name, found)
	if ctx.Live() != 0 {
		t.Errorf("probing left %d bytes on the device", ctx.Live())
	}
	if found && ctx.Device().Info().Type == clrt.CPU {
		t.Error("found on a CPU")
	}
}

// WideShape draws shapes as networks have them: many channels and outputs, in
// several sources, planes larger than a tile.
func WideShape(rng *rand.Rand) conv.Shape {
	s := conv.Shape{K: 1 + 2*rng.IntN(5), Act: fuse.Act(rng.IntN(3)), H: 1 + rng.IntN(40), W: 5 + rng.IntN(70)}
	for range 1 + rng.IntN(3) {
		s.SrcC = append(s.SrcC, 4*(1+rng.IntN(12)))
	}
	s.OutC = 1 + rng.IntN(70)
	return s
}

// Has is what a probe for matrix units finds; the test fails where it fails.
func Has(t testing.TB, probe func(*clrt.Context) (bool, error), ctx *clrt.Context) bool {
	t.Helper()
	found, err := probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
