package mma

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
	"pynet": {{128, 1440, 1984, 9, 32}, {32, 1440, 1984, 9, 32}, {128, 1440, 1984, 7, 32}, {192, 720, 992, 7, 64}, {256, 720, 992, 5, 64}, {256, 360, 496, 5, 128},
		{512, 360, 496, 3, 128}, {192, 720, 992, 3, 64}, {64, 720, 992, 3, 64}, {256, 180, 248, 3, 256}, {512, 90, 124, 3, 512}, {128, 1440, 1984, 3, 32}, {32, 1440, 1984, 3, 32}, {32, 2880, 3968, 3, 16}, {16, 2880, 3968, 3, 3}, {4, 1440, 1984, 3, 32}},
	"pynet-s": {{4, 1440, 1984, 3, 24}, {24, 1440, 1984, 3, 24}, {48, 1440, 1984, 5, 12}, {24, 1440, 1984, 5, 12}, {12, 1440, 1984, 3, 12}, {12, 1440, 1984, 5, 12},
		{80, 720, 992, 5, 20}, {40, 720, 992, 5, 20}, {20, 720, 992, 3, 20}, {64, 360, 496, 3, 64}, {96, 180, 248, 3, 96}},
}

// BenchmarkShapes times convolutions by events of the device and reports the
// compiler's figures. ENHANCE_MMA_VARIANTS names variants to try beside the one
// chosen: "mt,wo,wr,rows,piece,slots,ahead" separated by blanks.
func BenchmarkShapes(b *testing.B) {
	dev := convtest.Units(b, Probe)
	var tried []variant
	for _, text := range strings.Fields(os.Getenv("ENHANCE_MMA_VARIANTS")) {
		var v variant
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %d %d %d %d %d %d", &v.mt, &v.wo, &v.wr, &v.rows, &v.piece, &v.slots, &v.ahead); err != nil {
			b.Fatalf("ENHANCE_MMA_VARIANTS: %q: %v", text, err)
		}
		tried = append(tried, v)
	}
	for _, p := range []Precision{FP16, TF32, FP32} {
		for _, net := range []string{"pynet", "pynet-s"} {
			for _, d := range benchShapes[net] {
				s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: fuse.LeakyReLU}
				for _, v := range append([]variant{choose(p, s, dev.Info().LocalMem)}, tried...) {
					name := fmt.Sprintf("%s/%s/%s/%s", p, net, s, v)
					b.Run(name, func(b *testing.B) {
						made, err := (algo{p, &v}).New(*capsOf(dev), s, p.Storage())
						if err != nil {
							b.Fatal(err)
						}
						single(made.(*impl)).Bench(b, dev)
					})
				}
			}
		}
	}
}

// single is a kernel to time or to read the compiler's report of.
func single(m *impl) convtest.Single {
	return convtest.Single{Impl: m, Shape: m.shape, Precision: m.precision.Storage(), Launch: m.launch}
}

// codesShapes are convolutions of fast and best on a 12 MP photo: channels, rows, columns, kernel side,
// outputs; 1 if codes are stored; 1 if a residual is added.
var codesShapes = [][7]int{{48, 1504, 2000, 3, 48, 1, 0}, {48, 1504, 2000, 3, 48, 0, 1}, {24, 1500, 2000, 3, 24, 1, 0}, {24, 1500, 2000, 3, 24, 0, 1},
	{64, 752, 1000, 3, 64, 1, 0}, {64, 752, 1000, 3, 64, 0, 1}, {48, 752, 1000, 3, 48, 1, 0}, {96, 376, 500, 3, 96, 1, 0}, {128, 188, 250, 3, 128, 1, 0}, {64, 752, 1000, 1, 48, 0, 0}}

// BenchmarkCodesShapes times convolutions of codes by events of the device. ENHANCE_MMA_CODES names variants to
// try beside the one chosen: "mt,wo,wr,rows,words,tiles,reuse" separated by blanks.
func BenchmarkCodesShapes(b *testing.B) {
	dev := convtest.Units(b, Probe)
	var tried []codesVariant
	for _, text := range strings.Fields(os.Getenv("ENHANCE_MMA_CODES")) {
		var v codesVariant
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %d %d %d %d %d %d", &v.mt, &v.wo, &v.wr, &v.rows, &v.words, &v.tiles, &v.reuse); err != nil {
			b.Fatalf("ENHANCE_MMA_CODES: %q: %v", text, err)
		}
		tried = append(tried, v)
	}
	for _, d := range codesShapes {
		s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: fuse.LeakyReLU, Codes: true, Store: d[5] == 1}
		for _, v := range append([]codesVariant{chooseCodes(*capsOf(dev), s)}, tried...) {
			b.Run(fmt.Sprintf("%s/store=%d/res=%d/%s", s, d[5], d[6], v), func(b *testing.B) {
				if v.mt*v.wo > (d[4]+15)/16+1 || v.words > (d[0]+15)/16*4 {
					b.Skip("more than there is")
				}
				made, err := (codesAlgo{&v}).New(*capsOf(dev), s, planar.FP16)
				if err != nil {
					b.Skip(err)
				}
				m := made.(*codesImpl)
				convtest.Single{Impl: m, Shape: s, Precision: planar.FP16, Residual: d[6] == 1, Launch: m.launch}.Bench(b, dev)
			})
		}
	}
}
