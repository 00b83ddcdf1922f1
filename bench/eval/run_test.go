package eval

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/mosaic"
)

// TestRun measures two photos, one of them the other's name twin, and sums up.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, im *imgio.RGB16) string {
		path := filepath.Join(dir, name)
		var b bytes.Buffer
		w, err := imgio.NewPNG(&b, imgio.Header{Width: im.Width, Height: im.Height, Bits: 8})
		if err != nil {
			t.Fatal(err)
		}
		for y := range im.Height {
			if err := w.WriteRow(im.Row(y)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	save("smooth.png", smooth(64, 48))
	save("busy.png", painting(48, 64, func(x, y, c int) float64 { return float64(x * y * 7 % 255) }))
	files, err := Files([]string{dir, filepath.Join(dir, "busy.png")})
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	done := 0
	o := Options{Photos: files[:2], Border: 8, Models: []pipeline.Settings{{Model: "pynet-s", Device: pipeline.HostDevice}},
		Done: func(string, PhotoResult) { done++ }}
	rep, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := rep.Methods[0]
	if done != 2 || m.Method != "pynet-s" || m.Worst.Photo != "busy.png" || m.Best.Photo != "smooth.png" || m.Precision != "fp32" {
		t.Errorf("%d done, %+v", done, m)
	}
	if mean := (m.Photos[0].CPSNR + m.Photos[1].CPSNR) / 2; math.Abs(float64(mean-m.Mean.CPSNR)) > 1e-9 {
		t.Errorf("mean %g, want %g", m.Mean.CPSNR, mean)
	}
	var text strings.Builder
	if err := rep.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 photos", "sRGB codes, free of noise", "CFA RGGB", "border of 8", "8-bit", "busy.png"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestRefusals(t *testing.T) {
	host := []pipeline.Settings{{Model: "pynet-s", Device: pipeline.HostDevice}}
	one := 1.0
	for name, o := range map[string]Options{
		"no photos":     {Models: host},
		"no method":     {Photos: []string{"a"}},
		"border":        {Photos: []string{"a"}, Models: host, Border: -1},
		"sigma":         {Photos: []string{"a"}, Models: host, Mosaic: Mosaic{Sigma: math.NaN()}},
		"both":          {Photos: []string{"a"}, Models: host, Mosaic: Mosaic{Sigma: 1, Sensor: &Sensor{Gains: [3]float64{1, 1, 1}}}},
		"gains":         {Photos: []string{"a"}, Models: host, Mosaic: Mosaic{Sensor: &Sensor{}}},
		"monochrome":    {Photos: []string{"a"}, Models: host, Mosaic: Mosaic{CFA: mosaic.Mono}},
		"X-Trans":       {Photos: []string{"a"}, Models: host, Mosaic: Mosaic{CFA: mosaic.XTrans}},
		"noise in sRGB": {Photos: []string{"a"}, Models: host, Noise: look.Noise{Mode: look.NoiseEstimate}},
		"denoise":       {Photos: []string{"a"}, Models: host, Denoise: &one},
		"no network":    {Photos: []string{"a"}, Classical: true, Denoise: &one},
		"own rendering": {Photos: []string{"a"}, Models: []pipeline.Settings{{Model: "pynet-random:a,width=2", Device: pipeline.HostDevice}}},
	} {
		_, err := Run(context.Background(), o)
		var bad *OptionError
		if !errors.As(err, &bad) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, s := range []string{"", "1", "1e-3,1e-5,2", "1e-3,x", "2,0", "-1,0", "0,0,1,1,0", "0,0,1,1,1000", "NaN,0"} {
		if v, err := ParseSensor(s); err == nil {
			t.Errorf("sensor %q is %+v", s, v)
		}
	}
	if s, err := ParseSensor("1e-3, 1e-5, 4, 2, 3"); err != nil || s.Gains != [3]float64{2, 1, 1.5} || s.S != 1e-3 || s.O != 1e-5 {
		t.Errorf("%+v, %v", s, err)
	}
}

func FuzzParseSensor(f *testing.F) {
	f.Add("1e-3,1e-5,2,1,1.6")
	f.Add("0,0")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSensor(text)
		if err != nil {
			return
		}
		m := Mosaic{Sensor: s}
		if err := m.check(); err != nil {
			t.Fatal(err)
		}
		for _, v := range m.take("a", flat(4, 4)).samples {
			if !(v >= 0 && v <= sensorWhite) {
				t.Fatalf("%q: sample %g", text, v)
			}
		}
	})
}

// TestNoLibRaw: its absence is said, with what to do.
func TestNoLibRaw(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Run(context.Background(), Options{Photos: []string{"a"}, LibRaw: true})
	if !errors.Is(err, ErrNoLibRaw) || !strings.Contains(err.Error(), "libraw-bin") {
		t.Errorf("error %v", err)
	}
}

// TestKodak holds the starter model to the figure it was trained to: 40.35 dB on
// all 24 photos, here on one unless ENHANCE_LONG is set.
func TestKodak(t *testing.T) {
	files, err := Files([]string{"../../shared/data/kodak"})
	if err != nil {
		t.Skipf("NO PHOTOS to measure: %v", err)
	}
	want := 40.35
	if os.Getenv("ENHANCE_LONG") == "" {
		files, want = files[18:19], 40.47
	}
	rep, err := Run(context.Background(), Options{Photos: files, Border: 8, Models: []pipeline.Settings{{Model: "pynet-s"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(rep.Methods[0].Mean.CPSNR); math.Abs(got-want) > 0.01 {
		t.Errorf("%.3f dB on %d photos, want %.2f", got, len(files), want)
	}
}
