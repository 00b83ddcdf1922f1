package mosaic

import "testing"

func TestPattern(t *testing.T) {
	for name, kind := range map[string]string{"RGGB": "Bayer", "BGGR": "Bayer", "GBRG": "Bayer", "GRBG": "Bayer",
		"quad-RGGB": "quad-Bayer", "quad-GBRG": "quad-Bayer", "xtrans": "X-Trans", "mono": "monochrome",
		"3x2:RGGBBG": "3x2 filter array", "1x3:RGB": "1x3 filter array",
		"4x4:RGGRGBBGGBBGRGGR": "quad-Bayer"} {
		p, err := ParsePattern(name)
		if err != nil || p.String() != name || !p.Valid() || p.Kind() != kind {
			t.Errorf("%s: %v, %s, %v", name, p, p.Kind(), err)
		}
		if q, err := ParsePattern(p.Shift(1, 1).String()); err != nil || q != p.Shift(1, 1) {
			t.Errorf("%s shifted: %v, %v", name, q, err)
		}
	}
	for _, s := range []string{"", "rggb", "RGB", "RGGBX", "GGRB", "RRGB", "quad-", "quad-GGRB", "2x2:RRGG", "2x2:RGG", "9x1:RGBRGBRGB", "0x0:", "-1x-4:RGGB", "2:RGGB",
		"x:RGGB", "2x2:RGXB", "99999999999999999999x1:R"} {
		if p, err := ParsePattern(s); err == nil {
			t.Errorf("%q is %v", s, p)
		}
	}
	if RGGB.At(3, 2) != Green || RGGB.At(2, 2) != Red || RGGB.At(7, 7) != Blue || XTrans.At(6, 7) != Blue || XTrans.At(1, 6) != Red {
		t.Error("At")
	}
	if RGGB.Shift(1, 1) != BGGR || RGGB.Shift(0, 1) != GRBG || RGGB.Shift(1, 0) != GBRG || RGGB.Shift(2, 4) != RGGB {
		t.Error("Shift")
	}
	if zero := (Pattern{}); zero.Valid() || zero.Shift(1, 1) != zero || zero.At(5, 5) != Red || zero.String() != "unknown" || zero.Kind() != "unknown" {
		t.Errorf("the zero Pattern is %v", zero)
	}
	if Colour(9).String() != "Colour(9)" {
		t.Error(Colour(9))
	}
}

// TestXTransIsOneArray: turned and mirrored it is X-Trans in another of 18 phases.
func TestXTransIsOneArray(t *testing.T) {
	phases := map[Pattern]bool{}
	for i := range 36 {
		phases[XTrans.Shift(i/6, i%6)] = true
	}
	for name, at := range map[string]func(y, x int) Colour{
		"turned":   func(y, x int) Colour { return XTrans.At(x, 5-y) },
		"mirrored": func(y, x int) Colour { return XTrans.At(y, 5-x) },
	} {
		if p := pack(6, 6, at); !p.XTrans() || !phases[p] {
			t.Errorf("%s it is %v", name, p)
		}
	}
	if len(phases) != 18 || quadRGGB.XTrans() || XTrans.Quad() || XTrans.Bayer() {
		t.Errorf("%d phases", len(phases))
	}
}

// TestSmallestPeriod: a pattern that is written more than once is the same pattern.
func TestSmallestPeriod(t *testing.T) {
	var filters []Colour
	for i := range 64 {
		filters = append(filters, GBRG.At(i/8, i%8))
	}
	if p, err := NewPattern(8, 8, filters); err != nil || p != GBRG {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := NewPattern(3, 2, make([]Colour, 6)); err != nil || p != Mono {
		t.Errorf("red alone: %v, %v", p, err)
	}
	if p, err := NewPattern(1, 3, []Colour{0, 1, 3}); err == nil {
		t.Errorf("colour 3: %v", p)
	}
}

// FuzzParsePattern: what is read is printed as it is read.
func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"RGGB", "quad-GBRG", "xtrans", "mono", "3x2:RGGBBG", "8X1:RRRRGGBB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		if q, err := ParsePattern(p.String()); err != nil || q != p {
			t.Fatalf("%q is %v, read again %v, %v", s, p, q, err)
		}
		for i := range 2 * MaxPeriod {
			if p.At(i, 3*i) != p.At(i+p.Rows(), 3*i+5*p.Cols()) {
				t.Fatalf("%v does not repeat", p)
			}
		}
	})
}
