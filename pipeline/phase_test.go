package pipeline_test

import (
	"bytes"
	"math"
	"testing"

	"enhance/imgio"
	"enhance/pipeline"
)

// psnr compares the rectangle at (xa,ya) of a with that at (xb,yb) of b, in 16-bit
// codes.
func psnr(a, b *imgio.RGB16, xa, ya, xb, yb, w, h int) float64 {
	sum := 0.0
	for y := range h {
		ra, rb := a.Row(ya + y)[3*xa:][:3*w], b.Row(yb + y)[3*xb:][:3*w]
		for i := range ra {
			d := float64(ra[i]) - float64(rb[i])
			sum += d * d
		}
	}
	return 10 * math.Log10(65535*65535*float64(3*w*h)/sum)
}

func TestX(t *testing.T) {
	needOpenCL(t)
	full := nikon(t)
	s := session(t, pipeline.Settings{})
	for _, v := range []string{"same end", "same size"} {
		var base *imgio.RGB16
		for p := range 4 {
			y, x := p/2, p%2
			w, h := 400, 300
			if v == "same end" {
				w, h = w-x, h-y
			}
			var out bytes.Buffer
			im, _ := develop(t, s, full.crop(100+x, 100+y, w, h).job(y, x, &out))
			if p == 0 {
				base = im
				continue
			}
			for _, b := range []int{0, 2,4,8, 16, 32, 64, 100} {
				x1, y1 := min(400, x+w), min(300, y+h)
				t.Logf("%s (%d,%d) border %d: %.1f dB", v, y, x, b, psnr(base, im, x+b, y+b, b, b, x1-x-2*b, y1-y-2*b))
			}
		}
	}
}
