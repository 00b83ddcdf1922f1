package dcp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// whole is a profile that has everything.
func whole() *mosaic.Profile {
	table := func(h, s, v int, srgb bool) *mosaic.HueSatMap {
		t := &mosaic.HueSatMap{Hues: h, Saturations: s, Values: v, SRGBValues: srgb}
		for i := range h * s * v {
			t.Deltas = append(t.Deltas, [3]float32{float32(i%7 - 3), 1 + float32(i%5)/16, 1 - float32(i%3)/16})
		}
		return t
	}
	matrix := func(d float64) *[3][3]float64 { return &[3][3]float64{{d, 0.1, -0.2}, {0, 1, 0.25}, {0.5, 0, d}} }
	return &mosaic.Profile{Name: "Test Standard", Copyright: "nobody", Camera: "Maker Model 1", Signature: "com.test",
		ColorMatrix1: matrix(1), ColorMatrix2: matrix(0.75), ForwardMatrix1: matrix(0.5), ForwardMatrix2: matrix(0.25), Illuminant1: 255, Illuminant2: 21, IlluminantXY: [2]*[2]float64{{0.4375, 0.40625}, nil},
		HueSat1: table(6, 3, 2, true), HueSat2: table(6, 3, 2, true), Look: table(4, 2, 1, false),
		ToneCurve: [][2]float64{{0, 0}, {0.25, 0.375}, {1, 1}}, ExposureOffset: -0.25}
}

// TestRoundTrip: what is written is read, in both byte orders, by name and from memory.
func TestRoundTrip(t *testing.T) {
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		want := whole()
		path := filepath.Join(t.TempDir(), "a.dcp")
		if err := os.WriteFile(path, Encode(want, order), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: read %+v, wrote %+v", order, got, want)
		}
	}
	least := &mosaic.Profile{ColorMatrix1: whole().ColorMatrix1}
	if got, err := Parse(Encode(least, binary.LittleEndian)); err != nil || !reflect.DeepEqual(got, least) {
		t.Errorf("a profile of one matrix: %+v, %v", got, err)
	}
}

// TestDamaged: what cannot be is a format error that says what.
func TestDamaged(t *testing.T) {
	encoded := func(change func(p *mosaic.Profile)) []byte {
		p := whole()
		change(p)
		return Encode(p, binary.LittleEndian)
	}
	nan := float32(math.NaN())
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "not a .dcp file"},
		"a TIFF":          {[]byte("II*\x00\x08\x00\x00\x00\x00\x00"), "not a .dcp file"},
		"header only":     {[]byte("IIRC\x00\x00\x00\x00"), "no directory"},
		"cut short":       {encoded(func(*mosaic.Profile) {})[:400], "outside"},
		"no matrix":       {encoded(func(p *mosaic.Profile) { p.ColorMatrix1 = nil }), "no ColorMatrix1"},
		"a shift":         {encoded(func(p *mosaic.Profile) { p.HueSat1.Deltas[3][0] = 400 }), "entry 3 of ProfileHueSatMapData1"},
		"no number":       {encoded(func(p *mosaic.Profile) { p.Look.Deltas[1][1] = nan }), "entry 1 of ProfileLookTableData"},
		"negative factor": {encoded(func(p *mosaic.Profile) { p.Look.Deltas[1][2] = -1 }), "ProfileLookTableData"},
		"too few entries": {encoded(func(p *mosaic.Profile) { p.HueSat2.Deltas = p.HueSat2.Deltas[1:] }), "ProfileHueSatMapData2 has 105 numbers, want 3 for each of 36"},
		"one saturation":  {encoded(func(p *mosaic.Profile) { p.Look.Saturations = 1 }), "at least 2 saturations"},
		"huge":            {encoded(func(p *mosaic.Profile) { p.Look.Hues, p.Look.Values = 1<<20, 1<<20 }), "at most"},
		"curve back":      {encoded(func(p *mosaic.Profile) { p.ToneCurve = [][2]float64{{0, 0}, {0.5, 1}, {0.5, 0.5}, {1, 1}} }), "point 2 of ProfileToneCurve"},
		"curve from 0.1":  {encoded(func(p *mosaic.Profile) { p.ToneCurve[0][1] = 0.125 }), "from [0 0.125]"},
		"one point":       {encoded(func(p *mosaic.Profile) { p.ToneCurve = p.ToneCurve[:1] }), "at least 2 points"},
		"exposure":        {encoded(func(p *mosaic.Profile) { p.ExposureOffset = 100 }), "100 stops"},
	} {
		_, err := Parse(tt.file)
		var format *rawerr.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	path := filepath.Join(t.TempDir(), "large.dcp")
	if err := os.WriteFile(path, make([]byte, MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file: %v", err)
	}
}

// FuzzParse: any bytes are a profile that can be written and read again, or a format error,
// in bounded memory.
func FuzzParse(f *testing.F) {
	f.Add(Encode(whole(), binary.LittleEndian))
	f.Add(Encode(whole(), binary.BigEndian))
	f.Add(Encode(&mosaic.Profile{ColorMatrix1: whole().ColorMatrix1}, binary.LittleEndian))
	f.Add([]byte("IIRC\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := bytes.Clone(b)
		boundtest.Run(t, len(b), 1<<20, 64, func() {
			p, err := Parse(b)
			if err != nil {
				if !errors.As(err, new(*rawerr.FormatError)) {
					t.Fatalf("error %v of no known kind", err)
				}
				return
			}
			for _, table := range []*mosaic.HueSatMap{p.HueSat1, p.HueSat2, p.Look} {
				if table != nil && (len(table.Deltas) != table.Hues*table.Saturations*table.Values || table.Hues < 1 || table.Saturations < 2 || table.Values < 1) {
					t.Fatalf("a table of %dx%dx%d with %d entries", table.Hues, table.Saturations, table.Values, len(table.Deltas))
				}
			}
		})
		if !bytes.Equal(b, kept) {
			t.Fatal("the input was changed")
		}
	})
}
