package octets

import (
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// TestStreamEmulated holds all but the order of copies and products to the contract, norms before and after among it.
func TestStreamEmulated(t *testing.T) {
	dev := convtest.Device(t)
	caps := capsOf(dev)
	caps.Cores = 2 // so that a work-group makes several tiles
	for i, c := range []struct {
		f     streamForm
		shape conv.Shape
	}{
		{streamForm{nt: 4, r: 2, teams: 2, slots: 2, pieces: 3, frags: 3}, conv.Shape{K: 5, SrcC: []int{24}, OutC: 32, H: 11, W: 75, OctetsOut: true}},
		{streamForm{nt: 2, r: 3, teams: 1, slots: 2, pieces: 4, frags: 2}, conv.Shape{K: 9, SrcC: []int{16, 8}, OutC: 30, H: 14, W: 37, Act: fuse.LeakyReLU, OctetsOut: true}},
		{streamForm{nt: 3, r: 1, teams: 3, slots: 3, pieces: 3, frags: 2}, conv.Shape{K: 3, SrcC: []int{40}, OutC: 48, H: 10, W: 70, OctetsOut: true}},
		{streamForm{nt: 2, r: 8, teams: 3, slots: 2, pieces: 3, frags: 3}, conv.Shape{K: 7, SrcC: []int{16}, OutC: 16, H: 27, W: 21, Act: fuse.LeakyReLU, OctetsOut: true}},
	} {
		if i >= convtest.Cases(3) {
			break
		}
		c.shape.Octets = true
		t.Run(c.shape.String()+"/"+c.f.String(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: convtest.Emulated(algo{form: &c.f}, instructionsCL(), emulatedCL), Device: dev, Caps: caps, Precision: planar.FP16,
				Accuracy: accuracy, Draw: func(*rand.Rand) conv.Shape { return c.shape }, Cases: 3, Families: 3})
		})
	}
}

// streamed are forms of all kinds that networks take.
var streamed = []streamForm{
	{nt: 4, r: 6, teams: 3, slots: 3, pieces: 4, frags: 3},
	{nt: 8, r: 3, teams: 3, slots: 2, pieces: 6, frags: 3},
	{nt: 8, r: 4, teams: 3, slots: 2, pieces: 4, frags: 3},
}

func TestStreamed(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	for _, f := range streamed {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			convtest.Run(t, convtest.Config{Algo: algo{form: &f}, Device: dev, Caps: capsOf(dev), Precision: planar.FP16, Accuracy: accuracy, Draw: streamShape, Cases: convtest.Cases(4), Families: 2})
		})
	}
}

// streamShape draws a shape of even octets.
func streamShape(rng *rand.Rand) conv.Shape {
	s := convtest.OctetShape(rng)
	s.K = 3 + 2*rng.IntN(4)
	if rng.IntN(4) > 0 {
		s.SrcC, s.Act = []int{16 * (1 + rng.IntN(8))}, fuse.NoAct
	}
	return s
}

// TestStreamFits checks that every shape has a form whose sums, patches and weights fit, and that large planes
// leave few compute units idle.
func TestStreamFits(t *testing.T) {
	for _, k := range []int{3, 5, 7, 9} {
		for _, in := range []int{16, 40, 128, 512, 4096} {
			for _, outs := range []int{16, 17, 32, 64, 96, 128, 200, 512} {
				for _, side := range []int{1, 90, 1440, 1 << 16} {
					s := conv.Shape{K: k, SrcC: []int{in}, OutC: outs, H: side, W: side + 7, Octets: true, OctetsOut: true}
					f := chooseStream(s, 132)
					if f.nt < 1 || f.nt > maxOctets || f.nt*f.r*4 > sums || f.localBytes(k, f.stages(s), true) > localMem {
						t.Errorf("%v: %v takes %d bytes of local memory", s, f, f.localBytes(k, f.stages(s), true))
					}
				}
			}
		}
	}
	for _, d := range streamShapes {
		s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2]}
		f := chooseStream(s, 132)
		groups := ceilDiv(ceilDiv(d[4], 8), f.nt)
		tiles := ceilDiv(d[1], f.r*f.teams) * ceilDiv(d[2], tileW)
		turns := ceilDiv(tiles, 132/groups)
		if made := float64(d[1]*d[2]*d[4]) / float64(turns*132*f.r*f.teams*tileW*f.nt*8); made < 0.85 {
			t.Errorf("%v: %v has %.0f %% to do of what it could", s, f, 100*made)
		}
	}
}
