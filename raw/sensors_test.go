package raw

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"enhance/raw/dng"
	"enhance/raw/libraw"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// sensor is a DNG of noise behind a filter array, with an active area that shifts it.
func sensor(p mosaic.Pattern) dng.Spec {
	const w, h = 90, 70
	active := Rect{X0: 7, Y0: 5, X1: 87, Y1: 66}
	s := dng.Spec{Width: w, Height: h, Bits: 14, Samples: make([]uint16, w*h), ActiveArea: active}
	s.Meta.CFA = p.Shift(active.Y0, active.X0)
	s.Meta.SetBlack(512)
	s.Meta.SetWhite(16000)
	for i := range s.Samples {
		s.Samples[i] = uint16(600 + rand.IntN(15000))
	}
	return s
}

// TestSensorThroughLibRaw: an X-Trans file gives the same pattern and samples by this
// project's reader and by LibRaw's, and so does a monochrome one where LibRaw reads it.
func TestSensorThroughLibRaw(t *testing.T) {
	opt := viaLibRaw(t)
	for _, p := range []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(2, 1)} {
		b := dngBytes(t, sensor(p))
		own, err := openBytes(b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "sensor.dng")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := libraw.Open(f, opt.LibRaw)
		if err != nil {
			t.Fatal(err)
		}
		m := own.Meta()
		if theirs.Meta.CFA != m.CFA || theirs.Meta.Width != m.Width || theirs.Meta.Height != m.Height {
			t.Errorf("%v, %dx%d; LibRaw has %v, %dx%d", m.CFA, m.Width, m.Height, theirs.Meta.CFA, theirs.Meta.Width, theirs.Meta.Height)
		}
		rows := make([]uint16, m.Width*m.Height)
		if err := theirs.ReadRows(0, m.Height, rows); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rows, readAll(t, own)) {
			t.Error("the samples differ")
		}
		if err := theirs.Close(); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

// TestGainsByColour: gain maps of OpcodeList3, one for each colour, brighten the samples
// of that colour in arrays of every kind.
func TestGainsByColour(t *testing.T) {
	for _, name := range []string{"GBRG", "xtrans", "quad-BGGR", "3x5:RGBGGGBRGGBGGRG"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		s := sensor(p)
		for c := range uint32(3) {
			g := &opcode.GainMap{Area: opcode.Area{Bottom: 61, Right: 80, Plane: c, Planes: 1, RowPitch: 1, ColPitch: 1},
				PointsV: 1, PointsH: 1, SpacingV: 1, SpacingH: 1, Planes: 1, Gains: []float32{1 - 0.2*float32(c)}}
			s.Opcodes[2] = append(s.Opcodes[2], opcode.Operation{ID: opcode.GainMapID, Version: [4]byte{1, 3}, Params: g})
		}
		corrected, err := openBytes(dngBytes(t, s), Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := corrected.Meta()
		line := make([]float32, m.Width)
		for y, row := range slices.Collect(slices.Chunk(readAll(t, corrected), m.Width)) {
			corrected.Normalise(y, 0, row, line)
			for x, v := range line {
				c := m.CFA.At(y, x)
				stored := s.Samples[(y+s.ActiveArea.Y0)*s.Width+x+s.ActiveArea.X0]
				want := float32(stored-512) / (16000 - 512) * (1 - 0.2*float32(c))
				if d := v - want; d > 1e-4 || d < -1e-4 {
					t.Fatalf("%s: %v at %d, %d is %g, want %g", name, c, y, x, v, want)
				}
			}
		}
	}
}

// TestRepairsOfOtherArrays: bad samples of lists 1 and 2 are interpolated from those of
// their colour behind every array, whatever its phase in the active area.
func TestRepairsOfOtherArrays(t *testing.T) {
	for _, name := range []string{"xtrans", "quad-BGGR", "mono", "3x5:RGBGGGBRGGBGGRG"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		for list := range 2 {
			s := sensor(p)
			light := func(y, x int) uint16 { // slopes, of other light in each colour
				return uint16(2000 + 3000*int(p.At(y, x)) + 20*x + 10*y)
			}
			for i := range s.Samples {
				s.Samples[i] = light(i/s.Width, i%s.Width)
			}
			bad := &opcode.BadList{}
			for k := range 20 {
				y, x := 12+rand.IntN(48), 14+rand.IntN(66)
				s.Samples[y*s.Width+x] = uint16(k % 2 * 16000)
				at := opcode.Point{Row: uint32(y), Column: uint32(x)}
				if list == 1 { // counts from the active area's corner
					at.Row, at.Column = at.Row-uint32(s.ActiveArea.Y0), at.Column-uint32(s.ActiveArea.X0)
				}
				bad.Points = append(bad.Points, at)
			}
			s.Opcodes[list] = []opcode.Operation{{ID: opcode.BadListID, Params: bad}}
			photo, err := openBytes(dngBytes(t, s), Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, line := photo.Meta(), make([]float32, s.ActiveArea.Width())
			for y, row := range slices.Collect(slices.Chunk(readAll(t, photo), m.Width)) {
				photo.Normalise(y, 0, row, line)
				for x, v := range line {
					want := (float32(light(y+s.ActiveArea.Y0, x+s.ActiveArea.X0)) - 512) / (16000 - 512)
					if d := v - want; d > 0.004 || d < -0.004 {
						t.Errorf("%s, list %d: row %d, column %d is %g, want %g", name, list+1, y, x, v, want)
					}
				}
			}
		}
	}
}
