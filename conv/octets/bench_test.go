package octets

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"enhance/conv"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// benchShapes are of small networks on a 12 MP photo, at its own size and at a half, a quarter of it and so on.
var benchShapes = [][5]int{{64, 2880, 3968, 3, 64}, {24, 1440, 1984, 3, 24}, {48, 1440, 1984, 3, 48}, {96, 1440, 1984, 3, 96}, {64, 720, 992, 3, 64}, {128, 720, 992, 3, 128},
	{48, 720, 992, 3, 48}, {96, 360, 496, 3, 96}, {160, 360, 496, 3, 160}, {8, 1440, 1984, 3, 24}, {8, 1440, 1984, 5, 48}, {48, 1440, 1984, 1, 24}, {24, 1440, 1984, 3, 12}, {64, 2880, 3968, 1, 64}, {3, 2880, 3968, 3, 64}}

// BenchmarkShapes times convolutions by events of the device, with a residual where there is no activation, as in the
// second of a block. ENHANCE_OCTETS_VARIANTS names variants to try beside the one chosen:
// "nt,r,teams,os,slots" separated by blanks.
func BenchmarkShapes(b *testing.B) {
	dev := convtest.Units(b, wgmma.Probe)
	algos := []algo{{}}
	for _, text := range strings.Fields(os.Getenv("ENHANCE_OCTETS_VARIANTS")) {
		var v variant
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %d %d %d %d", &v.nt, &v.r, &v.teams, &v.os, &v.slots); err != nil {
			b.Fatalf("ENHANCE_OCTETS_VARIANTS: %q: %v", text, err)
		}
		algos = append(algos, algo{variant: &v})
	}
	for _, d := range benchShapes {
		for _, act := range []fuse.Act{fuse.LeakyReLU, fuse.NoAct} {
			s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: act, Octets: true, OctetsOut: d[4] > 4}
			for _, a := range algos {
				made, err := a.New(*capsOf(dev), s, planar.FP16)
				if err != nil {
					b.Logf("%s: %v", s, err)
					continue
				}
				m := plain(made)
				b.Run(fmt.Sprintf("%s/act%d/%s", s, act, m.variant), func(b *testing.B) { m.single().Bench(b, dev) })
			}
		}
	}
}

// single is a kernel to time or to read the compiler's report of.
func (m *impl) single() convtest.Single {
	return convtest.Single{Impl: m, Shape: m.shape, Precision: planar.FP16, Residual: m.shape.Act == fuse.NoAct, Launch: m.launch}
}

// plain is the kernel of weights that stay.
func plain(m conv.Impl) *impl {
	if e, ok := m.(even); ok {
		return e.impl
	}
	return m.(*impl)
}
