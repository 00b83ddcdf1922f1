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

// streamShapes are layers of PyNET on a 12 MP photo.
var streamShapes = [][5]int{{128, 1440, 1984, 9, 32}, {32, 1440, 1984, 9, 32}, {128, 1440, 1984, 7, 32}, {32, 1440, 1984, 5, 32}, {32, 1440, 1984, 3, 32},
	{192, 720, 992, 7, 64}, {64, 720, 992, 5, 64}, {192, 720, 992, 3, 64}, {256, 360, 496, 5, 128}, {256, 360, 496, 3, 128}, {256, 180, 248, 3, 256}, {512, 90, 124, 3, 512}}

// BenchmarkStream times convolutions that leave statistics and, where they are the second of a branch, take a norm in.
// ENHANCE_OCTETS_STREAM has other cases: "channels,rows,columns,side,outputs" and, behind a colon, a form of
// "nt,r,teams,slots,pieces,frags", separated by blanks.
func BenchmarkStream(b *testing.B) {
	dev := convtest.Units(b, wgmma.Probe)
	caps := *capsOf(dev)
	texts := strings.Fields(os.Getenv("ENHANCE_OCTETS_STREAM"))
	if len(texts) == 0 {
		for _, d := range streamShapes {
			texts = append(texts, strings.Trim(strings.ReplaceAll(fmt.Sprint(d), " ", ","), "[]"))
		}
	}
	for _, text := range texts {
		var c, h, w, k, outs int
		shape, form, given := strings.Cut(text, ":")
		if _, err := fmt.Sscanf(strings.ReplaceAll(shape, ",", " "), "%d %d %d %d %d", &c, &h, &w, &k, &outs); err != nil {
			b.Fatalf("ENHANCE_OCTETS_STREAM: %q: %v", text, err)
		}
		s := conv.Shape{K: k, SrcC: []int{c}, OutC: outs, H: h, W: w, Act: fuse.NoAct, Octets: true, OctetsOut: true}
		f := chooseStream(s, caps.Cores)
		if given {
			if _, err := fmt.Sscanf(strings.ReplaceAll(form, ",", " "), "%d %d %d %d %d %d", &f.nt, &f.r, &f.teams, &f.slots, &f.pieces, &f.frags); err != nil {
				b.Fatalf("ENHANCE_OCTETS_STREAM: %q: %v", text, err)
			}
		}
		made, err := algo{form: &f}.New(caps, s, planar.FP16)
		if err != nil {
			b.Logf("%s: %v", text, err)
			continue
		}
		m := made.(*stream)
		m.sums, m.scaled, m.pre = true, c == outs, fuse.LeakyReLU
		b.Run(fmt.Sprintf("%s/%s", s, f), func(b *testing.B) {
			convtest.Single{Impl: m, Shape: s, Precision: planar.FP16, Launch: m.launch}.Bench(b, dev)
		})
	}
}
