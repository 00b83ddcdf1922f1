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

// codesShapes are of `best` and `fast` on a 12 MP photo: channels, rows, columns, kernel, outputs, and 1 for a residual
// block, whose inner convolution is as the outer one.
var codesShapes = [][6]int{{48, 1504, 2000, 3, 48, 1}, {24, 1500, 2000, 3, 24, 1}, {64, 752, 1000, 3, 64, 1}, {48, 750, 1000, 3, 48, 1}, {64, 375, 500, 3, 64, 1},
	{48, 1504, 2000, 3, 48, 0}, {96, 376, 500, 3, 96, 0}, {128, 188, 250, 3, 128, 0}, {48, 752, 1000, 3, 64, 0}, {64, 376, 500, 3, 96, 0}, {96, 188, 250, 3, 128, 0},
	{64, 752, 1000, 1, 48, 0}, {96, 376, 500, 1, 64, 0}, {24, 750, 1000, 3, 48, 0}, {48, 750, 1000, 1, 24, 0}}

// BenchmarkCodes times convolutions by events of the device: blocks with a residual, others with a leaky ReLU.
// ENHANCE_CODES_VARIANTS names variants to try beside the one chosen: "outs,teams" separated by blanks;
// ENHANCE_CODES_CUTS parts of the kernel to leave out, such as "store products,store".
func BenchmarkCodes(b *testing.B) {
	dev := convtest.Units(b, wgmma.Probe)
	algos := []codesAlgo{{}}
	for _, text := range strings.Fields(os.Getenv("ENHANCE_CODES_VARIANTS")) {
		var v codesVariant
		if _, err := fmt.Sscanf(text, "%d,%d", &v.outs, &v.teams); err != nil {
			b.Fatalf("ENHANCE_CODES_VARIANTS: %q: %v", text, err)
		}
		algos = append(algos, codesAlgo{&v})
	}
	for _, d := range codesShapes {
		s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: fuse.LeakyReLU, Codes: true, Octets: true, OctetsOut: true}
		name := s.String()
		if d[5] == 1 {
			s.Act, s.Inner, name = fuse.NoAct, &conv.Inner{K: d[3], OutC: d[4], Act: fuse.LeakyReLU}, name+",block"
		}
		for _, a := range algos {
			made, err := a.New(*capsOf(dev), s, planar.FP16)
			if err != nil {
				b.Logf("%s: %v", name, err)
				continue
			}
			m := made.(*codesImpl)
			b.Run(fmt.Sprintf("%s/%s", name, m.variant), func(b *testing.B) { m.single().Bench(b, dev) })
			for _, cuts := range strings.Fields(os.Getenv("ENHANCE_CODES_CUTS")) {
				cut := m.single()
				texts := cutImpl{codesImpl: m}
				for part := range strings.SplitSeq(cuts, ",") {
					texts.texts = append(texts.texts, codesCuts[part][0], codesCuts[part][1])
				}
				cut.Impl = texts
				b.Run(fmt.Sprintf("%s/%s/without_%s", name, m.variant, cuts), func(b *testing.B) { cut.Bench(b, dev) })
			}
		}
	}
}

// codesCuts are parts of the kernel that a measurement may leave out, and how.
var codesCuts = map[string][2]string{
	"products": {"C8_WGMMA(n, sums,", "if (ky + s == 0) C8_WGMMA(n, sums,"},
	"store":    {"#define STORE if (y >= top)", "#define STORE if (y >= top && slope == 12345.0f)"},
	"between":  {"            STORE_BETWEEN\n", "            if (slope == 12345.0f) STORE_BETWEEN\n"},
	"quantize": {"if (i + 1 < reads) QUANTIZE(i + 1)", "if (slope == 12345.0f) QUANTIZE(i + 1)"},
	"load":     {"if (i + 2 < reads) LOAD", "if (slope == 12345.0f) LOAD"},
	"residual": {"if (res && y >= top) {", "if (slope == 12345.0f) {"},
}

// cutImpl is an implementation without parts of its kernel, for measurements.
type cutImpl struct {
	*codesImpl
	texts []string
}

func (m cutImpl) Kernels() []conv.Kernel {
	k := m.codesImpl.Kernels()
	k[0].Source = strings.NewReplacer(m.texts...).Replace(k[0].Source)
	return k
}

// single is a kernel to time or to read the compiler's report of.
func (m *codesImpl) single() convtest.Single {
	return convtest.Single{Impl: m, Shape: m.shape, Precision: planar.FP16, Residual: m.shape.Inner != nil, Launch: m.launch}
}
