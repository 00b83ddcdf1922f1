package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// asDNG writes the capture as a DNG file and returns the order to develop it.
func (c capture) asDNG(t testing.TB, out *bytes.Buffer, meta mosaic.Meta) pipeline.Job {
	t.Helper()
	meta.CFA = mosaic.RGGB
	meta.AsShot = &[3]float64{1 / 1.94921875, 1, 1 / 1.34375}
	meta.SetBlack(600)
	meta.SetWhite(15520)
	var b bytes.Buffer
	if err := dng.Write(&b, dng.Spec{Width: c.w, Height: c.h, Samples: c.samples, Bits: 16, Meta: meta}); err != nil {
		t.Fatal(err)
	}
	return pipeline.Job{Input: "capture.dng", Look: pipeline.Look{Tone: look.ToneLinear}, Reader: bytes.NewReader(b.Bytes()), Size: int64(b.Len()),
		Output: pipeline.Output{Writer: out, Bits: 16}}
}

// TestOrientation: the picture is turned, its pixels are those of the unturned one.
func TestOrientation(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 40, 24)
	var out bytes.Buffer
	plain, _ := develop(t, s, c.asDNG(t, &out, mosaic.Meta{Orientation: 1}))
	for o := 1; o <= 8; o++ {
		var out bytes.Buffer
		im, rep := develop(t, s, c.asDNG(t, &out, mosaic.Meta{Orientation: o}))
		w, h := imgio.OrientedSize(40, 24, o)
		if im.Width != w || im.Height != h || rep.Photo.Orientation != o {
			t.Errorf("orientation %d: %dx%d, reported %d", o, im.Width, im.Height, rep.Photo.Orientation)
		}
		// Where the first stored pixel is after turning, by the Exif definition.
		x, y := 0, 0
		if o == 2 || o == 3 || o == 6 || o == 7 {
			x = w - 1
		}
		if o == 3 || o == 4 || o == 7 || o == 8 {
			y = h - 1
		}
		if got, want := [3]uint16(im.Row(y)[3*x:]), [3]uint16(plain.Row(0)); got != want {
			t.Errorf("orientation %d: the first pixel is %v, want %v", o, got, want)
		}
	}
}

// TestCropContext: a crop inside the active area is developed with what surrounds
// it, so it equals the same place of the whole picture, though phases differ.
func TestCropContext(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(200, 200, 112, 96)
	var a, b bytes.Buffer
	noise := &[3][2]float64{{3e-5, 1e-7}, {3e-5, 1e-7}, {3e-5, 1e-7}} // estimates of whole and crop would differ
	whole, _ := develop(t, s, c.asDNG(t, &a, mosaic.Meta{NoiseProfile: noise}))
	r := raw.Rect{X0: 40, Y0: 33, X1: 71, Y1: 62}
	part, _ := develop(t, s, c.asDNG(t, &b, mosaic.Meta{NoiseProfile: noise, Crop: r}))
	if part.Width != 31 || part.Height != 29 {
		t.Fatalf("picture of %dx%d", part.Width, part.Height)
	}
	db := psnr(whole, part, r.X0, r.Y0, 0, 0, 31, 29)
	t.Logf("%.1f dB", db)
	if !(db >= 60) {
		t.Errorf("the crop differs from the whole by %.1f dB", db)
	}
}

// TestExposureAddsUp: BaselineExposure and --exposure are one correction.
func TestExposureAddsUp(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 40, 24)
	var a, b bytes.Buffer
	j := c.asDNG(t, &a, mosaic.Meta{BaselineExposure: 0.5})
	j.Exposure.EV = 0.25
	develop(t, s, j)
	k := c.asDNG(t, &b, mosaic.Meta{})
	k.Exposure.EV = 0.75
	_, rep := develop(t, s, k)
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("0.5 of the camera and 0.25 asked for differ from 0.75 asked for")
	}
	if math.Abs(rep.Colour.EV-0.75) > 1e-9 {
		t.Errorf("reported %g EV", rep.Colour.EV)
	}
}

// TestFormats writes every format to a file and compares what can be read back.
func TestFormats(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 40, 24)
	dir := t.TempDir()
	var first *imgio.RGB16
	for _, o := range []pipeline.Output{{Path: "a.png", Bits: 16}, {Path: "a.tif", Bits: 16}, {Path: "b.png"}, {Path: "c.jpg", Quality: 95}} {
		j := c.asDNG(t, nil, mosaic.Meta{Make: "Nikon", Model: "D", Orientation: 6})
		o.Path = filepath.Join(dir, o.Path)
		j.Output = o
		if _, err := s.Enhance(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		im, err := imgio.ReadRGB16(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = im
		}
		if db := psnr(first, im, 0, 0, 0, 0, 24, 40); !(db > 35) {
			t.Errorf("%s: %.1f dB from the 16-bit PNG", o.Path, db)
		}
		b, err := os.ReadFile(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte("Nikon")) {
			t.Errorf("%s: the camera's name is lost", o.Path)
		}
		if strings.HasSuffix(o.Path, ".png") && (!bytes.Contains(b, []byte("eXIf")) || !bytes.Contains(b, []byte("sRGB"))) {
			t.Errorf("%s: EXIF or sRGB chunk is missing", o.Path)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files left, want 4 (%v)", len(entries), err)
	}
}

// TestReference: a picture agrees with itself, and not with another.
func TestReference(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 40, 24)
	path := filepath.Join(t.TempDir(), "ref.png")
	j := c.asDNG(t, nil, mosaic.Meta{Orientation: 8})
	j.Output = pipeline.Output{Path: path, Bits: 16}
	if _, err := s.Enhance(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j = c.asDNG(t, &out, mosaic.Meta{Orientation: 8})
	j.Reference, j.MinPSNR = path, 100
	_, rep := develop(t, s, j)
	if r := rep.Reference; r == nil || !math.IsInf(float64(r.CPSNR), 1) || r.SSIM < 0.9999 || r.Domain != "float" {
		t.Errorf("against itself: %+v", rep.Reference)
	}
	j.Exposure.EV, j.Output.Writer = 1, new(bytes.Buffer)
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassQuality {
		t.Errorf("a stop brighter: %v", err)
	}
	j = c.crop(0, 0, 24, 24).asDNG(t, new(bytes.Buffer), mosaic.Meta{})
	j.Reference = path
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("a reference of another size: %v", err)
	}
}

// TestDisplayModel: a network with display-ready output takes no white balance and
// exposes in linear light.
func TestDisplayModel(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-random:x,width=2"})
	c := nikon(t).crop(300, 200, 40, 24)
	order := func() pipeline.Job { return c.asDNG(t, new(bytes.Buffer), mosaic.Meta{BaselineExposure: 1}) }
	plain, rep := develop(t, s, order())
	if rep.Colour.EV != 0 {
		t.Errorf("exposure %g without being asked for", rep.Colour.EV)
	}
	j := order()
	j.Exposure.EV = -1
	darker, _ := develop(t, s, j)
	if darker.Pix[0] >= plain.Pix[0] {
		t.Errorf("a stop darker: %d, was %d", darker.Pix[0], plain.Pix[0])
	}
	j = order()
	j.WB = look.WhiteBalance{Mode: look.WBAuto}
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("white balance: %v", err)
	}
	j = order()
	j.Exposure.Auto = true
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("auto exposure: %v", err)
	}
}
