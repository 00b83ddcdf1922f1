package libraw

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// someFacts are those of a sound photo.
func someFacts() facts {
	return facts{Version: "0.21.2", RawWidth: 100, RawHeight: 80, Width: 90, Height: 70, Left: 6, Top: 4, PixelAspect: 1, Images: 1,
		Colors: 3, Filters: 0xb4b4b4b4, Letters: "RGBG", Black: 60, CellBlack: []uint32{1, 2, 3, 4, 0, 0}, Maximum: 4095,
		CamMul: [4]float64{2, 1, 1.5, 1}, Make: "Maker", Model: "Model", ISO: 100, Timestamp: 1e9}
}

// TestFacts: black levels by kind, the pattern, white balance, orientation and time.
func TestFacts(t *testing.T) {
	f := someFacts()
	m, err := f.meta()
	if err != nil {
		t.Fatal(err)
	}
	if m.CFA != mosaic.RGGB || m.DateTime != "2001:09:09 01:46:40" || *m.AsShot != [3]float64{0.5, 1, 1 / 1.5} || m.BitDepth != 12 {
		t.Errorf("%+v", m)
	}
	// Filters 0 to 3 are red, green, blue, and the green of blue's rows.
	for i, want := range []float32{61, 62, 64, 63} {
		if got := m.BlackAt(i/2, i%2); got != want {
			t.Errorf("black of cell %d is %g, want %g", i, got, want)
		}
	}
	f.CellBlack = []uint32{0, 0, 0, 0, 1, 3, 10, 20, 30} // a row of three columns
	if m, err = f.meta(); err != nil {
		t.Fatal(err)
	}
	for x := range 12 {
		if got, want := m.BlackAt(x&1, x), float32(70+10*(x%3)); got != want {
			t.Errorf("black of column %d is %g, want %g", x, got, want)
		}
	}
	for flip, want := range map[int]int{0: 1, 3: 3, 5: 8, 6: 6} {
		f.Flip = flip
		if got := f.orientation(); got != want {
			t.Errorf("flip %d is orientation %d, want %d", flip, got, want)
		}
	}
}

// TestSensors: arrays that are not Bayer's, and none.
func TestSensors(t *testing.T) {
	xtrans := func(f *facts) {
		f.Filters = 9
		for i := range f.XTrans {
			f.XTrans[i] = uint8(mosaic.XTrans.Shift(1, 2).At(i/6, i%6))
		}
	}
	for name, c := range map[string]struct {
		edit func(f *facts)
		want mosaic.Pattern
	}{
		"X-Trans":    {xtrans, mosaic.XTrans.Shift(1, 2)},
		"monochrome": {func(f *facts) { f.Filters, f.Colors = 0, 1 }, mosaic.Mono},
	} {
		f := someFacts()
		c.edit(&f)
		m, err := f.meta()
		if err != nil || m.CFA != c.want {
			t.Errorf("%s: %v, %v", name, m.CFA, err)
			continue
		}
		for y := range 12 {
			for x := range 12 {
				want := float32(60 + f.CellBlack[f.index(y, x)])
				if got := m.BlackAt(y, x); got != want {
					t.Fatalf("%s: black at %d, %d is %g, want %g", name, y, x, got, want)
				}
			}
		}
	}
	f := someFacts()
	xtrans(&f)
	f.XTrans[7] = 4
	if err := f.check(1 << 20); err == nil {
		t.Error("a filter of number 4 is believed")
	}
}

// TestRefusedByName: sensors that are not read.
func TestRefusedByName(t *testing.T) {
	for want, edit := range map[string]func(f *facts){
		"Foveon":         func(f *facts) { f.Foveon = true },
		"Super CCD":      func(f *facts) { f.FujiWidth = 10 },
		"16x16":          func(f *facts) { f.Filters = 1 },
		"sRAW":           func(f *facts) { f.Filters = 0 },
		`"GMCY"`:         func(f *facts) { f.Letters = "GMCY" },
		"has not red":    func(f *facts) { f.Filters = math.MaxUint32 },
		`filters ""`:     func(f *facts) { f.Letters = "" },
		"filters \"RG\"": func(f *facts) { f.Letters = "RG" },
	} {
		f := someFacts()
		edit(&f)
		_, err := f.meta()
		var refused *rawerr.UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestImpossibleFacts: sizes that cannot be.
func TestImpossibleFacts(t *testing.T) {
	for want, edit := range map[string]func(f *facts){
		"0x80":          func(f *facts) { f.RawWidth = 0 },
		"70000":         func(f *facts) { f.RawHeight = 70000 },
		"cannot be in":  func(f *facts) { f.RawWidth, f.RawHeight = 65535, 65535 },
		"not within":    func(f *facts) { f.Left = 11 },
		"at 6, -1":      func(f *facts) { f.Top = -1 },
		"5 black":       func(f *facts) { f.CellBlack = make([]uint32, 5) },
		"7 black":       func(f *facts) { f.CellBlack = make([]uint32, 7) },
		"5000 black":    func(f *facts) { f.CellBlack = make([]uint32, 5000) },
		"6 black level": func(f *facts) { f.CellBlack = []uint32{0, 0, 0, 0, math.MaxUint32, math.MaxUint32} },
	} {
		f := someFacts()
		edit(&f)
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = parseFacts(text, 10000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// FuzzFacts: whatever a process says is refused or can be used.
func FuzzFacts(f *testing.F) {
	for _, edit := range []func(*facts){func(*facts) {}, func(f *facts) { f.DNG = true }, func(f *facts) { f.CellBlack = []uint32{0, 0, 0, 0, 1, 1, 9} },
		func(f *facts) { f.Filters = 9; f.XTrans = [36]uint8{1: 1, 2: 2} }} {
		one := someFacts()
		edit(&one)
		text, err := json.Marshal(one)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p *facts
		var err error
		boundtest.Run(t, len(text), 1<<20, 200, func() { p, err = parseFacts(text, 10000) })
		if err != nil {
			return
		}
		m, err := p.meta()
		if err != nil || m.CheckLevels() != nil {
			return
		}
		row, out := make([]uint16, m.Width), make([]float32, m.Width)
		m.Normalise(m.Height-1, 0, row, out)
	})
}

// FuzzFrames: frames are whole or refused, and need no more room than there is.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{'I', 2, 0, 0, 0, '{', '}'})
	f.Add([]byte{'R', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		room := make([]byte, 16)
		k, payload, err := readFrame(bytes.NewReader(b), room)
		if err == nil && (byte(k) != b[0] || !bytes.Equal(payload, b[headerBytes:][:len(payload)])) {
			t.Errorf("%v became %c %v", b, k, payload)
		}
	})
}

// FuzzSnapshot: a struct of any content becomes facts that can be sent.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte{0}, uint32(1))
	f.Add([]byte{0xff, 0x7f, 0xc0, 3}, uint32(7))
	f.Fuzz(func(t *testing.T, pattern []byte, step uint32) {
		if len(pattern) == 0 {
			return
		}
		for _, l := range layouts {
			s := make(snapshot, l.size)
			for i := range s {
				s[i] = pattern[(uint32(i)*step)%uint32(len(pattern))]
			}
			if _, err := json.Marshal(s.facts(&l)); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestHugeBlackCell: a cell of black levels that no camera has is nonsense of the
// process, and as such an error about the photo.
func TestHugeBlackCell(t *testing.T) {
	f := someFacts()
	f.CellBlack = make([]uint32, 6+63*63)
	f.CellBlack[4], f.CellBlack[5] = 63, 63
	if _, err := f.meta(); !errors.As(err, new(*nonsense)) {
		t.Errorf("%v, want nonsense", err)
	}
}
