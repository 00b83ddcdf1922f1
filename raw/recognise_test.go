package raw

import (
	"os"
	"path/filepath"
	"testing"

	"enhance/internal/imgio"
	"enhance/raw/mosaic"
)

// TestRecognise: photos are told from other files by name and by content.
func TestRecognise(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sample := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile("../testdata/raw/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put("damaged.DNG", []byte("no photo at all"))
	put("empty.nef", nil)
	put("dng.tif", sample("colorchart.dng"))
	put("crw", sample("PowerShotG2.crw")[:1000])
	put("mosaic.png", sample("halide_bayer_small.png"))
	put("notes.txt", []byte("notes"))
	put("empty", nil)
	put("photo.jpg", []byte("\xff\xd8\xff\xe0 and so on"))
	put("dump.bin", make([]byte, 2*8*6))
	for name, open := range map[string]func(f *os.File) (imgio.RowWriter, error){
		"result.png": func(f *os.File) (imgio.RowWriter, error) {
			return imgio.NewPNG(f, imgio.Header{Width: 4, Height: 2, Bits: 16})
		},
		"result.tif": func(f *os.File) (imgio.RowWriter, error) {
			return imgio.NewTIFF(f, imgio.Header{Width: 4, Height: 2, Bits: 16}, imgio.TIFFDeflate)
		},
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := open(f)
		for range 2 {
			if err == nil {
				err = w.WriteRow(make([]uint16, 12))
			}
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	rggb := mosaic.RGGB
	for _, c := range []struct {
		name                   string
		plain, withCFA, ofSize bool
	}{
		{"damaged.DNG", true, true, true},
		{"empty.nef", true, true, true},
		{"dng.tif", true, true, false},
		{"crw", true, true, false},
		{"mosaic.png", false, true, false},
		{"notes.txt", false, false, false},
		{"empty", false, false, false},
		{"photo.jpg", false, false, false},
		{"dump.bin", false, false, true},
		{"result.png", false, false, false},
		{"result.tif", false, false, false},
		{"missing.txt", false, false, false},
	} {
		path := filepath.Join(dir, c.name)
		if got := Recognise(path, Options{}); got != c.plain {
			t.Errorf("%s: %v, want %v", c.name, got, c.plain)
		}
		if got := Recognise(path, Options{CFA: &rggb}); got != c.withCFA {
			t.Errorf("%s with a pattern: %v, want %v", c.name, got, c.withCFA)
		}
		if got := Recognise(path, Options{Width: 8, Height: 6, CFA: &rggb}); got != c.ofSize {
			t.Errorf("%s with a size: %v, want %v", c.name, got, c.ofSize)
		}
	}
}
