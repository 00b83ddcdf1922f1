package pipeline_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"path/filepath"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// TestFloats: a picture of floats is that of 16 bits, but for what these round off or cut off.
func TestFloats(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	spec := camera(nikon(t).crop(300, 200, 60, 40))
	spec.Meta.Orientation = 6
	for _, tt := range []struct {
		tone    look.Tone
		profile pipeline.OutputProfile
		ev      float64
	}{{look.ToneNatural, "", 0}, {look.ToneLinear, "", 0}, {look.ToneLinear, "linear-srgb", 3}, {look.ToneNatural, "linear-rec2020", 0}} {
		j := photoOf(t, spec)
		j.Tone, j.Exposure = tt.tone, look.Exposure{Given: true, EV: tt.ev}
		j.Output = pipeline.Output{Writer: new(bytes.Buffer), Bits: 16, Profile: tt.profile}
		want, _ := develop(t, s, j)
		path := filepath.Join(t.TempDir(), "floats.tif")
		j.Output = pipeline.Output{Path: path, Bits: 32, Profile: tt.profile}
		rep, err := s.Enhance(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Output.Bits != 32 {
			t.Errorf("%d bits are reported", rep.Output.Bits)
		}
		j.Output = pipeline.Output{Writer: new(bytes.Buffer), Bits: 32, Format: pipeline.TIFF, Profile: tt.profile}
		if _, err := s.Enhance(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		got, beyond := plainFloats(t, j.Output.Writer.(*bytes.Buffer).Bytes(), want), 0
		for i, v := range got {
			if v < 0 || v > 1 {
				beyond++
			}
			code := math.Round(65535 * float64(min(max(v, 0), 1)))
			if d := code - float64(want.Pix[i]); d < -1 || d > 1 {
				t.Fatalf("%+v: sample %d is %g, and %d in 16 bits", tt, i, v, want.Pix[i])
			}
		}
		if (tt.tone == look.ToneLinear) != (beyond > len(got)/50) { // the other brings colours into the space
			t.Errorf("%+v: %d of %d samples lie beyond black and white", tt, beyond, len(got))
		}
	}
}

// TestFloatsResizedAndShown: floats are made smaller like codes, and a page shows the same picture of both.
func TestFloatsResizedAndShown(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	spec := camera(nikon(t).crop(300, 200, 60, 40))
	spec.Meta.PixelAspect = 1.25
	for _, profile := range []pipeline.OutputProfile{"srgb", "linear-rec2020"} {
		var seen [2]*pipeline.Report
		var want *imgio.RGB16
		for i, bits := range []int{16, 32} {
			out := new(bytes.Buffer)
			j := photoOf(t, spec)
			j.Output = pipeline.Output{Writer: out, Format: pipeline.TIFF, Bits: bits, Profile: profile, Resize: pipeline.Resize{Width: 41, Height: 41}}
			j.Exposure = look.Exposure{Given: true, EV: -3} // nothing is cut off
			j.Show = pipeline.Show{Side: 100, Before: true, Crops: 1, CropSide: 16}
			rep, err := s.Enhance(context.Background(), j)
			if err != nil {
				t.Fatal(err)
			}
			if seen[i] = rep; bits == 16 {
				want = decode(t, out.Bytes())
				continue
			}
			for k, v := range plainFloats(t, out.Bytes(), want) {
				if d := 65535*float64(v) - float64(want.Pix[k]); math.Abs(d) > 2 {
					t.Fatalf("%s: sample %d is %g, and %d in 16 bits", profile, k, v, want.Pix[k])
				}
			}
		}
		if want.Width != 41 {
			t.Errorf("%s: %d columns", profile, want.Width)
		}
		for k, v := range seen[0].Seen.Pictures.After.Pix {
			if d := int(v) - int(seen[1].Seen.Pictures.After.Pix[k]); d < -1 || d > 1 {
				t.Fatalf("%s: sample %d is shown as %d and %d", profile, k, v, seen[1].Seen.Pictures.After.Pix[k])
			}
		}
		if !bytes.Equal(seen[0].Seen.Pictures.Before.Pix, seen[1].Seen.Pictures.Before.Pix) {
			t.Errorf("%s: what floats and codes are compared with differs", profile)
		}
	}
}

// plainFloats are the samples of an uncompressed TIFF, which stand at its end.
func plainFloats(t *testing.T, b []byte, like *imgio.RGB16) []float32 {
	t.Helper()
	out := make([]float32, len(like.Pix))
	at := len(b) - 4*len(out)
	for i := range out {
		bits := uint32(b[at+4*i]) | uint32(b[at+4*i+1])<<8 | uint32(b[at+4*i+2])<<16 | uint32(b[at+4*i+3])<<24
		out[i] = math.Float32frombits(bits)
	}
	return out
}

func TestFloatsRefused(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	for name, change := range map[string]func(*pipeline.Job){
		"PNG":       func(j *pipeline.Job) { j.Output.Format = pipeline.PNG },
		"JPEG":      func(j *pipeline.Job) { j.Output.Format = pipeline.JPEG },
		"DNG":       func(j *pipeline.Job) { j.Output.Format = pipeline.DNG },
		"reference": func(j *pipeline.Job) { j.Reference = "x.png" },
	} {
		j := photoOf(t, camera(filled(24, 24, 1000)))
		j.Output = pipeline.Output{Writer: io.Discard, Format: pipeline.TIFF, Bits: 32}
		change(&j)
		if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%s: %v", name, err)
		}
	}
}
