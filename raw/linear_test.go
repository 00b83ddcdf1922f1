package raw

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/raw/dng"
	"enhance/raw/opcode"
)

func TestLinearIsAskedFor(t *testing.T) {
	b := dngBytes(t, linearSpecs()[0])
	var ue *UnsupportedError
	if _, err := openBytes(b, Options{}); !errors.As(err, &ue) || !strings.Contains(err.Error(), "linear (demosaiced) DNG") {
		t.Errorf("without Options.Linear: %v", err)
	}
	p, err := openBytes(b, Options{Linear: true, WB: &[3]float64{2, 1, 4}})
	if err != nil {
		t.Fatal(err)
	}
	if m := p.Meta(); !m.Linear || m.AsShot == nil || m.AsShot[2] != 0.25 {
		t.Errorf("%+v", m)
	}
	if err := p.ReadRows(0, 1, make([]uint16, 6)); err == nil {
		t.Error("mosaic rows of a linear photo")
	}
	for _, opt := range []Options{{CFA: pattern(t, "RGGB")}, {Black: ptr(1.0)}, {White: ptr(1.0)}} {
		opt.Linear = true
		var oe *OptionError
		if _, err := openBytes(b, opt); !errors.As(err, &oe) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	mosaic, err := openBytes(dngBytes(t, smallSpec()), Options{Linear: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := mosaic.ReadLinear(0, 1, make([]float32, 18)); err == nil {
		t.Error("linear rows of a mosaic")
	}
	for _, r := range [][2]int{{-1, 1}, {0, 5}, {4, 1}, {1 << 62, 1 << 62}} {
		if err := p.ReadLinear(r[0], r[1], make([]float32, 100)); err == nil {
			t.Errorf("rows from %d, %d of them: no error", r[0], r[1])
		}
	}
}

// TestLinearOpcodes applies lists 2 and 3 up to the warp, in their order.
func TestLinearOpcodes(t *testing.T) {
	const w, h = 31, 23
	s := dng.Spec{Width: w, Height: h, Linear: true, Samples: make([]uint16, 3*w*h)}
	for i := range s.Samples {
		s.Samples[i] = uint16(rand.IntN(1 << 16))
	}
	green := opcode.Area{Bottom: h, Right: w, Plane: 1, Planes: 1, RowPitch: 1, ColPitch: 1}
	square := opcode.Operation{ID: opcode.MapPolynomialID, Params: &opcode.MapPolynomial{Area: green, Coefficients: []float64{0, 0, 1}}}
	half := opcode.Operation{ID: opcode.MapPolynomialID, Params: &opcode.MapPolynomial{Area: green, Coefficients: []float64{0.25, 0.5}}}
	turn := opcode.Operation{ID: opcode.WarpFisheyeID, Params: &opcode.Fisheye{Planes: [][4]float64{{1}}}}
	s.Opcodes[1] = []opcode.Operation{square}
	s.Opcodes[2] = []opcode.Operation{half, turn, square}
	p, err := openBytes(dngBytes(t, s), Options{Linear: true})
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Lens(); l == nil || len(l.Warps) != 1 || !l.Before.Empty() || l.After.Empty() {
		t.Errorf("left for later: %+v", l)
	}
	dst := make([]float32, 3*w*h)
	if err := p.ReadLinear(0, h, dst); err != nil {
		t.Fatal(err)
	}
	for i, v := range dst {
		y, plane, x := i/(3*w), i/w%3, i%w
		want := float64(s.Samples[(y*w+x)*3+plane]) / 65535
		if plane == 1 {
			want = 0.25 + 0.5*want*want
		}
		if math.Abs(float64(v)-want) > 1e-6 {
			t.Fatalf("row %d, column %d, plane %d is %g, want %g", y, x, plane, v, want)
		}
	}
}
