package pipeline_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/internal/resize"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// kept keeps the rows of a picture.
type kept struct{ pix []uint16 }

func (k *kept) WriteRow(rgb []uint16) error { k.pix = append(k.pix, rgb...); return nil }
func (k *kept) Close() error                { return nil }

// TestSquarePixels: a picture of samples that are wider than high, or higher than wide, is
// the plain one resampled, whatever its orientation and format; it keeps its proportions if
// it is made smaller.
func TestSquarePixels(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 40, 24)
	var out bytes.Buffer
	plain, _ := develop(t, s, c.asDNG(t, &out, mosaic.Meta{}))
	for _, tt := range []struct {
		aspect float64
		to     pipeline.Resize
		w, h   int
	}{{1.5, pipeline.Resize{}, 60, 24}, {0.625, pipeline.Resize{}, 40, 38}, {1.5, pipeline.Resize{Width: 30, Height: 30}, 30, 12}, {0.5, pipeline.Resize{Width: 1000, Height: 1000}, 40, 48}} {
		for _, orientation := range []int{1, 6} {
			var out bytes.Buffer
			j := c.asDNG(t, &out, mosaic.Meta{PixelAspect: tt.aspect, Orientation: orientation})
			j.Output.Resize = tt.to
			im, rep := develop(t, s, j)
			want := &kept{}
			r, err := resize.New(want, colour.SRGBTransfer, 40, 24, tt.w, tt.h)
			if err != nil {
				t.Fatal(err)
			}
			for y := range 24 {
				if err := r.WriteRow(plain.Row(y)); err != nil {
					t.Fatal(err)
				}
			}
			if w, h := imgio.OrientedSize(tt.w, tt.h, orientation); im.Width != w || im.Height != h || rep.Output.Width != w || rep.Output.Height != h {
				t.Fatalf("%+v, orientation %d: %dx%d, reported %+v", tt, orientation, im.Width, im.Height, rep.Output)
			}
			if len(rep.Warnings) == 0 || !strings.Contains(rep.Warnings[0], "not square") {
				t.Errorf("%+v: warnings %q", tt, rep.Warnings)
			}
			for y := range tt.h {
				for x := range tt.w {
					at := y*im.Width + x
					if orientation == 6 {
						at = x*im.Width + tt.h - 1 - y
					}
					if got, want := [3]uint16(im.Pix[3*at:]), [3]uint16(want.pix[3*(y*tt.w+x):]); got != want {
						t.Fatalf("%+v, orientation %d: row %d, column %d is %v, want %v", tt, orientation, y, x, got, want)
					}
				}
			}
		}
	}
}

// TestSpotIsOfThePicture: a spot is a place of the picture as it is written: turned,
// stretched, resized and corrected for the lens.
func TestSpotIsOfThePicture(t *testing.T) {
	const w, h, patch = 160, 120, 24
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	k := [2]float64{1.35, -0.5} // moves corners by ten pixels and more
	px, py := 120, 26           // where the patch is on the sensor
	c := capture{w: w, h: h, samples: make([]uint16, w*h)}
	for i := range c.samples {
		x, y := i%w, i/w
		light := []float64{0.2, 0.5, 0.5, 0.4}[y%2*2+x%2] // red, green, green, blue
		if max(x-px, px-x, y-py, py-y) <= patch/2 {
			light = []float64{0.5, 0.25, 0.25, 0.125}[y%2*2+x%2]
		}
		c.samples[i] = uint16(600 + light*(15520-600))
	}
	cx, cy := float64(w-1)/2, float64(h-1)/2
	unit := math.Hypot(cx, cy)
	gx, gy := float64(px), float64(py) // where the lens correction brings it
	for range 50 {
		r2 := ((gx-cx)*(gx-cx) + (gy-cy)*(gy-cy)) / unit / unit
		f := k[0] + k[1]*r2
		gx, gy = gx+float64(px)-(cx+f*(gx-cx)), gy+float64(py)-(cy+f*(gy-cy))
	}
	if math.Hypot(gx-float64(px), gy-float64(py)) < 8 {
		t.Fatalf("the correction brings %d,%d to %.1f,%.1f: nothing is tested", px, py, gx, gy)
	}
	for _, tt := range []struct {
		name  string
		x, y  float64 // of the stored picture
		lens  look.LensCorrections
		sizes [2]int // of the picture
		meta  mosaic.Meta
		to    pipeline.Resize
	}{
		{"plain", float64(px), float64(py), look.LensNone, [2]int{w, h}, mosaic.Meta{}, pipeline.Resize{}},
		{"warped", gx, gy, look.LensAuto, [2]int{w, h}, mosaic.Meta{}, pipeline.Resize{}},
		{"turned", gx, gy, look.LensAuto, [2]int{w, h}, mosaic.Meta{Orientation: 8}, pipeline.Resize{}},
		{"stretched", gx, gy, look.LensAuto, [2]int{2 * w, h}, mosaic.Meta{PixelAspect: 2}, pipeline.Resize{}},
		{"resized", gx, gy, look.LensAuto, [2]int{w / 2, h / 2}, mosaic.Meta{}, pipeline.Resize{Width: w / 2, Height: h / 2}},
	} {
		spec := dng.Spec{Width: w, Height: h, Samples: c.samples, Bits: 16, Meta: tt.meta}
		spec.Meta.CFA, spec.Meta.AsShot, spec.Meta.NoiseProfile = mosaic.RGGB, &[3]float64{1, 1, 1}, &[3][2]float64{{1e-5, 1e-7}, {1e-5, 1e-7}, {1e-5, 1e-7}}
		spec.Meta.SetBlack(600)
		spec.Meta.SetWhite(15520)
		spec.Opcodes[2] = []opcode.Operation{radial(k[0], k[1], 0)}
		var b, out bytes.Buffer
		if err := dng.Write(&b, spec); err != nil {
			t.Fatal(err)
		}
		x, y := int((tt.x+0.5)*float64(tt.sizes[0])/w), int((tt.y+0.5)*float64(tt.sizes[1])/h)
		if tt.meta.Orientation == 8 { // a quarter turn to the left
			x, y = y, tt.sizes[0]-1-x
		}
		j := pipeline.Job{Input: "spot.dng", Reader: bytes.NewReader(b.Bytes()), Size: int64(b.Len()), DryRun: true,
			Output: pipeline.Output{Writer: &out, Resize: tt.to}, Look: pipeline.Look{Lens: tt.lens}}
		if err := j.WB.UnmarshalText(fmt.Appendf(nil, "spot:%d,%d", x, y)); err != nil {
			t.Fatal(err)
		}
		rep, err := s.Enhance(t.Context(), j)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		g := rep.Colour.Gains
		if got := [2]float64{g[0] / g[1], g[2] / g[1]}; math.Abs(got[0]-0.5) > 0.01 || math.Abs(got[1]-2) > 0.04 {
			t.Errorf("%s: spot:%d,%d has gains %v, want the patch's, 1, 2 and 4", tt.name, x, y, g)
		}
	}
}
