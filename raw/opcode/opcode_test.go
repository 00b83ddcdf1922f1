package opcode

import (
	"bytes"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/rawerr"
)

// all is an area of every sample of plane 0 up to 2.
func all(h, w int) Area {
	return Area{Bottom: uint32(h), Right: uint32(w), Planes: 3, RowPitch: 1, ColPitch: 1}
}

// everyKind has one operation of each kind for an image of 6 rows, 8 columns.
func everyKind() []Operation {
	area := Area{Top: 1, Left: 2, Bottom: 6, Right: 7, Planes: 1, RowPitch: 2, ColPitch: 3}
	radial := make([]float64, 15)
	radial[0], radial[3] = 1, 0.125
	params := map[ID]any{
		WarpRectilinearID: &Rectilinear{Planes: []RectilinearPlane{{Radial: []float64{1, 0, 0.5, 0, -0.25, 0, 0.125}, Tangential: [2]float64{0.01, -0.02}, MaxRadius: 1}}, CX: 0.5, CY: 0.25},
		WarpFisheyeID:     &Fisheye{Planes: [][4]float64{{1, 2, 3, 4}}, CX: 0.5, CY: 1},
		VignetteRadialID:  &VignetteRadial{K: [5]float64{1, 2, 3, 4, 5}, CX: 0.5, CY: 0},
		BadConstantID:     &BadConstant{Constant: 7, Phase: 3},
		BadListID:         &BadList{Phase: 1, Points: []Point{{1, 2}, {3, 4}}, Rects: []TrimBounds{{1, 2, 3, 4}}},
		TrimBoundsID:      &TrimBounds{1, 1, 5, 6},
		MapTableID:        &MapTable{Area: area, Table: []uint16{1, 2, 65535}},
		MapPolynomialID:   &MapPolynomial{Area: area, Coefficients: []float64{0.5, 0.25}},
		GainMapID:         &GainMap{Area: area, PointsV: 1, PointsH: 2, SpacingV: 1, SpacingH: 1, Planes: 1, Gains: []float32{1, 2}},
		DeltaPerRowID:     &PerLine{Area: area, Values: []float32{1, 2, 3}},
		DeltaPerColumnID:  &PerLine{Area: area, Columns: true, Values: []float32{1, 2}},
		ScalePerRowID:     &PerLine{Area: area, Scale: true, Values: []float32{1, 2, 3}},
		ScalePerColumnID:  &PerLine{Area: area, Columns: true, Scale: true, Values: []float32{1, 2}},
		WarpRectilinear2ID: &Rectilinear{Planes: []RectilinearPlane{{Radial: radial, MaxRadius: 0.75, MinRadius: 0.25}},
			CX: 0.5, CY: 0.5, Reciprocal: true},
	}
	var list []Operation
	for id := WarpRectilinearID; id <= WarpRectilinear2ID; id++ {
		list = append(list, Operation{ID: id, Version: [4]byte{1, 3}, Params: params[id], Preview: id%2 == 0})
	}
	return list
}

func TestEveryKindIsParsed(t *testing.T) {
	want := everyKind()
	got, err := Parse(Encode(want), "OpcodeList2")
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%v: %+v, want %+v", want[i].ID, got[i], want[i])
		}
		if strings.HasPrefix(want[i].ID.String(), "opcode ") {
			t.Errorf("operation %d has no name", want[i].ID)
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	whole := Encode(everyKind())
	for n := range whole {
		var fe *rawerr.FormatError
		if _, err := Parse(whole[:n], "OpcodeList1"); !errors.As(err, &fe) {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
}

// TestParametersCutShort shortens the parameters of every operation, to nothing at
// last: a per-row operation without any once divided by the pitch of no area.
func TestParametersCutShort(t *testing.T) {
	for _, op := range everyKind() {
		whole := Encode([]Operation{op})
		for n := range len(whole) - 20 {
			b := bytes.Clone(whole[:20+n])
			b[16], b[17], b[18], b[19] = 0, 0, byte(n>>8), byte(n)
			var fe *rawerr.FormatError
			if _, err := Parse(b, "OpcodeList1"); !errors.As(err, &fe) {
				t.Fatalf("%v with %d bytes: %v", op.ID, n, err)
			}
		}
	}
}

// TestDamagedParameters damages one number of an operation at a time.
func TestDamagedParameters(t *testing.T) {
	nan := math.NaN()
	area := all(4, 4)
	for name, op := range map[string]Operation{
		"empty area":    {ID: MapPolynomialID, Params: &MapPolynomial{Area: Area{Top: 3, Planes: 1, RowPitch: 1, ColPitch: 1}, Coefficients: []float64{1}}},
		"pitch 0":       {ID: MapPolynomialID, Params: &MapPolynomial{Area: Area{Planes: 1, RowPitch: 1}, Coefficients: []float64{1}}},
		"degree 9":      {ID: MapPolynomialID, Params: &MapPolynomial{Area: area, Coefficients: make([]float64, 10)}},
		"NaN":           {ID: MapPolynomialID, Params: &MapPolynomial{Area: area, Coefficients: []float64{nan}}},
		"no table":      {ID: MapTableID, Params: &MapTable{Area: area}},
		"rows":          {ID: DeltaPerRowID, Params: &PerLine{Area: area, Values: []float32{1, 2}}},
		"gain NaN":      {ID: GainMapID, Params: &GainMap{Area: area, PointsV: 1, PointsH: 1, Planes: 1, Gains: []float32{float32(nan)}}},
		"gain below 0":  {ID: GainMapID, Params: &GainMap{Area: area, PointsV: 1, PointsH: 1, Planes: 1, Gains: []float32{-1}}},
		"spacing 0":     {ID: GainMapID, Params: &GainMap{Area: area, PointsV: 2, PointsH: 1, Planes: 1, Gains: []float32{1, 1}}},
		"no points":     {ID: GainMapID, Params: &GainMap{Area: area, Planes: 1}},
		"gains missing": {ID: GainMapID, Params: &GainMap{Area: area, PointsV: 1 << 16, PointsH: 1 << 16, Planes: 1 << 30, SpacingV: 1, SpacingH: 1, Gains: []float32{1}}},
		"left over":     {ID: GainMapID, Params: &GainMap{Area: area, PointsV: 1, PointsH: 1, Planes: 1, Gains: []float32{1, 1}}},
		"phase":         {ID: BadListID, Params: &BadList{Phase: 4}},
		"phase 4":       {ID: BadConstantID, Params: &BadConstant{Phase: 4}},
		"centre":        {ID: VignetteRadialID, Params: &VignetteRadial{CX: 1.5}},
		"no planes":     {ID: WarpFisheyeID, Params: &Fisheye{}},
		"radii":         {ID: WarpRectilinear2ID, Params: &Rectilinear{Planes: []RectilinearPlane{{Radial: make([]float64, 15), MinRadius: 1, MaxRadius: 0.5}}}},
		"trim":          {ID: TrimBoundsID, Params: &TrimBounds{}},
	} {
		var fe *rawerr.FormatError
		_, err := Parse(Encode([]Operation{op}), "OpcodeList2")
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), "OpcodeList2") || !strings.Contains(err.Error(), op.ID.String()) {
			t.Errorf("%s: %v", name, err)
		}
		op.Optional = true
		if list, err := Parse(Encode([]Operation{op}), "OpcodeList2"); err != nil || list[0].Problem == "" || list[0].Params != nil {
			t.Errorf("%s, optional: %+v, %v", name, list, err)
		}
	}
}

func TestUnknownOperation(t *testing.T) {
	list := []Operation{{ID: 99}}
	var ue *rawerr.UnsupportedError
	if _, err := Parse(Encode(list), "OpcodeList3"); !errors.As(err, &ue) || !strings.Contains(err.Error(), "opcode 99 in OpcodeList3") {
		t.Errorf("required: %v", err)
	}
	list[0].Optional = true
	got, err := Parse(Encode(list), "OpcodeList3")
	if err != nil || len(got) != 1 || got[0].Problem == "" {
		t.Errorf("optional: %+v, %v", got, err)
	}
}

// TestCameraLists reads what GoPro cameras write.
func TestCameraLists(t *testing.T) {
	list := fromFile(t, "gopro-hero7-list2.bin")
	if len(list) != 4 {
		t.Fatalf("%d operations", len(list))
	}
	for i, op := range list {
		g, ok := op.Params.(*GainMap)
		if !ok || g.PointsV != 23 || g.PointsH != 22 || g.Planes != 1 || int(g.Area.Top) != i/2 || int(g.Area.Left) != i%2 || g.Area.RowPitch != 2 {
			t.Fatalf("operation %d: %+v", i, op)
		}
		if g.Gains[0] < 1.72 || g.Gains[0] > 1.73 {
			t.Errorf("first gain %g", g.Gains[0])
		}
	}
	list = fromFile(t, "gopro-fusion-list3.bin")
	w, ok := list[0].Params.(*Rectilinear)
	if len(list) != 1 || !ok || len(w.Planes) != 3 || w.Planes[0].Radial[0] != 1.00037422 || w.Planes[1].Radial[0] != 1 || w.CX != 0.5 {
		t.Fatalf("%+v", list[0].Params)
	}
}

func fromFile(t testing.TB, name string) []Operation {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Parse(b, name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Encode(list), b) {
		t.Errorf("%s: encoding it again gives other bytes", name)
	}
	return list
}

func FuzzList(f *testing.F) {
	f.Add(Encode(everyKind()), uint8(1))
	for _, op := range everyKind() {
		op.Optional = true
		f.Add(Encode([]Operation{op}), uint8(2))
	}
	for _, name := range []string{"gopro-hero7-list2.bin", "gopro-fusion-list3.bin"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, stage uint8) {
		var list []Operation
		var err error
		boundtest.Run(t, len(b), 1<<20, 200, func() { list, err = Parse(b, "OpcodeList") })
		if err != nil {
			checkKind(t, err)
			return
		}
		const w, h = 9, 7
		planes := 1
		if stage%3 == 2 {
			planes = 3
		}
		c := NewChain(w, h, planes, func(y0, n int, dst []float32) error {
			for i := range dst[:n*planes*w] {
				dst[i] = float32((y0*planes*w+i)%17) / 16
			}
			return nil
		})
		dst := make([]float32, h*planes*w)
		boundtest.Run(t, len(b), 1<<20, 2000, func() {
			if err = c.Add(list, Stage(stage%3+1)); err == nil {
				err = c.Rows(0, h, dst)
			}
		})
		if err != nil {
			checkKind(t, err)
			return
		}
		last := make([]float32, planes*w)
		if err := c.Rows(h-1, 1, last); err != nil {
			t.Fatal(err)
		}
		for i, v := range dst[(h-1)*planes*w:] {
			if math.Float32bits(v) != math.Float32bits(last[i]) {
				t.Fatalf("sample %d of the last row is %g, read alone %g", i, v, last[i])
			}
		}
		for _, op := range list {
			if m, ok := op.Params.(Warp); ok {
				m.Source(2, 0.5, -0.5)
			}
		}
	})
}

func checkKind(t *testing.T, err error) {
	t.Helper()
	var fe *rawerr.FormatError
	var ue *rawerr.UnsupportedError
	if !errors.As(err, &fe) && !errors.As(err, &ue) {
		t.Fatalf("error of no documented kind: %v", err)
	}
}
