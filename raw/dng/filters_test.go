package dng

import (
	"math"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// TestFilterArrays writes and reads arrays of every kind.
func TestFilterArrays(t *testing.T) {
	for _, name := range []string{"xtrans", "quad-GRBG", "BGGR", "mono", "3x5:RGBGGGBRGGBGGRG", "8x8:RGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGBGGGGGGGGGGGGGGGGGGGGGGGGGGG"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		s := spec(20, 17, 12)
		s.Meta.CFA = p
		im, err := openBytes(write(t, s))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if im.Meta.CFA != p || im.Meta.Linear {
			t.Errorf("%s: read as %v", name, im.Meta.CFA)
		}
		checkRows(t, im, s.Samples)
	}
}

// TestPatternOfPatterns: a file may write a pattern more than once.
func TestPatternOfPatterns(t *testing.T) {
	s := spec(8, 8, 12)
	s.Edit = func(_, raw *tiff.Dir) {
		raw.Shorts(tagCFARepeatPatternDim, 2, 4)
		raw.Bytes(tagCFAPattern, 2, 1, 2, 1, 1, 0, 1, 0)
	}
	if im, err := openBytes(write(t, s)); err != nil || im.Meta.CFA != mosaic.BGGR {
		t.Errorf("%v", err)
	}
}

// TestGrayMosaic: a DNG whose only full-size image is 16-bit gray is monochrome; one of
// 8 bits is a preview.
func TestGrayMosaic(t *testing.T) {
	s := spec(8, 8, 16)
	s.Edit = func(_, raw *tiff.Dir) { raw.Shorts(tagPhotometric, photoBlackIsZero) }
	im, err := openBytes(write(t, s))
	if err != nil || im.Meta.CFA != mosaic.Mono {
		t.Errorf("%v", err)
	}
	s = spec(8, 8, 8)
	s.Edit = func(_, raw *tiff.Dir) { raw.Shorts(tagPhotometric, photoBlackIsZero) }
	if _, err := openBytes(write(t, s)); err == nil {
		t.Error("a gray preview is taken for a photo")
	}
}

// TestMonochromeFacts: colour facts of a sensor without colours are left alone.
func TestMonochromeFacts(t *testing.T) {
	s := spec(8, 8, 12)
	s.Meta.CFA, s.Meta.BaselineExposure = mosaic.Mono, 0.5
	s.Edit = func(first, _ *tiff.Dir) { first.URationals(tagAsShotNeutral, 1) }
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if m := im.Meta; m.BaselineExposure != 0.5 || m.AsShot != nil || m.AnalogBalance != [3]float64{1, 1, 1} {
		t.Errorf("%+v", m)
	}
}

// TestMaskedXTrans measures the black level by place in a 6x6 array.
func TestMaskedXTrans(t *testing.T) {
	s := spec(40, 60, 12)
	s.Meta.CFA = mosaic.XTrans
	s.ActiveArea = mosaic.Rect{X0: 20, Y0: 1, X1: 40, Y1: 60}
	level := func(y, x int) uint16 { return uint16(100 + 10*(y%6) + x%6) } // from the active area's corner
	for y := range 60 {
		for x := range 20 {
			s.Samples[y*40+x] = level(y-1+6, x-20+24)
		}
	}
	s.Edit = func(_, raw *tiff.Dir) { raw.Longs(tagMaskedAreas, 0, 0, 60, 18) }
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for y := range 12 {
		for x := range 12 {
			if got, want := im.Meta.BlackAt(y, x), float64(level(y, x)); math.Abs(float64(got)-want) > 1e-4 {
				t.Fatalf("black at %d, %d is %g, want %g", y, x, got, want)
			}
		}
	}
}
