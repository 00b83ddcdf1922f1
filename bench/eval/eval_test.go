package eval

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/mosaic"
)

var phases = []mosaic.Pattern{mosaic.RGGB, mosaic.BGGR, mosaic.GBRG, mosaic.GRBG}

// painting is a picture of w×h 8-bit codes from a function.
func painting(w, h int, at func(x, y, c int) float64) *imgio.RGB16 {
	im := &imgio.RGB16{Width: w, Height: h, Bits: 8}
	for y := range h {
		for x := range w {
			for c := range 3 {
				im.Pix = append(im.Pix, 257*uint16(min(max(at(x, y, c), 0), 255)))
			}
		}
	}
	return im
}

// smooth is a picture that any good demosaicer restores well.
func smooth(w, h int) *imgio.RGB16 {
	return painting(w, h, func(x, y, c int) float64 {
		return 128 + 70*math.Sin(float64(x)/17+float64(c)/3) + 50*math.Cos(float64(y)/23)
	})
}

func flat(w, h int) *imgio.RGB16 {
	return painting(w, h, func(_, _, c int) float64 { return []float64{200, 90, 40}[c] })
}

func checked(t testing.TB, m Mosaic) *Mosaic {
	t.Helper()
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	return &m
}

// TestMosaic: without noise the samples are the photo's of the filters' colours,
// as codes and as stored light.
func TestMosaic(t *testing.T) {
	im := smooth(12, 7)
	sensor := &Sensor{Gains: [3]float64{2, 1, 1.5}}
	for _, p := range phases {
		codes := checked(t, Mosaic{CFA: p}).take("a", im)
		light := checked(t, Mosaic{CFA: p, Sensor: sensor}).take("a", im)
		for y := range 7 {
			for x := range 12 {
				c := p.At(y, x)
				code := float64(im.Row(y)[3*x+int(c)]) / 65535
				if got := codes.samples[12*y+x]; math.Abs(float64(got)-code) > 1e-6 {
					t.Errorf("%v: code at %d,%d is %g, want %g", p, y, x, got, code)
				}
				want := sensorBlack + colour.SRGBDecode(code)/sensor.Gains[c]*(sensorWhite-sensorBlack)
				if got := light.samples[12*y+x]; math.Abs(float64(got)-want) > 0.51 {
					t.Errorf("%v: light at %d,%d is %g, want %g", p, y, x, got, want)
				}
			}
		}
	}
}

// TestMosaicNoise measures the noise, and that it hangs on seed and name alone.
func TestMosaicNoise(t *testing.T) {
	im := flat(300, 300)
	deviation := func(s *shot, c raw.Colour) float64 {
		var sum, sq, n float64
		for i, v := range s.samples {
			if s.mosaic.CFA.At(i/300, i%300) == c {
				sum, sq, n = sum+float64(v), sq+float64(v)*float64(v), n+1
			}
		}
		return math.Sqrt(sq/n - sum/n*sum/n)
	}
	m := checked(t, Mosaic{Sigma: 10, Seed: 1})
	if got := deviation(m.take("a", im), mosaic.Green) * 255; math.Abs(got-10) > 0.2 {
		t.Errorf("sigma 10 is %.2f", got)
	}
	s := checked(t, Mosaic{Sensor: &Sensor{S: 1e-3, O: 1e-5, Gains: [3]float64{2, 1, 1.5}}, Seed: 1})
	for c, code := range []float64{200, 90, 40} {
		v := colour.SRGBDecode(code/255) / s.Sensor.Gains[c]
		want := math.Sqrt(1e-3*v + 1e-5)
		if got := deviation(s.take("a", im), raw.Colour(c)) / (sensorWhite - sensorBlack); math.Abs(got/want-1) > 0.03 {
			t.Errorf("%v: deviation %g, want %g", raw.Colour(c), got, want)
		}
	}
	if !slices.Equal(m.take("a", im).samples, m.take("a", im).samples) {
		t.Error("the same photo gets other noise")
	}
	other := checked(t, Mosaic{Sigma: 10, Seed: 2})
	if slices.Equal(m.take("a", im).samples, m.take("b", im).samples) || slices.Equal(m.take("a", im).samples, other.take("a", im).samples) {
		t.Error("another name or seed gets the same noise")
	}
}

func needLibRaw(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("dcraw_emu"); err != nil {
		t.Skipf("NO COMPARISON WITH LIBRAW: %v", ErrNoLibRaw)
	}
}

// TestLibRawKeepsColours: the way through DNG, dcraw_emu and TIFF keeps flat
// colours in both domains and all phases, whatever interpolates.
func TestLibRawKeepsColours(t *testing.T) {
	needLibRaw(t)
	all, err := newLibRaws(mosaic.RGGB)
	if err != nil {
		t.Fatal(err)
	}
	keepColours(t, all, phases, flat(46, 38))
}

// TestRawTherapeeKeepsColours: so does the way through RawTherapee.
func TestRawTherapeeKeepsColours(t *testing.T) {
	if testing.Short() {
		t.Skip("RawTherapee's program takes half a second to start")
	}
	all, err := newRawTherapees(mosaic.RGGB)
	if errors.Is(err, ErrNoRawTherapee) {
		t.Skipf("NO COMPARISON WITH RAWTHERAPEE: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	keepColours(t, all, phases[1:3], flat(446, 338)) // it refuses files of smaller photos
}

func keepColours(t *testing.T, all []method, phases []mosaic.Pattern, im *imgio.RGB16) {
	t.Helper()
	for _, m := range all {
		t.Cleanup(func() { m.close() })
		for _, p := range phases {
			for _, sensor := range []*Sensor{nil, {Gains: [3]float64{1, 1, 1}}, {Gains: [3]float64{2, 1, 1.5}}} {
				got, err := m.restore(context.Background(), checked(t, Mosaic{CFA: p, Sensor: sensor}).take("a", im))
				if err != nil {
					t.Fatal(err)
				}
				r, err := compare("a", got, im, 8)
				if err != nil {
					t.Fatal(err)
				}
				if !math.IsInf(float64(r.CPSNR), 1) {
					t.Errorf("%s, %v, sensor %+v: a flat colour comes back at %.1f dB", m.name(), p, sensor, r.CPSNR)
				}
			}
		}
		if err := m.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLibRawIsAligned: bilinear interpolation keeps the samples that are there,
// each where it was.
func TestLibRawIsAligned(t *testing.T) {
	needLibRaw(t)
	im := painting(46, 38, func(x, y, c int) float64 { return float64((x*53 + y*31 + c*77) % 256) })
	for _, p := range phases {
		for _, sensor := range []*Sensor{nil, {Gains: [3]float64{2, 1, 1.5}}} {
			all, err := newLibRaws(mosaic.RGGB)
			if err != nil {
				t.Fatal(err)
			}
			got, err := all[0].restore(context.Background(), checked(t, Mosaic{CFA: p, Sensor: sensor}).take("a", im))
			for _, m := range all {
				err = errors.Join(err, m.close())
			}
			if err != nil {
				t.Fatal(err)
			}
			for y := 8; y < 30; y++ {
				for x := 8; x < 38; x++ {
					c := int(p.At(y, x))
					code := float64(im.Row(y)[3*x+c] / 257)
					if v := float64(got.row(y)[3*x+c]) * 255; math.Abs(v-code) > 0.5 {
						t.Fatalf("%v, sensor %+v: sample %d,%d is %.2f, was %g", p, sensor, y, x, v, code)
					}
				}
			}
		}
	}
}

// TestNetworkPhases restores a smooth picture of odd sides with the starter model
// in every phase and both domains; a mosaic taken for another phase's fails.
func TestNetworkPhases(t *testing.T) {
	im := smooth(99, 63)
	o := &Options{}
	n, err := newNetwork(pipeline.Settings{Model: "pynet-s", Device: pipeline.HostDevice}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	score := func(s *shot) float64 {
		got, err := n.restore(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare("a", got, im, 8)
		if err != nil {
			t.Fatal(err)
		}
		return float64(r.CPSNR)
	}
	for _, p := range phases {
		if db := score(checked(t, Mosaic{CFA: p}).take("a", im)); !(db > 40) {
			t.Errorf("%v: %.1f dB", p, db)
		}
		if db := score(checked(t, Mosaic{CFA: p, Sensor: &Sensor{Gains: [3]float64{2, 1, 1.5}}}).take("a", im)); !(db > 38) {
			t.Errorf("%v from a sensor: %.1f dB", p, db)
		}
	}
	wrong := checked(t, Mosaic{CFA: mosaic.RGGB}).take("a", im)
	wrong.mosaic = checked(t, Mosaic{CFA: mosaic.BGGR})
	if db := score(wrong); db > 30 {
		t.Errorf("taken for another phase: %.1f dB", db)
	}
}

// TestClassical restores a smooth picture of odd sides from mosaics that are not Bayer's,
// in several phases and both domains; one taken for another phase's fails.
func TestClassical(t *testing.T) {
	im := smooth(99, 63)
	score := func(p mosaic.Pattern, s *shot) float64 {
		m, err := newClassical(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.restore(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare("a", got, im, 8)
		if err != nil {
			t.Fatal(err)
		}
		return float64(r.CPSNR)
	}
	quad, err := mosaic.ParsePattern("quad-GRBG")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(2, 1), quad, quad.Shift(1, 3)} {
		if db := score(p, checked(t, Mosaic{CFA: p}).take("a", im)); !(db > 48) {
			t.Errorf("%v: %.1f dB", p, db)
		}
		if db := score(p, checked(t, Mosaic{CFA: p, Sensor: &Sensor{Gains: [3]float64{2, 1, 1.5}}}).take("a", im)); !(db > 47) {
			t.Errorf("%v from a sensor: %.1f dB", p, db)
		}
		if db := score(p.Shift(0, 1), checked(t, Mosaic{CFA: p}).take("a", im)); db > 35 {
			t.Errorf("%v taken for another phase: %.1f dB", p, db)
		}
	}
}

// TestClassicalKodak holds the demosaicer to a figure of docs/demosaic.md.
func TestClassicalKodak(t *testing.T) {
	files, err := Files([]string{"../../shared/data/kodak"})
	if err != nil {
		t.Skipf("NO PHOTOS to measure: %v", err)
	}
	rep, err := Run(context.Background(), Options{Photos: files[12:13], Border: 8, Classical: true, Mosaic: Mosaic{CFA: mosaic.XTrans}})
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(rep.Methods[0].Mean.CPSNR); math.Abs(got-32.57) > 0.01 {
		t.Errorf("%.3f dB on kodim13, want 32.57", got)
	}
}

// TestNoisePlanes: networks that take the noise level are told the sigma.
func TestNoisePlanes(t *testing.T) {
	half := 0.5
	n, err := newNetwork(pipeline.Settings{Model: "pynet-m-random:a", Device: pipeline.HostDevice}, &Options{Denoise: &half})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	in, top, left := n.pack(checked(t, Mosaic{CFA: mosaic.GBRG, Sigma: 20}).take("a", flat(9, 7)))
	if in.C != 8 || in.H != 4 || in.W != 5 || top != 1 || left != 0 {
		t.Fatalf("planes %v, %d rows and %d columns before", in.Shape, top, left)
	}
	for i, v := range in.Data[4*20:] {
		if math.Abs(float64(v)-8*0.5*20/255) > 1e-6 {
			t.Fatalf("noise sample %d is %g", i, v)
		}
	}
	low, high := slices.Min(in.Data[:80]), slices.Max(in.Data[:80])
	if low >= 0.2 || high <= 0.7 {
		t.Errorf("samples from %g to %g", low, high)
	}
}

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
