package raw

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const samples = "../testdata/raw/"

func ptr[T any](v T) *T { return &v }

func pattern(t testing.TB, s string) *Pattern {
	t.Helper()
	p, err := ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func mustOpen(t testing.TB, path string, opt Options) *Photo {
	t.Helper()
	p, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func readAll(t testing.TB, p *Photo) []uint16 {
	t.Helper()
	m := p.Meta()
	out := make([]uint16, m.Width*m.Height)
	if err := p.ReadRows(0, m.Height, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestColorchart(t *testing.T) {
	m := mustOpen(t, samples+"colorchart.dng", Options{}).Meta()
	if m.Width != 1734 || m.Height != 1156 || m.Crop != (Rect{X1: 1734, Y1: 1156}) {
		t.Errorf("size %dx%d, crop %v", m.Width, m.Height, m.Crop)
	}
	if m.CFA.String() != "RGGB" || m.BitDepth != 14 || m.Orientation != 1 {
		t.Errorf("CFA %v, %d bits, orientation %d", m.CFA, m.BitDepth, m.Orientation)
	}
	if m.BlackAt(5, 7) != 2056 || m.White != [3]float32{15000, 15000, 15000} {
		t.Errorf("levels %g to %v", m.BlackAt(5, 7), m.White)
	}
	if m.Make != "Canon" || m.Model != "Canon EOS Kiss X4" || m.Software != "Magic Lantern" {
		t.Errorf("camera %q %q %q", m.Make, m.Model, m.Software)
	}
	if m.Format != "DNG 1.1, uncompressed 14-bit" {
		t.Errorf("format %q", m.Format)
	}
	if m.AsShot == nil || *m.AsShot != [3]float64{1, 1, 1} && m.AsShot[0] == m.AsShot[2] {
		t.Errorf("as shot %v", m.AsShot)
	}
	if m.ColorMatrix1 == nil || m.ColorMatrix1[0][0] != 0.6461 || m.ColorMatrix1[1][0] != -0.3825 || m.ForwardMatrix1 != nil {
		t.Errorf("matrices %v %v", m.ColorMatrix1, m.ForwardMatrix1)
	}
	if len(m.Exif) == 0 {
		t.Error("no Exif")
	}
}

func TestHeaderless(t *testing.T) {
	for _, cfa := range []string{"RGGB", "BGGR", "GBRG", "GRBG"} {
		name := samples + "DSC_1339_768x512_" + map[string]string{"RGGB": "rggb", "BGGR": "bggr", "GBRG": "gbrg", "GRBG": "grbg"}[cfa] + ".raw"
		p := mustOpen(t, name, Options{Width: 768, Height: 512, CFA: pattern(t, cfa),
			Black: ptr(600.0), White: ptr(15520.0), WB: &[3]float64{1.94921875, 1, 1.34375}})
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, p)
		for i, v := range got {
			if want := uint16(b[2*i]) | uint16(b[2*i+1])<<8; v != want {
				t.Fatalf("%s: sample %d is %d, want %d", cfa, i, v, want)
			}
		}
		m := p.Meta()
		if m.CFA.String() != cfa || m.BlackAt(1, 1) != 600 || m.White[1] != 15520 {
			t.Errorf("%s: %v %g %v", cfa, m.CFA, m.BlackAt(1, 1), m.White)
		}
		if math.Abs(m.AsShot[0]*1.94921875-1) > 1e-12 || m.AsShot[1] != 1 {
			t.Errorf("as shot %v", m.AsShot)
		}
	}
}

func TestRowsInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  Options
	}{
		{"colorchart.dng", Options{}},
		{"halide_bayer_small.png", Options{CFA: pattern(t, "GRBG"), Black: ptr(25.0), White: ptr(1023.0)}},
		{"openISP_test_1920x1080_10bit_rggb.RAW", Options{Width: 1920, Height: 1080, CFA: pattern(t, "RGGB"), White: ptr(1023.0)}},
	} {
		t.Run(filepath.Ext(c.name), func(t *testing.T) {
			p := mustOpen(t, samples+c.name, c.opt)
			m := p.Meta()
			all := readAll(t, p)
			dst := make([]uint16, 3*m.Width)
			for y := m.Height - 3; y >= 0; y -= 97 {
				if err := p.ReadRows(y, 3, dst); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(dst, all[y*m.Width:][:len(dst)]) {
					t.Fatalf("rows from %d differ", y)
				}
			}
		})
	}
}
