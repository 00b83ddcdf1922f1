package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/internal/imgio"
	"enhance/internal/onnxtest"
)

// cmdMkonnx writes a small network: mkonnx KIND FILE.
func cmdMkonnx(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkonnx KIND FILE")
	}
	kinds := map[string]*onnxtest.Net{"smoother": onnxtest.Smoother(3), "grey": onnxtest.Smoother(1), "planes": onnxtest.Smoother(4), "raw": onnxtest.RAW(), "twice": onnxtest.Enlarger(3, 2),
		"fixed": onnxtest.Fixed(3), "difference": onnxtest.Difference(2), "halver": onnxtest.Halver(3)}
	n := kinds[args[0]]
	if n == nil {
		ts.Fatalf("mkonnx: no kind %q", args[0])
	}
	check(ts, os.WriteFile(ts.MkAbs(args[1]), n.Encode(), 0o644))
}

// cmdMkpicture writes a PNG with colours: mkpicture FILE W H.
func cmdMkpicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: mkpicture FILE W H")
	}
	w, h := atoi(ts, args[1]), atoi(ts, args[2])
	f, err := os.Create(ts.MkAbs(args[0]))
	check(ts, err)
	defer f.Close()
	p, err := imgio.NewPNG(f, imgio.Header{Width: w, Height: h, Bits: 8})
	check(ts, err)
	row := make([]uint16, 3*w)
	for y := range h {
		for i := range row {
			row[i] = uint16(257 * ((7*y + 5*i*i) % 256))
		}
		check(ts, p.WriteRow(row))
	}
	check(ts, p.Close())
}
