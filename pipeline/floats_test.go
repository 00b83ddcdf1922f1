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
		"a size":    func(j *pipeline.Job) { j.Output.Resize = pipeline.Resize{Width: 9, Height: 9} },
		"reference": func(j *pipeline.Job) { j.Reference = "x.png" },
		"a report":  func(j *pipeline.Job) { j.Show.Side = 100 },
	} {
		j := photoOf(t, camera(filled(24, 24, 1000)))
		j.Output = pipeline.Output{Writer: io.Discard, Format: pipeline.TIFF, Bits: 32}
		change(&j)
		if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%s: %v", name, err)
		}
	}
}
