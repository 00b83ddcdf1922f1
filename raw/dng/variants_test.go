package dng

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// scene gives w*h samples of the given bits: a slope with noise and extremes.
func scene(w, h, bits int) []uint16 {
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	top := 1<<bits - 1
	out := make([]uint16, w*h)
	for i := range out {
		v := top/4 + (i%w)*3 + (i/w)*5 + r.IntN(1+top/32)
		if r.IntN(30) == 0 {
			v = r.IntN(2) * top
		}
		out[i] = uint16(min(v, top))
	}
	return out
}

// spec is a plain Spec of the given size and depth.
func spec(w, h, bits int) Spec {
	return Spec{Width: w, Height: h, Bits: bits, Samples: scene(w, h, bits),
		Meta: mosaic.Meta{CFA: mosaic.RGGB, Make: "Maker", Model: "Model 1"}}
}

// variant is a named way of storing an image.
type variant struct {
	name string
	spec Spec
}

// variants is every way of storing that Write knows, in small.
func variants() []variant {
	var out []variant
	add := func(name string, s Spec) { out = append(out, variant{name, s}) }
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		for _, bits := range []int{8, 9, 10, 12, 14, 16} {
			s := spec(21, 13, bits)
			s.Order = order
			add(fmt.Sprintf("%v %d-bit strip", order, bits), s)
			s.RowsPerStrip = 5
			add(fmt.Sprintf("%v %d-bit strips", order, bits), s)
			s.TileWidth, s.TileHeight = 16, 8
			add(fmt.Sprintf("%v %d-bit tiles", order, bits), s)
			s.InSubIFD, s.Big = true, true
			add(fmt.Sprintf("%v %d-bit BigTIFF SubIFD", order, bits), s)
		}
	}
	for predictor := 1; predictor <= 7; predictor++ {
		for _, comps := range []int{1, 2, 4} {
			s := spec(36, 27, 14)
			s.JPEG = &JPEG{Predictor: predictor, Components: comps}
			add(fmt.Sprintf("jpeg strip predictor %d components %d", predictor, comps), s)
			s.RowsPerStrip = 6
			s.JPEG = &JPEG{Predictor: predictor, Components: comps, RestartRows: 2}
			add(fmt.Sprintf("jpeg strips predictor %d components %d restarts", predictor, comps), s)
			s.TileWidth, s.TileHeight = 16, 8
			add(fmt.Sprintf("jpeg tiles predictor %d components %d restarts", predictor, comps), s)
		}
	}
	s := spec(32, 24, 12)
	s.JPEG, s.TileWidth, s.TileHeight = &JPEG{Components: 2, Fold: 2}, 16, 8
	add("jpeg tiles folded", s)
	s = spec(32, 24, 12)
	s.JPEG = &JPEG{Components: 1, Fold: 2}
	add("jpeg strip folded", s)
	for _, size := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {3, 3}, {2, 2}} {
		s := spec(size[0], size[1], 12)
		add(fmt.Sprintf("%dx%d", size[0], size[1]), s)
		s.JPEG = &JPEG{}
		add(fmt.Sprintf("jpeg %dx%d", size[0], size[1]), s)
		s.TileWidth, s.TileHeight = 16, 16
		add(fmt.Sprintf("jpeg tile %dx%d", size[0], size[1]), s)
	}
	return out
}

func write(t testing.TB, s Spec) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func openBytes(b []byte) (*Image, error) { return Open(bytes.NewReader(b), int64(len(b))) }
