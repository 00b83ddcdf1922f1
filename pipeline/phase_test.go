package pipeline_test

import (
	"bytes"
	"math"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
)

// psnr compares w×h pixels of a from (xa,ya) with those of b from (xb,yb), in
// 16-bit codes.
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

// TestPhasesAgree develops one capture from (0,0), (0,1), (1,0) and (1,1) on, so in
// all four filter phases. The pictures need not be equal: where the others have a
// reflected row or column, the first has true samples, and where the sizes differ
// the padding does, and the network sees 308 samples far. But a reflected row
// restores the phase of the network's poolings too (quads start at the same
// samples), so that the difference comes from the rim alone and fades with the
// distance from it: about 60 dB in all, 84 dB beyond 16 pixels, 107 dB beyond 64.
// Shifting by dropping a row instead would move the poolings and could not agree.
func TestPhasesAgree(t *testing.T) {
	needOpenCL(t)
	const border, want = 16, 80
	full := nikon(t)
	s := session(t, pipeline.Settings{})
	for _, same := range []string{"same end", "same size"} {
		var first *imgio.RGB16
		for p := range 4 {
			y, x := p/2, p%2
			w, h := full.w-x, full.h-y
			if same == "same size" {
				w, h = full.w-2, full.h-2
			}
			var out bytes.Buffer
			im, _ := develop(t, s, full.crop(x, y, w, h).job(y, x, &out))
			if p == 0 {
				first = im
				continue
			}
			cw, ch := min(first.Width, x+w)-x-2*border, min(first.Height, y+h)-y-2*border
			db := psnr(first, im, x+border, y+border, border, border, cw, ch)
			t.Logf("%s, from (%d,%d): %.1f dB", same, y, x, db)
			if !(db >= want) {
				t.Errorf("%s: crops from (0,0) and (%d,%d) agree to %.1f dB, want %d", same, y, x, db, want)
			}
		}
	}
}

// TestWrongPhaseDisagrees shows that the test above can fail.
func TestWrongPhaseDisagrees(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(256, 128, 160, 96)
	s := session(t, pipeline.Settings{})
	var a, b bytes.Buffer
	right, _ := develop(t, s, c.job(0, 0, &a))
	wrong, _ := develop(t, s, c.job(1, 1, &b))
	if db := psnr(right, wrong, 16, 16, 16, 16, 128, 64); db > 50 {
		t.Errorf("red and blue exchanged: still %.1f dB", db)
	}
}
