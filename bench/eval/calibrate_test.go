package eval

import (
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"enhance/internal/imgio"
	"enhance/model"
	"enhance/pipeline"
)

// writePNG writes a picture of one grey, of 16 bits or of 8.
func writePNG(t *testing.T, path string, w, h int, gray16 bool) string {
	t.Helper()
	var im image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if gray16 {
		im = image.NewGray16(im.Bounds())
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, im); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestQuantizeRefuses: what cannot be calibrated is refused by the kind of error that tells what to mend.
func TestQuantizeRefuses(t *testing.T) {
	dir := t.TempDir()
	good := writePNG(t, filepath.Join(dir, "good.png"), 64, 64, false)
	m, err := model.Load("pynet-m-random:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params {
		for i := range p.Data {
			p.Data[i] *= 1e30
		}
	}
	large := filepath.Join(dir, "large.safetensors")
	f, err := os.Create(large)
	if err == nil {
		err = errors.Join(model.Write(f, m), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	option := func(err error) bool { return errors.As(err, new(*OptionError)) }
	for name, c := range map[string]struct {
		model, picture string
		is             func(error) bool
	}{
		"for other mosaics":     {model.ForAnySensor, good, option},
		"small picture":         {"pynet-m-random:1", writePNG(t, filepath.Join(dir, "small.png"), 200, 31, false), option},
		"mosaic as a picture":   {"pynet-m-random:1", writePNG(t, filepath.Join(dir, "gray.png"), 64, 64, true), func(err error) bool { return errors.Is(err, imgio.ErrUnsupported) }},
		"RAW photo":             {"pynet-m-random:1", "../../testdata/raw/colorchart.dng", func(err error) bool { return pipeline.Classify(err) == pipeline.ClassInput }},
		"values without bounds": {large, good, func(err error) bool { return errors.As(err, new(*pipeline.NonFiniteError)) }},
	} {
		if _, err := Quantize(t.Context(), c.model, []string{c.picture}, 1); !c.is(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
