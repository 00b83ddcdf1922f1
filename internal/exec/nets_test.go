package exec_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/onnxtest"
	"enhance/memplan"
	"enhance/model/onnx"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

// imported reads a network for inputs of side×side.
func imported(t *testing.T, file []byte, side int) *onnximport.Network {
	t.Helper()
	f, err := onnx.Parse(file, "")
	if err != nil {
		t.Fatal(err)
	}
	net, err := onnximport.Import(f, onnximport.Options{H: side, W: side})
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// TestWholeNets is onnxtest's test of networks of papers, on the device.
func TestWholeNets(t *testing.T) {
	info := convtest.Device(t).Info()
	golden := map[string][]onnxtest.Summary{}
	text, err := os.ReadFile("../onnxtest/testdata/nets.json")
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"srvgg", "mobilenetv2"}
	if !testing.Short() {
		names = slices.Sorted(maps.Keys(onnxtest.Whole))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			side := onnxtest.Whole[name]
			m := imported(t, onnxtest.WholeNet(name, 8, 1).Encode(), side).Model
			job, err := exec.Prepare(m, side, side, info, exec.Options{Budget: memplan.Unlimited(), Poison: true})
			if err != nil {
				t.Fatal(err)
			}
			for k, want := range golden[name] {
				want.Compare(t, k, runJob(t, job, &tensor{c: 3, h: side, w: side, v: onnxtest.PseudoPicture(uint64(k), 3*side*side)}).v)
			}
		})
	}
}

// TestDigits classifies drawn digits on the device as PyTorch does.
func TestDigits(t *testing.T) {
	info := convtest.Device(t).Info()
	d, err := onnxtest.ReadDigits()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range d.Nets {
		job, err := exec.Prepare(imported(t, file, 28).Model, 28, 28, info, exec.Options{Budget: memplan.Unlimited()})
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range d.Logits[name] {
			if k%10 != 0 && testing.Short() {
				continue
			}
			got := runJob(t, job, &tensor{c: 1, h: 28, w: 28, v: d.Pictures[k]}).v
			onnxtest.Summarise(want).Compare(t, k, got)
			if slices.Index(got, slices.Max(got)) != slices.Index(want, slices.Max(want)) {
				t.Errorf("%s, picture %d: %v, PyTorch makes %v", name, k, got, want)
			}
		}
	}
}

// TestRandomNets runs random networks on the device, whose steps take along what they can, and
// compares them with the host executor.
func TestRandomNets(t *testing.T) {
	info := convtest.Device(t).Info()
	count := convtest.Cases(16)
	if testing.Short() {
		count = 4
	}
	for i := range 2 * uint64(count) {
		seed := i/2 + i%2*onnxtest.RandomDims
		n, _, _, _ := onnxtest.RandomNet(seed)
		net := imported(t, n.Encode(), 0)
		m, s := net.Model, net.Shape()
		c, h, w := s.C, s.H, s.W
		in := make([]float32, s.Elems())
		net.Inputs[0].Planes(in, onnxtest.PseudoPicture(seed, len(in)))
		want, _, err := ref.Run(t.Context(), m, in, h, w, ref.Options{})
		if err != nil {
			t.Fatal(err)
		}
		job, err := exec.Prepare(m, h, w, info, exec.Options{Budget: memplan.Unlimited(), Poison: true})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		got := runJob(t, job, &tensor{c: c, h: h, w: w, v: in}).v
		most := float32(0)
		for _, v := range want {
			most = max(most, v, -v)
		}
		for i, v := range got {
			if d := v - want[i]; !(max(d, -d) <= 1e-4*most+1e-6) {
				t.Errorf("seed %d: sample %d is %v, on the host %v", seed, i, v, want[i])
				break
			}
		}
	}
}
