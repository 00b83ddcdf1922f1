package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/raw/dcp"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// testLook is a profile with a table, a curve and matrices.
func testLook(camera string) *mosaic.Profile {
	p := &mosaic.Profile{Name: "Test Look", Camera: camera, ToneCurve: [][2]float64{{0, 0}, {0.25, 0.375}, {1, 1}},
		HueSat1:      &mosaic.HueSatMap{Hues: 1, Saturations: 2, Values: 1, Deltas: [][3]float32{{0, 1, 1}, {0, 0.5, 1}}},
		ColorMatrix1: &[3][3]float64{{0.6461, -0.1164, -0.0857}, {-0.3825, 1.1597, 0.2534}, {-0.0416, 0.154, 0.6039}}}
	return p
}

// cmdMkdcp: mkdcp FILE CAMERA: a camera profile with a look.
func cmdMkdcp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkdcp FILE CAMERA")
	}
	check(ts, os.WriteFile(ts.MkAbs(args[0]), dcp.Encode(testLook(args[1]), binary.LittleEndian), 0o644))
}

// cmdMkdng: mkdng FILE CAMERA [look]: a demosaiced photo by the camera, with a profile of its
// own if asked for.
func cmdMkdng(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: mkdng FILE CAMERA [look]")
	}
	s := dng.Spec{Width: 70, Height: 66, Linear: true, Bits: 16, Samples: make([]uint16, 3*70*66)}
	for i := range s.Samples {
		s.Samples[i] = uint16(9000 + 3000*(i%3) + 300*(i/3%70))
	}
	s.Meta.Make, s.Meta.Model, _ = strings.Cut(args[1], " ")
	s.Meta.AsShot = &[3]float64{0.5, 1, 0.6}
	s.Meta.ColorMatrix1 = testLook("").ColorMatrix1
	if len(args) == 3 {
		s.Meta.Profile = testLook("")
	}
	var b bytes.Buffer
	check(ts, dng.Write(&b, s))
	check(ts, os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}
