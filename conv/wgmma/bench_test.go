package wgmma

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// benchShapes are the largest convolutions of PyNET and pynet-s on a 12 MP photo.
var benchShapes = map[string][][5]int{
	"pynet": {{128, 1440, 1984, 9, 32}, {32, 1440, 1984, 9, 32}, {128, 1440, 1984, 7, 32}, {32, 1440, 1984, 7, 32}, {128, 1440, 1984, 5, 32}, {32, 1440, 1984, 5, 32}, {64, 720, 992, 5, 64}, {192, 720, 992, 7, 64}, {256, 720, 992, 5, 64}, {256, 360, 496, 5, 128},
		{512, 360, 496, 3, 128}, {64, 720, 992, 3, 64}, {512, 90, 124, 3, 512}, {32, 1440, 1984, 3, 32}, {16, 2880, 3968, 3, 16}, {16, 2880, 3968, 3, 3}},
	"pynet-s": {{4, 1440, 1984, 3, 24}, {24, 1440, 1984, 3, 24}, {48, 1440, 1984, 5, 12}, {24, 1440, 1984, 5, 12}, {12, 1440, 1984, 3, 12}, {12, 1440, 1984, 5, 12},
		{80, 720, 992, 5, 20}, {40, 720, 992, 5, 20}, {20, 720, 992, 3, 20}, {64, 360, 496, 3, 64}, {96, 180, 248, 3, 96}},
}

// BenchmarkShapes times convolutions by events of the device and reports the
// compiler's figures. ENHANCE_WGMMA_VARIANTS names variants to try beside the one
// chosen: "block,buffers,piece,slots" separated by blanks.
func BenchmarkShapes(b *testing.B) {
	dev := convtest.Units(b, Probe)
	var tried []variant
	for _, text := range strings.Fields(os.Getenv("ENHANCE_WGMMA_VARIANTS")) {
		var v variant
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %d %d %d", &v.block, &v.buffers, &v.piece, &v.slots); err != nil {
			b.Fatalf("ENHANCE_WGMMA_VARIANTS: %q: %v", text, err)
		}
		tried = append(tried, v)
	}
	for _, net := range []string{"pynet", "pynet-s"} {
		for _, d := range benchShapes[net] {
			s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: fuse.LeakyReLU}
			for _, v := range append([]variant{choose(s)}, tried...) {
				made, err := (algo{variant: &v}).New(capsOf(dev), s, planar.FP16)
				if err != nil {
					b.Logf("%s: %v", v, err)
					continue
				}
				for form, m := range forms(made.(*impl)) {
					b.Run(fmt.Sprintf("%s/%s/%s/%s", net, s, v, form), func(b *testing.B) { single(m).Bench(b, dev) })
				}
			}
		}
	}
}

// forms are a convolution, with statistics, and, where there is such a form, with a
// norm taken in, and with both.
func forms(m *impl) map[string]*impl {
	bare := *m
	bare.shape.Act = fuse.NoAct
	sums, _ := bare.Summed()
	all := map[string]*impl{"plain": m, "sums": sums.(*impl)}
	if scaled, ok := bare.Scaled(fuse.LeakyReLU).(*impl); ok {
		both, _ := scaled.Summed()
		all["scaled"], all["both"] = scaled, both.(*impl)
	}
	return all
}

// single is a kernel to time or to read the compiler's report of.
func single(m *impl) convtest.Single {
	return convtest.Single{Impl: m, Shape: m.shape, Precision: planar.FP16, Launch: m.launch}
}
