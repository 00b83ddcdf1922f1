package pipeline_test

import (
	"bytes"
	"math"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// opcodes3 develops a capture whose DNG file has that OpcodeList3.
func opcodes3(t *testing.T, s *pipeline.Session, c capture, ev float64, list ...opcode.Operation) (*imgio.RGB16, *pipeline.Report) {
	t.Helper()
	spec := dng.Spec{Width: c.w, Height: c.h, Samples: c.samples, Bits: 16, Meta: mosaic.Meta{CFA: mosaic.RGGB, AsShot: &[3]float64{0.5, 1, 0.75}, Illuminant1: 21,
		ColorMatrix1: &[3][3]float64{{0.65, -0.1, -0.06}, {-0.45, 1.2, 0.25}, {-0.1, 0.2, 0.6}},
		NoiseProfile: &[3][2]float64{{1e-5, 1e-7}, {1e-5, 1e-7}, {1e-5, 1e-7}}}}
	spec.Meta.SetBlack(600)
	spec.Meta.SetWhite(15520)
	spec.Opcodes[2] = list
	var b, out bytes.Buffer
	if err := dng.Write(&b, spec); err != nil {
		t.Fatal(err)
	}
	j := pipeline.Job{Input: "lens.dng", Look: pipeline.Look{Tone: look.ToneLinear, Lens: look.LensAuto}, Reader: bytes.NewReader(b.Bytes()), Size: int64(b.Len()), Output: pipeline.Output{Writer: &out, Bits: 16}}
	j.Exposure.EV = ev
	im, rep := develop(t, s, j)
	return im, rep
}

// radial is a WarpRectilinear of even powers about the centre.
func radial(k0, k1, k2 float64) opcode.Operation {
	return opcode.Operation{ID: opcode.WarpRectilinearID, Params: &opcode.Rectilinear{CX: 0.5, CY: 0.5,
		Planes: []opcode.RectilinearPlane{{Radial: []float64{k0, 0, k1, 0, k2, 0, 0}, MaxRadius: 1}}}}
}

// TestWarpThatMovesNothing gives the picture that there is without one.
func TestWarpThatMovesNothing(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 90, 70)
	plain, _ := opcodes3(t, s, c, 0)
	same, rep := opcodes3(t, s, c, 0, radial(1, 0, 0))
	if len(rep.Warnings) > 0 {
		t.Errorf("%q", rep.Warnings)
	}
	for i, v := range same.Pix {
		if d := int(v) - int(plain.Pix[i]); d < -1 || d > 1 {
			t.Fatalf("value %d is %d, without the warp %d", i, v, plain.Pix[i])
		}
	}
}

// TestBentLinesBecomeStraight photographs lines through a lens and develops them.
func TestBentLinesBecomeStraight(t *testing.T) {
	const w, h, pitch = 150, 110, 30
	k := [3]float64{1.06, -0.17, 0.03}
	c := capture{w: w, h: h, samples: make([]uint16, w*h)}
	cx, cy := float64(w-1)/2, float64(h-1)/2
	for i := range c.samples {
		x, y := float64(i%w), float64(i/w)
		gx, gy := x, y // of the straight lines, by iteration
		for range 30 {
			dx, dy := (gx-cx)/math.Hypot(cx, cy), (gy-cy)/math.Hypot(cx, cy)
			r2 := dx*dx + dy*dy
			f := k[0] + k[1]*r2 + k[2]*r2*r2
			gx, gy = gx+x-(cx+f*(gx-cx)), gy+y-(cy+f*(gy-cy))
		}
		d := gx - pitch*math.Round(gx/pitch)
		light := (0.1 + 0.5*math.Exp(-d*d/(2*2.5*2.5))) * []float64{0.5, 1, 1, 0.75}[i/w%2*2+i%w%2]
		c.samples[i] = uint16(600 + light*(15520-600))
	}
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	off := func(im *imgio.RGB16) (worst float64) {
		for line := pitch; line < w-pitch/2; line += pitch {
			for y := 12; y < h-12; y += 7 {
				sum, moment, base := 0.0, 0.0, float64(im.Row(y)[3*(line-11)+1])
				for x := line - 9; x <= line+9; x++ {
					v := float64(im.Row(y)[3*x+1]) - base
					sum, moment = sum+v, moment+v*float64(x-line)
				}
				worst = max(worst, math.Abs(moment/sum))
			}
		}
		return worst
	}
	bent, _ := opcodes3(t, s, c, 0)
	straight, _ := opcodes3(t, s, c, 0, radial(k[0], k[1], k[2]))
	t.Logf("lines are off by up to %.2f pixels, corrected by %.2f", off(bent), off(straight))
	if off(bent) < 0.8 {
		t.Errorf("the lens bends lines by %.2f pixels only: nothing is tested", off(bent))
	}
	if off(straight) > 0.1 {
		t.Errorf("lines are off by %.2f pixels", off(straight))
	}
}

// TestPixelCorrectionsAroundWarp halves the light before or after a warp: a stop.
func TestPixelCorrectionsAroundWarp(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 90, 70)
	half := opcode.Operation{ID: opcode.MapPolynomialID, Params: &opcode.MapPolynomial{Coefficients: []float64{0, 0.5},
		Area: opcode.Area{Bottom: 70, Right: 90, Planes: 3, RowPitch: 1, ColPitch: 1}}}
	want, _ := opcodes3(t, s, c, -1)
	for name, list := range map[string][]opcode.Operation{"alone": {half}, "before": {half, radial(1, 0, 0)}, "after": {radial(1, 0, 0), half}} {
		got, rep := opcodes3(t, s, c, 0, list...)
		if len(rep.Warnings) > 0 {
			t.Errorf("%s: %q", name, rep.Warnings)
		}
		for i, v := range got.Pix {
			if d := int(v) - int(want.Pix[i]); d < -2 || d > 2 {
				t.Fatalf("%s: value %d is %d, a stop darker is %d", name, i, v, want.Pix[i])
			}
		}
	}
}

// TestWarpOnDevice: rows come from a device in chunks of which several are under way.
func TestWarpOnDevice(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(100, 100, 200, 300)
	bend := radial(1.05, -0.1, 0.02)
	host, _ := opcodes3(t, session(t, pipeline.Settings{Device: pipeline.HostDevice}), c, 0, bend)
	device, _ := opcodes3(t, session(t, pipeline.Settings{}), c, 0, bend)
	if db := psnr(host, device, 0, 0, 0, 0, 200, 300); !(db > 90) {
		t.Errorf("%.1f dB from the host's picture", db)
	}
}
