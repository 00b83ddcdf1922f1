// onnxnets writes the networks of papers that tests use, with weights from a seed, and three inputs
// for each; ort.mjs beside it runs them in onnxruntime. For development:
//
//	go run ./scripts/onnxnets -o DIR [-divisor 8] [NAME ...]
//	npm install --ignore-scripts onnxruntime-node       # in any folder; run ort.mjs there
//	node ort.mjs DIR                                     # NAME.K.out.f32 for each input
//	go run ./scripts/onnxnets -golden DIR > internal/onnxtest/testdata/nets.json
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"enhance/internal/onnxtest"
)

func main() {
	out := flag.String("o", "", "folder to write networks and inputs to")
	divisor := flag.Int("divisor", 1, "a divisor of the numbers of channels")
	golden := flag.String("golden", "", "folder with outputs, of which to print what tests compare")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(onnxtest.Whole))
	}
	err := errors.New("want -o DIR or -golden DIR")
	switch {
	case *golden != "":
		err = printGolden(*golden, names)
	case *out != "":
		err = write(*out, *divisor, names)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "onnxnets:", err)
		os.Exit(1)
	}
}

func write(dir string, divisor int, names []string) error {
	for _, name := range names {
		net := onnxtest.WholeNet(name, divisor, 1)
		if net == nil {
			return fmt.Errorf("no network is called %s", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".onnx"), net.Encode(), 0o666); err != nil {
			return err
		}
		side := onnxtest.Whole[name]
		for k := range uint64(3) {
			raw := []byte{}
			for _, v := range onnxtest.PseudoPicture(k, 3*side*side) {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%d.%dx%d.in.f32", name, k, side, side)), raw, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

func printGolden(dir string, names []string) error {
	all := map[string][]onnxtest.Summary{}
	for _, name := range names {
		for k := range 3 {
			raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s.%d.out.f32", name, k)))
			if err != nil {
				return err
			}
			v := make([]float32, len(raw)/4)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			}
			all[name] = append(all[name], onnxtest.Summarise(v))
		}
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}
