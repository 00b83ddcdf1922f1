package dng

import (
	"errors"
	"math"
	"strings"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// TestMaskedBlack measures the black level where the file states none, by place from
// the active area's odd corner, after the linearization table.
func TestMaskedBlack(t *testing.T) {
	s := spec(40, 300, 12)
	s.ActiveArea = mosaic.Rect{X0: 9, Y0: 3, X1: 40, Y1: 300}
	for i := range 4096 {
		s.Linearization = append(s.Linearization, uint16(2*i))
	}
	for y := range 300 {
		for x := range 8 {
			s.Samples[y*40+x] = uint16(100 + 10*((y+1)%2) + (x+1)%2) // places count from row 3, column 9
		}
	}
	areas := []uint32{0, 0, 300, 8}
	s.Edit = func(_, raw *tiff.Dir) { raw.Longs(tagMaskedAreas, areas...) }
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	m := im.Meta
	for k, want := range []float32{200, 202, 220, 222} {
		if got := m.BlackAt(k/2, k%2); math.Abs(float64(got-want)) > 0.01 {
			t.Errorf("black of place %d is %g, want %g", k, got, want)
		}
	}
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "masked areas") {
		t.Errorf("%q", m.Warnings)
	}
	areas = []uint32{0, 0, 301, 8}
	var fe *rawerr.FormatError
	if _, err := openBytes(write(t, s)); !errors.As(err, &fe) || !strings.Contains(err.Error(), "MaskedAreas") {
		t.Errorf("outside the image: %v", err)
	}
	areas = []uint32{0, 0, 1, 1}
	if im, err = openBytes(write(t, s)); err != nil || im.Meta.BlackAt(0, 0) != 0 || len(im.Meta.Warnings) != 1 {
		t.Errorf("one sample: %v", err)
	}
	// A stated level counts.
	areas = []uint32{0, 0, 300, 8}
	s.Meta.SetBlack(50)
	if im, err = openBytes(write(t, s)); err != nil || im.Meta.BlackAt(0, 0) != 50 {
		t.Errorf("stated: %v", err)
	}
}
