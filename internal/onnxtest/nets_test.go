package onnxtest

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"enhance/model/onnx"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

// TestWholeNets compares the networks of papers, with an eighth of their channels, with what
// onnxruntime makes of three inputs. TestNetFiles says how to write testdata/nets.json again.
func TestWholeNets(t *testing.T) {
	golden := map[string][]Summary{}
	text, err := os.ReadFile("testdata/nets.json")
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(golden) != len(Whole) {
		t.Errorf("nets.json has %d networks, not %d", len(golden), len(Whole))
	}
	for _, name := range slices.Sorted(maps.Keys(Whole)) {
		t.Run(name, func(t *testing.T) {
			f, err := onnx.Parse(WholeNet(name, 8, 1).Encode(), "")
			if err != nil {
				t.Fatal(err)
			}
			side := Whole[name]
			net, err := onnximport.Import(f, onnximport.Options{H: side, W: side})
			if err != nil {
				t.Fatal(err)
			}
			if len(golden[name]) != 3 {
				t.Fatalf("results of %d inputs", len(golden[name]))
			}
			for k, want := range golden[name] {
				if testing.Short() && k > 0 {
					break
				}
				got, _, err := ref.Run(t.Context(), net.Model, PseudoPicture(uint64(k), 3*side*side), side, side, ref.Options{})
				if err != nil {
					t.Fatal(err)
				}
				want.Compare(t, k, got)
			}
		})
	}
}

// TestDigits classifies drawn digits as PyTorch does, sample by sample, by a fully connected and
// a convolutional network.
func TestDigits(t *testing.T) {
	d, err := ReadDigits()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range d.Nets {
		f, err := onnx.Parse(file, "")
		if err != nil {
			t.Fatal(err)
		}
		net, err := onnximport.Import(f, onnximport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Pictures) != 100 || len(d.Logits[name]) != 100 {
			t.Fatalf("%s: %d pictures, %d results", name, len(d.Pictures), len(d.Logits[name]))
		}
		for k, want := range d.Logits[name] {
			got, _, err := ref.Run(t.Context(), net.Model, d.Pictures[k], 28, 28, ref.Options{})
			if err != nil {
				t.Fatal(err)
			}
			Summarise(want).Compare(t, k, got)
			if slices.Index(got, slices.Max(got)) != slices.Index(want, slices.Max(want)) {
				t.Errorf("%s, picture %d: %v, PyTorch makes %v", name, k, got, want)
			}
		}
	}
}
