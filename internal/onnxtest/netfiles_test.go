package onnxtest

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var (
	netsTo      = flag.String("nets-to", "", "write the networks of papers, and three inputs for each, to this folder")
	netsDivisor = flag.Int("nets-divisor", 8, "with -nets-to, a divisor of the numbers of channels")
	netsFrom    = flag.String("nets-from", "", "write testdata/nets.json again from the outputs that onnxruntime left in this folder")
)

// TestNetFiles writes networks for onnxruntime, and what it makes of them to testdata/nets.json:
//
//	go test ./internal/onnxtest -run NetFiles -nets-to DIR
//	npm install --ignore-scripts onnxruntime-node && node .../scripts/onnxnets/ort.mjs DIR
//	go test ./internal/onnxtest -run NetFiles -nets-from DIR
func TestNetFiles(t *testing.T) {
	if *netsTo == "" && *netsFrom == "" {
		t.Skip("SKIPPED: for -nets-to and -nets-from")
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := map[string][]Summary{}
	for _, name := range slices.Sorted(maps.Keys(Whole)) {
		side := Whole[name]
		if *netsTo != "" {
			must(os.WriteFile(filepath.Join(*netsTo, name+".onnx"), WholeNet(name, *netsDivisor, 1).Encode(), 0o666))
		}
		for k := range uint64(3) {
			if *netsTo != "" {
				raw := []byte{}
				for _, v := range PseudoPicture(k, 3*side*side) {
					raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
				}
				must(os.WriteFile(filepath.Join(*netsTo, fmt.Sprintf("%s.%d.%dx%d.in.f32", name, k, side, side)), raw, 0o666))
				continue
			}
			raw, err := os.ReadFile(filepath.Join(*netsFrom, fmt.Sprintf("%s.%d.out.f32", name, k)))
			must(err)
			v := make([]float32, len(raw)/4)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			}
			all[name] = append(all[name], Summarise(v))
		}
	}
	if *netsFrom != "" {
		text, err := json.MarshalIndent(all, "", "\t")
		must(err)
		must(os.WriteFile("testdata/nets.json", append(text, '\n'), 0o666))
	}
}
