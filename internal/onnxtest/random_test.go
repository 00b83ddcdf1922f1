package onnxtest

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"enhance/model/onnx"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

var (
	randomTo    = flag.String("random-to", "", "write random networks with an input each to this folder, for onnxruntime")
	randomFrom  = flag.String("random-from", "", "compare onnxruntime's results in this folder with the host executor's")
	randomFirst = flag.Uint64("random-first", 0, "with -random-to and -random-from, the first seed")
	randomCount = flag.Uint64("random-count", 300, "with -random-to and -random-from, how many networks")
)

// TestRandomNets imports random networks and runs them: none is refused, and no result is NaN. With
// onnxruntime their results are compared:
//
//	go test ./internal/onnxtest -run RandomNets -random-to DIR
//	node .../scripts/onnxnets/ort.mjs DIR
//	go test ./internal/onnxtest -run RandomNets -random-from DIR
func TestRandomNets(t *testing.T) {
	count := uint64(60)
	if *randomTo != "" || *randomFrom != "" {
		count = *randomCount
	}
	compared := 0
	var seeds []uint64
	for i := range count {
		seeds = append(seeds, *randomFirst+i)
		if *randomTo == "" && *randomFrom == "" {
			seeds = append(seeds, RandomDims+i)
		}
	}
	for _, seed := range seeds {
		n, c, h, w := RandomNet(seed)
		name := fmt.Sprintf("r%d", seed)
		if *randomTo != "" {
			raw := []byte{}
			for _, v := range PseudoPicture(seed, c*h*w) {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			for file, data := range map[string][]byte{name + ".onnx": n.Encode(), fmt.Sprintf("%s.0.%dx%d.in.f32", name, h, w): raw} {
				if err := os.WriteFile(filepath.Join(*randomTo, file), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		f, err := onnx.Parse(n.Encode(), "")
		if err != nil {
			t.Fatal(err)
		}
		net, err := onnximport.Import(f, onnximport.Options{})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		s := net.Shape() // the dimensions may be others than channels, rows and columns
		in := make([]float32, c*h*w)
		net.Inputs[0].Planes(in, PseudoPicture(seed, c*h*w))
		got, _, err := ref.Run(t.Context(), net.Model, in, s.H, s.W, ref.Options{})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		got = net.Output.Tensor(got)
		for i, v := range got {
			if v != v {
				t.Errorf("seed %d: sample %d is NaN", seed, i)
				break
			}
		}
		if *randomFrom == "" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(*randomFrom, name+".0.out.f32"))
		if err != nil {
			t.Logf("seed %d: onnxruntime made nothing of it", seed)
			continue
		}
		compared++
		compareFile(t, seed, n, got, raw)
	}
	if *randomFrom != "" {
		t.Logf("%d networks compared", compared)
	}
}

// compareFile holds a result to onnxruntime's: 1e-4 of the largest sample.
func compareFile(t *testing.T, seed uint64, n *Net, got []float32, raw []byte) {
	if len(raw) != 4*len(got) {
		t.Errorf("seed %d: %d samples, onnxruntime makes %d", seed, len(got), len(raw)/4)
		return
	}
	most, worst, at := 0.0, 0.0, 0
	want := func(i int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	for i := range got {
		most = max(most, math.Abs(want(i)))
	}
	for i, v := range got {
		if d := math.Abs(float64(v) - want(i)); d > worst || d != d {
			worst, at = d, i
		}
	}
	if !(worst <= 1e-4*most+1e-6) {
		ops := ""
		for _, node := range n.Nodes {
			ops += " " + node.Op
		}
		t.Errorf("seed %d (%s): sample %d is %v, onnxruntime makes %v", seed, ops[1:], at, got[at], want(at))
	}
}
