package raw

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// shaded is a photo of an even grey wall through a lens that darkens by field, with
// the gain maps that undo it: one for each place of the filter array, as phones
// write them, or one for each colour in list 3, as drones do.
func shaded(field func(v, u float64, c mosaic.Colour) float64, list3 bool) dng.Spec {
	const w, h, pointsV, pointsH = 200, 150, 31, 41
	s := dng.Spec{Width: w, Height: h, Bits: 14, Samples: make([]uint16, w*h), Meta: Meta{CFA: mosaic.GRBG}}
	s.Meta.SetBlack(512)
	s.Meta.SetWhite(16000)
	grey := [3]float64{0.3, 0.6, 0.4}
	for y := range h {
		for x := range w {
			c := s.Meta.CFA.At(y, x)
			light := grey[c] / field((float64(y)+0.5)/h, (float64(x)+0.5)/w, c)
			s.Samples[y*w+x] = uint16(512 + light*(16000-512) + 0.5)
		}
	}
	gainMap := func(area opcode.Area, c mosaic.Colour) opcode.Operation {
		g := &opcode.GainMap{Area: area, PointsV: pointsV, PointsH: pointsH, SpacingV: 1.0 / (pointsV - 1), SpacingH: 1.0 / (pointsH - 1), Planes: 1}
		for i := range pointsV {
			for j := range pointsH {
				g.Gains = append(g.Gains, float32(field(float64(i)/(pointsV-1), float64(j)/(pointsH-1), c)))
			}
		}
		return opcode.Operation{ID: opcode.GainMapID, Version: [4]byte{1, 3}, Optional: true, Params: g}
	}
	for k := range 4 {
		c := s.Meta.CFA.At(k/2, k%2)
		if !list3 {
			s.Opcodes[1] = append(s.Opcodes[1], gainMap(opcode.Area{Top: uint32(k / 2), Left: uint32(k % 2), Bottom: h, Right: w, Planes: 1, RowPitch: 2, ColPitch: 2}, c))
		} else if k < 3 {
			s.Opcodes[2] = append(s.Opcodes[2], gainMap(opcode.Area{Bottom: h, Right: w, Plane: uint32(k), Planes: 1, RowPitch: 1, ColPitch: 1}, mosaic.Colour(k)))
		}
	}
	return s
}

// TestShadedWallComesOutFlat holds every sample within 0.5 % of the wall's.
func TestShadedWallComesOutFlat(t *testing.T) {
	field := func(v, u float64, c mosaic.Colour) float64 {
		r2 := (v-0.5)*(v-0.5) + (u-0.45)*(u-0.45)
		return 1 + (1.5+0.25*float64(c))*r2 + 0.3*u*v
	}
	for _, list3 := range []bool{false, true} {
		p, err := openBytes(dngBytes(t, shaded(field, list3)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := p.Meta()
		if len(m.Warnings) > 0 || m.BitDepth != 16 {
			t.Errorf("list 3 %v: %d bits, %q", list3, m.BitDepth, m.Warnings)
		}
		grey := [3]float64{0.3, 0.6, 0.4}
		line, worst := make([]float32, m.Width), 0.0
		for i, row := range slices.Collect(slices.Chunk(readAll(t, p), m.Width)) {
			p.Normalise(i, 0, row, line)
			for x, v := range line {
				want := grey[m.CFA.At(i, x)]
				worst = max(worst, math.Abs(float64(v)/want-1))
			}
		}
		if worst > 0.005 {
			t.Errorf("list 3 %v: %.2f %% from flat", list3, 100*worst)
		}
		t.Logf("list 3 %v: at most %.3f %% from flat", list3, 100*worst)
	}
}

// TestGainsTellTheFactors compares the factors with what the wall's samples show.
func TestGainsTellTheFactors(t *testing.T) {
	field := func(v, u float64, c mosaic.Colour) float64 { return 1 + v + 2*u*float64(c) }
	for _, list3 := range []bool{false, true} {
		s := shaded(field, list3)
		s.Opcodes[1] = append(s.Opcodes[1], opcode.Operation{ID: opcode.MapPolynomialID, Params: &opcode.MapPolynomial{Coefficients: []float64{0, 0.5},
			Area: opcode.Area{Bottom: 150, Right: 200, Planes: 1, RowPitch: 1, ColPitch: 1}}})
		p, err := openBytes(dngBytes(t, s), Options{})
		if err != nil {
			t.Fatal(err)
		}
		gains, dst := p.Gains(), make([]float32, 100)
		for y := 0; y < 150; y += 13 {
			gains(y, 51, dst)
			for i, g := range dst {
				want := field((float64(y)+0.5)/150, (51.5+float64(i))/200, s.Meta.CFA.At(y, 51+i))
				if math.Abs(float64(g)/want-1) > 1e-3 {
					t.Fatalf("list 3 %v: row %d, column %d: factor %g, want %g", list3, y, 51+i, g, want)
				}
			}
		}
	}
	p, err := openBytes(dngBytes(t, smallSpec()), Options{})
	if err != nil || p.Gains() != nil {
		t.Errorf("factors of a photo without gain maps (%v)", err)
	}
}

// TestCorrectedKeepsBlack holds that corrected samples keep the share of black of
// their scale, noise below it, and unequal white levels.
func TestCorrectedKeepsBlack(t *testing.T) {
	s := smallSpec()
	s.Meta.BlackRows, s.Meta.BlackCols, s.Meta.Black = 2, 2, []float32{250, 260, 240, 250}
	s.Meta.White = [3]float32{4000, 4000, 4000}
	for i := range s.Samples {
		s.Samples[i] = uint16(rand.IntN(4096))
	}
	one := opcode.Area{Bottom: 4, Right: 6, Planes: 1, RowPitch: 1, ColPitch: 1}
	plain, err := openBytes(dngBytes(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Opcodes[1] = []opcode.Operation{{ID: opcode.MapPolynomialID, Params: &opcode.MapPolynomial{Area: one, Coefficients: []float64{0, 1}}}}
	p, err := openBytes(dngBytes(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Meta()
	if b := float64(m.BlackAt(0, 0) / m.White[1]); math.Abs(b-250.0/4000) > 1e-4 || m.White[0] != 65535 {
		t.Errorf("black %g, white %v", m.BlackAt(0, 0), m.White)
	}
	got, want := readAll(t, p), readAll(t, plain)
	a, b := make([]float32, 6), make([]float32, 6)
	for y := range 4 {
		p.Normalise(y, 0, got[6*y:][:6], a)
		plain.Normalise(y, 0, want[6*y:][:6], b)
		for x := range a {
			w := min(max(b[x], -float32(250.0/3750)), 1)
			if math.Abs(float64(a[x]-w)) > 1e-4 {
				t.Errorf("row %d, column %d: %g, want %g", y, x, a[x], w)
			}
		}
	}
}

// TestLevelsOptionsMeetOpcodes gives black and white by option: they are of the
// stored samples, before the correction.
func TestLevelsOptionsMeetOpcodes(t *testing.T) {
	s := smallSpec()
	double := &opcode.PerLine{Area: opcode.Area{Bottom: 4, Right: 6, Planes: 1, RowPitch: 4, ColPitch: 1}, Scale: true, Values: []float32{2}}
	s.Opcodes[1] = []opcode.Operation{{ID: opcode.ScalePerRowID, Params: double}}
	p, err := openBytes(dngBytes(t, s), Options{Black: ptr(100.0), White: ptr(1100.0)})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]float32, 6)
	p.Normalise(0, 0, readAll(t, p)[:6], line)
	for x, want := range []float32{-0.1, 0, 0.2, 0.4, 0.6, 0.8} {
		if math.Abs(float64(line[x]-want)) > 1e-4 && x > 0 {
			t.Errorf("column %d: %g, want %g", x, line[x], want)
		}
	}
}

// TestFirstListIsForStoredSamples puts a table before LinearizationTable, and bad
// samples outside and at the edge of the active area.
func TestFirstListIsForStoredSamples(t *testing.T) {
	s := smallSpec()
	s.ActiveArea = Rect{X0: 2, Y0: 0, X1: 6, Y1: 4}
	s.Linearization = make([]uint16, 4096)
	for i := range s.Linearization {
		s.Linearization[i] = uint16(65535 - 3*i)
	}
	for i := range s.Samples {
		s.Samples[i] = 1000
	}
	s.Samples[6+3] = 0 // bad
	s.Samples[6+2] = 77
	table := make([]uint16, 4096)
	for i := range table {
		table[i] = uint16(i / 2)
	}
	whole := opcode.Area{Bottom: 4, Right: 6, Planes: 1, RowPitch: 1, ColPitch: 1}
	s.Opcodes[0] = []opcode.Operation{
		{ID: opcode.BadConstantID, Params: &opcode.BadConstant{Constant: 0, Phase: 0}},
		{ID: opcode.BadListID, Params: &opcode.BadList{Points: []opcode.Point{{Row: 1, Column: 2}}}},
		{ID: opcode.MapTableID, Params: &opcode.MapTable{Area: whole, Table: table}},
	}
	p, err := openBytes(dngBytes(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range readAll(t, p) {
		if want := uint16(65535 - 3*500); v != want {
			t.Errorf("sample %d is %d, want %d", i, v, want)
		}
	}
}

func TestTrimBoundsCutTheCrop(t *testing.T) {
	s := smallSpec()
	s.ActiveArea = Rect{X0: 2, Y0: 0, X1: 6, Y1: 4}
	s.Opcodes[0] = []opcode.Operation{{ID: opcode.TrimBoundsID, Params: &opcode.TrimBounds{Top: 0, Left: 3, Bottom: 4, Right: 6}}}
	s.Opcodes[1] = []opcode.Operation{{ID: opcode.TrimBoundsID, Params: &opcode.TrimBounds{Top: 1, Left: 0, Bottom: 3, Right: 4}}}
	p, err := openBytes(dngBytes(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Meta().Crop; c != (Rect{X0: 1, Y0: 1, X1: 4, Y1: 3}) {
		t.Errorf("crop %v", c)
	}
	var fe *FormatError
	s.Meta.Crop = Rect{X0: 0, Y0: 0, X1: 1, Y1: 1}
	if _, err := openBytes(dngBytes(t, s), Options{}); !errors.As(err, &fe) {
		t.Errorf("nothing left: %v", err)
	}
}

// TestUnknownOpcodes are skipped with a word about them, or refused by name.
func TestUnknownOpcodes(t *testing.T) {
	s := smallSpec()
	s.Opcodes[1] = []opcode.Operation{{ID: 77, Optional: true}}
	p, err := openBytes(dngBytes(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := p.Meta().Warnings; len(w) != 1 || !strings.Contains(w[0], "opcode 77 in OpcodeList2") {
		t.Errorf("%q", w)
	}
	s.Opcodes[1][0].Optional = false
	var ue *UnsupportedError
	if _, err := openBytes(dngBytes(t, s), Options{}); !errors.As(err, &ue) || !strings.Contains(err.Error(), "opcode 77 in OpcodeList2") {
		t.Errorf("%v", err)
	}
}

// TestGoProGainMaps applies the gain maps of a real camera to an even field.
func TestGoProGainMaps(t *testing.T) {
	b, err := os.ReadFile("opcode/testdata/gopro-hero7-list2.bin")
	if err != nil {
		t.Fatal(err)
	}
	list, err := opcode.Parse(b, "list 2")
	if err != nil {
		t.Fatal(err)
	}
	const w, h = 4000, 64 // the maps are for 3000 rows: the first 64 of them
	s := dng.Spec{Width: w, Height: h, Samples: make([]uint16, w*h), Meta: Meta{CFA: mosaic.RGGB}}
	for i := range s.Samples {
		s.Samples[i] = 20000
	}
	s.Opcodes[1] = list
	p, err := openBytes(dngBytes(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := readAll(t, p)
	first := list[0].Params.(*opcode.GainMap)
	part := float32(0.5 / h * 22) // of the way to the second grid row
	if want := 20000 * float64(first.Gains[0]+(first.Gains[first.PointsH]-first.Gains[0])*part); math.Abs(float64(all[0])/want-1) > 0.002 {
		t.Errorf("corner %d, want about %.0f", all[0], want)
	}
	if middle := all[h/2*w+w/2]; middle >= all[h/2*w] || middle < 20000 {
		t.Errorf("centre %d, edge %d: the edge is to be brightened more", middle, all[h/2*w])
	}
}

// BenchmarkCorrected reads rows with the gain maps of a real camera, and without.
func BenchmarkCorrected(b *testing.B) {
	bytes, err := os.ReadFile("opcode/testdata/gopro-hero7-list2.bin")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"plain", "gain maps"} {
		b.Run(name, func(b *testing.B) {
			const w, h = 4000, 512
			s := dng.Spec{Width: w, Height: h, Bits: 14, Samples: make([]uint16, w*h), Meta: Meta{CFA: mosaic.RGGB}}
			if name != "plain" {
				if s.Opcodes[1], err = opcode.Parse(bytes, "list 2"); err != nil {
					b.Fatal(err)
				}
			}
			p, err := openBytes(dngBytes(b, s), Options{})
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]uint16, 64*w)
			for b.Loop() {
				for y := 0; y < h; y += 64 {
					if err := p.ReadRows(y, 64, dst); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(w*h*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
		})
	}
}
