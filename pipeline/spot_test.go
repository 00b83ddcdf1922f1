package pipeline

import (
	"testing"

	"enhance/internal/imgio"
)

// TestStored holds the places of pixels against what package imgio does with a picture.
func TestStored(t *testing.T) {
	const w, h = 5, 3
	for o := 1; o <= 8; o++ {
		uw, uh := imgio.OrientedSize(w, h, o)
		seen := &placed{}
		out, err := imgio.Oriented(seen, imgio.Header{Width: w, Height: h, Bits: 16}, o)
		if err != nil {
			t.Fatal(err)
		}
		for y := range h {
			var row []uint16
			for x := range w {
				row = append(row, uint16(x), uint16(y), 0)
			}
			if err := out.WriteRow(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		for y := range uh {
			for x := range uw {
				sx, sy := stored(x, y, w, h, o)
				if px := seen.pix[3*(y*uw+x):]; int(px[0]) != sx || int(px[1]) != sy {
					t.Errorf("orientation %d: pixel %d,%d is %d,%d, not %d,%d", o, x, y, px[0], px[1], sx, sy)
				}
			}
		}
	}
}

// placed keeps what is written.
type placed struct{ pix []uint16 }

func (p *placed) WriteRow(rgb []uint16) error { p.pix = append(p.pix, rgb...); return nil }
func (p *placed) Close() error                { return nil }
