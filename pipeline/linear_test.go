package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/internal/colour"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// linearJob is the order to develop a demosaiced photo, and its samples.
func linearJob(t *testing.T, s dng.Spec, out *bytes.Buffer) pipeline.Job {
	t.Helper()
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return pipeline.Job{Input: "linear.dng", Look: pipeline.Look{Tone: look.ToneLinear, Lens: look.LensAuto}, Reader: bytes.NewReader(b.Bytes()), Size: int64(b.Len()),
		Output: pipeline.Output{Writer: out, Bits: 16}}
}

func linearPhoto(w, h int) dng.Spec {
	s := dng.Spec{Width: w, Height: h, Linear: true, Bits: 16, TileWidth: 32, TileHeight: 32, Samples: make([]uint16, 3*w*h)}
	s.Meta.AsShot = &[3]float64{0.5, 1, 0.8}
	for i := range s.Samples {
		s.Samples[i] = uint16(rand.IntN(1 << 16))
	}
	return s
}

// TestLinearPhoto holds every pixel against white balance, exposure and sRGB curve.
func TestLinearPhoto(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	p := linearPhoto(101, 83)
	p.Meta.Crop = mosaic.Rect{X0: 3, Y0: 4, X1: 100, Y1: 80}
	var out bytes.Buffer
	j := linearJob(t, p, &out)
	j.Exposure.EV = -0.5
	im, rep := develop(t, s, j)
	if im.Width != 97 || im.Height != 76 || rep.Plan.Strategy != "no network" || len(rep.Warnings) == 0 {
		t.Errorf("%dx%d, %q, %q", im.Width, im.Height, rep.Plan.Strategy, rep.Warnings)
	}
	gains := [3]float64{2, 1, 1.25}
	for y := range im.Height {
		for i, v := range im.Row(y) {
			light := float64(p.Samples[((y+4)*101+3)*3+i]) / 65535 * gains[i%3]
			want := 65535 * colour.SRGBEncode(min(light, 1)*math.Exp2(-0.5))
			if math.Abs(float64(v)-want) > 2 {
				t.Fatalf("row %d, value %d is %d, want %.1f", y, i, v, want)
			}
		}
	}
}

// TestLinearPhotoIsWarped: the lens is corrected without a network too, and all of
// the photo is read for it.
func TestLinearPhotoIsWarped(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	const w, h = 151, 131
	p := linearPhoto(w, h)
	p.Meta.AsShot = &[3]float64{1, 1, 1}
	p.Meta.Crop = mosaic.Rect{X0: 40, Y0: 30, X1: 110, Y1: 100}
	// A slope that the warp makes steeper: twice as far from the centre is where pixels
	// come from.
	for i := range p.Samples {
		p.Samples[i] = uint16(10000 + 100*(i/3%w) + 150*(i/3/w))
	}
	p.Opcodes[2] = []opcode.Operation{radial(1.5, 0, 0)}
	var out bytes.Buffer
	im, _ := develop(t, s, linearJob(t, p, &out))
	for y := range im.Height {
		for x := range im.Width {
			sx, sy := 75+1.5*(float64(x+40)-75), 65+1.5*(float64(y+30)-65)
			want := 65535 * colour.SRGBEncode((10000+100*sx+150*sy)/65535)
			if v := im.Row(y)[3*x]; math.Abs(float64(v)-want) > 3 {
				t.Fatalf("row %d, column %d is %d, want %.1f", y, x, v, want)
			}
		}
	}
}

// TestLinearPhotoAuto estimates white balance and exposure of a demosaiced photo.
func TestLinearPhotoAuto(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	p := linearPhoto(200, 150)
	for i := range p.Samples {
		p.Samples[i] = uint16(float64(rand.IntN(1<<15)) * []float64{0.5 / 2.43, 0.5, 0.5 / 1.53}[i%3]) // daylight, as most sensors see it
	}
	var out bytes.Buffer
	j := linearJob(t, p, &out)
	j.WB.Mode, j.Exposure.Auto = look.WBAuto, true
	_, rep := develop(t, s, j)
	if g := rep.Colour.Gains; math.Abs(g[0]/2.43-1) > 0.1 || math.Abs(g[2]/1.53-1) > 0.1 || rep.Colour.EV < 0.5 {
		t.Errorf("gains %v, %g EV", g, rep.Colour.EV)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Enhance(ctx, linearJob(t, p, &out)); pipeline.Classify(err) != pipeline.ClassInterrupted {
		t.Errorf("cancelled: %v", err)
	}
	j = linearJob(t, p, nil)
	j.Output, j.DryRun = pipeline.Output{}, true
	if _, err := s.Enhance(context.Background(), j); err != nil {
		t.Errorf("dry run: %v", err)
	}
}
