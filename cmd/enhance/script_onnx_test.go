package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/internal/imgio"
	"enhance/internal/onnxtest"
	"enhance/model"
)

// cmdMkonnx writes a small network: mkonnx KIND FILE.
func cmdMkonnx(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkonnx KIND FILE")
	}
	kinds := map[string]*onnxtest.Net{"smoother": onnxtest.Smoother(3), "grey": onnxtest.Smoother(1), "planes": onnxtest.Smoother(4), "raw": onnxtest.RAW(), "twice": onnxtest.Enlarger(3, 2),
		"fixed": onnxtest.Fixed(3), "difference": onnxtest.Difference(2), "halver": onnxtest.Halver(3)}
	if args[0] == "digits" {
		d, err := onnxtest.ReadDigits()
		check(ts, err)
		check(ts, os.WriteFile(ts.MkAbs(args[1]), d.Nets["conv"], 0o644))
		return
	}
	if args[0] == "weights" { // as PyTorch's export names them
		m, err := model.LoadLevel("pynet-random:a,width=4", model.AnyLevel)
		check(ts, err)
		net := onnxtest.Smoother(3)
		for name, p := range m.Params {
			t := onnxtest.Tensor{Name: name, Floats: p.Data}
			for _, d := range p.Shape {
				t.Dims = append(t.Dims, int64(d))
			}
			net.Init = append(net.Init, t)
		}
		net.Init = append(net.Init[2:], onnxtest.Tensor{Name: "an index", Dims: []int64{1}, Ints: []int64{1}})
		check(ts, os.WriteFile(ts.MkAbs(args[1]), net.Encode(), 0o644))
		return
	}
	if args[0] == "ncnn" { // FILE.param and FILE.bin, and the same as FILE.onnx
		n, same := onnxtest.Doubler()
		for end, b := range map[string][]byte{".param": n.Param(), ".bin": n.Bin, ".onnx": same.Encode()} {
			check(ts, os.WriteFile(ts.MkAbs(args[1]+end), b, 0o644))
		}
		return
	}
	kinds["mobilenet"] = onnxtest.WholeNet("mobilenet", 32, 1)
	n := kinds[args[0]]
	if n == nil {
		ts.Fatalf("mkonnx: no kind %q", args[0])
	}
	check(ts, os.WriteFile(ts.MkAbs(args[1]), n.Encode(), 0o644))
}

// cmdMkdigit writes a drawn digit as a PNG: mkdigit N FILE.
func cmdMkdigit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkdigit N FILE")
	}
	d, err := onnxtest.ReadDigits()
	check(ts, err)
	f, err := os.Create(ts.MkAbs(args[1]))
	check(ts, err)
	defer f.Close()
	p, err := imgio.NewPNG(f, imgio.Header{Width: 28, Height: 28, Bits: 8})
	check(ts, err)
	codes := d.Codes[atoi(ts, args[0])]
	for y := range 28 {
		var row []uint16
		for _, v := range codes[28*y : 28*y+28] {
			row = append(row, uint16(v)*257, uint16(v)*257, uint16(v)*257)
		}
		check(ts, p.WriteRow(row))
	}
	check(ts, p.Close())
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
