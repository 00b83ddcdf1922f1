package pipeline_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// camera is what a file for these tests says of its camera.
func camera(c capture) dng.Spec {
	s := dng.Spec{Width: c.w, Height: c.h, Samples: c.samples, Bits: 16, Meta: mosaic.Meta{Make: "Maker", Model: "M1", CFA: mosaic.RGGB, Orientation: 1,
		AsShot: &[3]float64{0.5, 1, 0.75}, AnalogBalance: [3]float64{1, 1, 1}, Illuminant1: 17, Illuminant2: 21, BaselineExposure: 0.25,
		ColorMatrix1: &[3][3]float64{{0.75, -0.125, -0.0625}, {-0.5, 1.25, 0.25}, {-0.125, 0.25, 0.625}},
		ColorMatrix2: &[3][3]float64{{0.625, -0.125, -0.0625}, {-0.5, 1.25, 0.25}, {-0.125, 0.25, 0.75}},
		NoiseProfile: &[3][2]float64{{1e-4, 1e-6}, {1e-4, 1e-6}, {1e-4, 1e-6}}}}
	s.Meta.SetBlack(600)
	s.Meta.SetWhite(15520)
	return s
}

// photoOf is the job to develop a file.
func photoOf(t testing.TB, s dng.Spec) pipeline.Job {
	t.Helper()
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return pipeline.Job{Input: "photo.dng", Reader: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
}

// toDNG makes a linear DNG file of a photo and returns its path and the photo in it.
func toDNG(t testing.TB, s *pipeline.Session, j pipeline.Job) (string, *raw.Photo, *pipeline.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "linear.dng")
	j.Output = pipeline.Output{Path: path}
	rep, err := s.Enhance(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	p, err := raw.Open(path, raw.Options{Linear: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if len(p.Meta().Warnings) > 0 {
		t.Errorf("the file's reader says %q", p.Meta().Warnings)
	}
	return path, p, rep
}

// finished is a picture of a job with linear tone.
func finished(t testing.TB, s *pipeline.Session, j pipeline.Job, lens look.LensCorrections) *imgio.RGB16 {
	t.Helper()
	j.Look = pipeline.Look{Tone: look.ToneLinear, Lens: lens}
	j.Output = pipeline.Output{Writer: new(bytes.Buffer), Bits: 16}
	im, _ := develop(t, s, j)
	return im
}

// TestLinearDNG: the file has the photo's facts, and its picture is the photo's.
func TestLinearDNG(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	spec := camera(nikon(t).crop(300, 200, 90, 70))
	spec.Meta.Orientation, spec.Meta.Crop = 6, mosaic.Rect{X0: 3, Y0: 4, X1: 84, Y1: 67}
	j := photoOf(t, spec)
	path, p, rep := toDNG(t, s, j)
	m := p.Meta()
	if !m.Linear || m.Width != 81 || m.Height != 63 || m.Orientation != 6 || m.BaselineExposure != 0.25 || m.Software != pipeline.Software() {
		t.Errorf("facts %+v", m)
	}
	if *m.ColorMatrix1 != *spec.Meta.ColorMatrix1 || *m.ColorMatrix2 != *spec.Meta.ColorMatrix2 || m.Illuminant1 != 17 || m.Illuminant2 != 21 {
		t.Errorf("matrices %v, %v of lights %d, %d", m.ColorMatrix1, m.ColorMatrix2, m.Illuminant1, m.Illuminant2)
	}
	if m.AsShot[1] != 1 || m.AsShot[0] != 0.5 || m.AsShot[2] != 0.75 {
		t.Errorf("neutral %v", m.AsShot)
	}
	if n := m.NoiseProfile; n == nil || !(n[1][0] > 0 && n[1][0] < 0.1*1e-4) {
		t.Errorf("noise %v of 1e-4, 1e-6", n)
	}
	if rep.Output.Format != "dng" || rep.Output.Bits != 16 {
		t.Errorf("output %+v", rep.Output)
	}
	want := finished(t, s, j, look.LensDefault)
	got := finished(t, s, pipeline.Job{Input: path}, look.LensDefault)
	db := psnr(want, got, 0, 0, 0, 0, want.Width, want.Height)
	t.Logf("%.1f dB", db)
	if got.Width != want.Width || got.Height != want.Height || !(db > 45) {
		t.Errorf("the file's picture of %dx%d differs from the photo's by %.1f dB", got.Width, got.Height, db)
	}
}

// TestLinearDNGPreview: the first directory has a picture that is the finished one, small.
func TestLinearDNGPreview(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	j := photoOf(t, camera(nikon(t).crop(200, 100, 160, 120)))
	path, _, _ := toDNG(t, s, j)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(b, []byte{0xff, 0xd8, 0xff, 0xe2}) // a JPEG that begins with a profile
	if at < 0 {
		t.Fatal("no preview")
	}
	got, err := imgio.DecodeRGB16(bytes.NewReader(b[at:]), int64(len(b)-at))
	if err != nil {
		t.Fatal(err)
	}
	j.Output = pipeline.Output{Writer: new(bytes.Buffer), Bits: 16, Resize: pipeline.Resize{Width: 80, Height: 60}}
	j.Look = pipeline.Look{Sharpen: look.SharpenOff}
	want, _ := develop(t, s, j)
	if got.Width != 80 || got.Height != 60 {
		t.Fatalf("preview of %dx%d", got.Width, got.Height)
	}
	db := psnr(want, got, 0, 0, 0, 0, 80, 60)
	t.Logf("%.1f dB", db)
	if !(db > 28) { // means of squares are no Lanczos filter, and the JPEG's chroma is halved
		t.Errorf("the preview differs from the picture by %.1f dB", db)
	}
}

// TestLinearDNGLens: corrections are left to the file's readers, unless they are asked for.
func TestLinearDNGLens(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	spec := camera(nikon(t).crop(300, 200, 120, 90))
	spec.Meta.Crop = mosaic.Rect{X0: 8, Y0: 6, X1: 112, Y1: 84}
	vignette := opcode.Operation{ID: opcode.VignetteRadialID, Params: &opcode.VignetteRadial{K: [5]float64{0.3, 0, 0, 0, 0}, CX: 0.5, CY: 0.5}}
	spec.Opcodes[2] = []opcode.Operation{vignette, radial(1, -0.06, 0)}
	j := photoOf(t, spec)
	want := finished(t, s, j, look.LensAuto)
	for _, tt := range []struct {
		lens look.LensCorrections
		left int
	}{{look.LensDefault, 1}, {look.LensNone, 1}, {look.LensAuto, 0}} {
		j.Look.Lens = tt.lens
		path, p, rep := toDNG(t, s, j)
		if got := p.Opcodes()[2]; len(got) != tt.left || tt.left > 0 && got[0].ID != opcode.WarpRectilinearID {
			t.Errorf("lens %d: operations %v, want %d", tt.lens, got, tt.left)
		}
		if said := slices.ContainsFunc(rep.Warnings, func(w string) bool { return strings.Contains(w, "left to readers") }); said != (tt.left > 0) {
			t.Errorf("lens %d: warnings %q", tt.lens, rep.Warnings)
		}
		got := finished(t, s, pipeline.Job{Input: path}, look.LensAuto)
		db := psnr(want, got, 0, 0, 0, 0, want.Width, want.Height)
		t.Logf("lens %d: %.1f dB", tt.lens, db)
		if got.Width != want.Width || got.Height != want.Height || !(db > 42) {
			t.Errorf("lens %d: the file's picture of %dx%d differs from the photo's by %.1f dB", tt.lens, got.Width, got.Height, db)
		}
	}
}

// TestLinearDNGOfOthers: photos that no network takes become linear DNG files too.
func TestLinearDNGOfOthers(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 72, 60)
	j := photoOf(t, camera(c))
	path, linear, _ := toDNG(t, s, j)
	before := make([]float32, 3*72*60)
	if err := linear.ReadLinear(0, 60, before); err != nil {
		t.Fatal(err)
	}
	_, again, _ := toDNG(t, s, pipeline.Job{Input: path})
	after := make([]float32, len(before))
	if err := again.ReadLinear(0, 60, after); err != nil {
		t.Fatal(err)
	}
	for i, v := range before {
		if d := 65535 * (v - after[i]); d < -1.01 || d > 1.01 {
			t.Fatalf("sample %d of a linear file is %g, in a file made of it %g", i, v, after[i])
		}
	}
	mono := camera(c)
	mono.Meta.CFA = mosaic.Mono
	_, p, _ := toDNG(t, s, photoOf(t, mono))
	if p.Meta().CFA != mosaic.Mono || p.Meta().Linear {
		t.Errorf("a monochrome photo became %v, linear %v", p.Meta().CFA, p.Meta().Linear)
	}
	dump := c.job(0, 0, nil) // says nothing of its colours
	dump.Look = pipeline.Look{}
	path, p, _ = toDNG(t, s, dump)
	if p.Meta().ColorMatrix1 == nil || p.Meta().Illuminant1 != 21 || p.Meta().AsShot == nil {
		t.Errorf("facts of a dump: %+v", p.Meta())
	}
	want := finished(t, s, dump, look.LensDefault)
	got := finished(t, s, pipeline.Job{Input: path}, look.LensDefault)
	if db := psnr(want, got, 0, 0, 0, 0, 72, 60); !(db > 40) {
		t.Errorf("the picture of a dump's file differs from the dump's by %.1f dB", db)
	}
}

// TestLinearDNGTags: what cannot be done to the light becomes tags.
func TestLinearDNGTags(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	spec := camera(nikon(t).crop(300, 200, 40, 30))
	spec.Meta.ColorMatrix1, spec.Meta.ColorMatrix2 = nil, nil // which would not take such gains
	j := photoOf(t, spec)
	j.Exposure = look.Exposure{Given: true, EV: 0.5}
	j.WB = look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{2, 1, 10}} // more than the network is given
	_, p, _ := toDNG(t, s, j)
	if m := p.Meta(); m.BaselineExposure != 0.75 || m.AsShot[0] != 0.5 || m.AsShot[2] != 0.1 {
		t.Errorf("exposure %g, neutral %v", m.BaselineExposure, m.AsShot)
	}
}

// TestLinearDNGBytes do not depend on the number of cores.
func TestLinearDNGBytes(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	j := photoOf(t, camera(nikon(t).crop(100, 100, 300, 270)))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first []byte
	for _, n := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(n)
		path, _, _ := toDNG(t, s, j)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(b, first) {
			t.Errorf("%d cores: other bytes", n)
		}
	}
}

func TestLinearDNGRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.dng")
	for name, change := range map[string]func(*pipeline.Job){
		"a stream":  func(j *pipeline.Job) { j.Output = pipeline.Output{Writer: new(bytes.Buffer), Format: pipeline.DNG} },
		"a size":    func(j *pipeline.Job) { j.Output.Resize = pipeline.Resize{Width: 9, Height: 9} },
		"a tone":    func(j *pipeline.Job) { j.Tone = look.ToneNatural },
		"sharpness": func(j *pipeline.Job) { j.Sharpen = look.SharpenLow },
		"exposure":  func(j *pipeline.Job) { j.Exposure.Auto = true },
		"reference": func(j *pipeline.Job) { j.Reference = "x.png" },
		"bits":      func(j *pipeline.Job) { j.Output.Bits = 8 },
		"a profile": func(j *pipeline.Job) { j.Output.Profile = "p3" },
	} {
		s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
		j := photoOf(t, camera(filled(24, 24, 1000)))
		j.Output.Path = path
		change(&j)
		if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-random:x,width=2"})
	j := photoOf(t, camera(filled(24, 24, 1000)))
	j.Output.Path = path
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption || !strings.Contains(err.Error(), "display-ready") {
		t.Errorf("a display-ready model: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made")
	}
}
