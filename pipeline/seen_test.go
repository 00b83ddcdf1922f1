package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/mosaic"
)

// TestSeen: what there is to look at is the picture itself and its photo interpolated plainly,
// upright and in sRGB, and asking for it changes no byte of the picture.
func TestSeen(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: ""})
	for _, c := range []struct {
		cfa         string
		orientation int
		resize      int
		profile     pipeline.OutputProfile
		tone        look.Tone
	}{{"RGGB", 1, 0, "", look.ToneLinear}, {"GBRG", 6, 0, "", look.ToneLinear}, {"xtrans", 1, 0, "", look.ToneLinear},
		{"BGGR", 3, 40, "", look.ToneNatural}, {"RGGB", 1, 0, "p3", look.ToneLinear}, {"mono", 1, 0, "", look.ToneLinear}} {
		t.Run(fmt.Sprint(c.cfa, c.orientation, c.resize, c.profile), func(t *testing.T) {
			p, err := mosaic.ParsePattern(c.cfa)
			if err != nil {
				t.Fatal(err)
			}
			const w, h = 96, 84
			photo := sensorPhoto(p, w, h, mosaic.Rect{X1: w, Y1: h}, mosaic.Rect{X0: 6, Y0: 6, X1: w - 6, Y1: h - 6})
			photo.Meta.Orientation = c.orientation
			var plain, shown bytes.Buffer
			job := func(out *bytes.Buffer) pipeline.Job {
				j := sensorJob(t, photo, out)
				j.Tone, j.Output.Profile = c.tone, c.profile
				j.Output.Resize = pipeline.Resize{Width: c.resize, Height: c.resize}
				if c.resize == 0 {
					j.Output.Resize = pipeline.Resize{}
				}
				return j
			}
			rep, err := s.Enhance(context.Background(), job(&plain))
			if err != nil || rep.Seen != nil {
				t.Fatal(rep.Seen, err)
			}
			need := rep.Host.Need
			j := job(&shown)
			j.Show = pipeline.Show{Side: 4096, Before: true, Crops: 2, CropSide: 16}
			if rep, err = s.Enhance(context.Background(), j); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(plain.Bytes(), shown.Bytes()) {
				t.Error("asking for what is shown changes the picture")
			}
			if rep.Host.Need <= need {
				t.Errorf("%d bytes are planned for, %d without what is shown", rep.Host.Need, need)
			}
			checkSeen(t, rep, shown.Bytes(), p, c.profile == "" && c.orientation == 1 && c.cfa != "mono")
		})
	}
}

func checkSeen(t *testing.T, rep *pipeline.Report, file []byte, p mosaic.Pattern, scened bool) {
	t.Helper()
	seen, m := rep.Seen.Pictures, decode(t, file)
	if seen.Width != m.Width || seen.Height != m.Height || seen.After.Rect.Dx() != m.Width || seen.After.Rect.Dy() != m.Height {
		t.Fatalf("%dx%d pixels are shown as %dx%d, %v", m.Width, m.Height, seen.Width, seen.Height, seen.After.Rect)
	}
	if len(rep.Seen.Memory) == 0 || rep.Seen.Seconds <= 0 {
		t.Errorf("%d samples of memory over %g s", len(rep.Seen.Memory), rep.Seen.Seconds)
	}
	if rep.Output.Profile == "srgb" {
		for i, v := range m.Pix {
			if got, want := seen.After.Pix[i/3*4+i%3], math.Round(float64(v)/257); math.Abs(float64(got)-want) > 1 {
				t.Fatalf("sample %d of the picture is %g, shown as %d", i, want, got)
			}
		}
	}
	if p == mosaic.Mono {
		if seen.Before != nil || seen.Crops != nil {
			t.Error("a monochrome mosaic was interpolated")
		}
		return
	}
	if len(seen.Crops) == 0 || seen.Before.Rect != seen.After.Rect {
		t.Fatalf("%d crops; before %v, after %v", len(seen.Crops), seen.Before.Rect, seen.After.Rect)
	}
	if !scened {
		return
	}
	for y := range m.Height { // where the mosaic has a colour the interpolation keeps it
		for x := range m.Width {
			c := p.At(y+6, x+6)
			want := 255 * colour.SRGBEncode(scene(y+6, x+6, c))
			if got := float64(seen.Before.Pix[y*seen.Before.Stride+4*x+int(c)]); math.Abs(got-want) > 1.01 {
				t.Fatalf("at %d, %d %v is %g, want %.2f", x, y, c, got, want)
			}
		}
	}
}

func decode(t *testing.T, file []byte) *imgio.RGB16 {
	t.Helper()
	m, err := imgio.DecodeRGB16(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSeenProfile: a picture in another space is shown in the same colours.
func TestSeenProfile(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	p, err := mosaic.ParsePattern("xtrans")
	if err != nil {
		t.Fatal(err)
	}
	photo := sensorPhoto(p, 60, 48, mosaic.Rect{X1: 60, Y1: 48}, mosaic.Rect{X1: 60, Y1: 48})
	photo.Meta.ColorMatrix1 = &[3][3]float64{{0.7, -0.2, 0}, {-0.4, 1.2, 0.2}, {0, 0.1, 0.6}}
	photo.Meta.Illuminant1 = 21
	var shown [2][]uint8
	for i, profile := range []pipeline.OutputProfile{"srgb", "rec2020"} {
		var out bytes.Buffer
		j := sensorJob(t, photo, &out)
		j.Output.Profile, j.Show = profile, pipeline.Show{Side: 100}
		rep, err := s.Enhance(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		shown[i] = rep.Seen.Pictures.After.Pix
	}
	sum := 0.0
	for i := range shown[0] {
		sum += math.Abs(float64(shown[0][i]) - float64(shown[1][i]))
	}
	if mean := sum / float64(len(shown[0])); mean > 0.5 {
		t.Errorf("the same photo in two spaces is shown %g codes apart", mean)
	}
}

// TestSeenInterrupted: what goes on beside a run ends with it.
func TestSeenInterrupted(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	p := mosaic.RGGB
	photo := sensorPhoto(p, 400, 600, mosaic.Rect{X1: 400, Y1: 600}, mosaic.Rect{X1: 400, Y1: 600})
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	j := sensorJob(t, photo, &out)
	j.Show = pipeline.Show{Side: 100, Before: true, Crops: 1, CropSide: 64}
	j.Planned = func(*pipeline.Report) { cancel() }
	if _, err := s.Enhance(ctx, j); pipeline.Classify(err) != pipeline.ClassInterrupted {
		t.Errorf("interrupted: %v", err)
	}
}
