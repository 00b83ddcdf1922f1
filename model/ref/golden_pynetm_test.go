package ref

import (
	"testing"

	"enhance/model"
)

// TestGoldenPyNETM compares a small pynet-m with what testdata/golden/pynet_m.py
// made in float64 from train/pynet_m.py, the network's definition in PyTorch.
func TestGoldenPyNETM(t *testing.T) {
	m, err := model.Load("pynet-m-random:gold")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 28, 36
	in := readFloats(t, "pynet_m_tiny.x.f32")
	if d := maxDiff(t, in, model.FormulaTensor("gold", "input", 8*h*w)); d != 0 {
		t.Fatalf("the input differs from the formula's by %g", d)
	}
	got, shape, err := Run(t.Context(), m, in, h, w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (model.Shape{C: 3, H: 2 * h, W: 2 * w}); shape != want {
		t.Errorf("output is %v, want %v", shape, want)
	}
	want := readFloats(t, "pynet_m_tiny.y.f32")
	_, std := moments(want)
	d := maxDiff(t, got, want) / std
	t.Logf("largest difference %.2g of the deviation, which is %.3g", d, std)
	if d > 1e-5 {
		t.Errorf("output differs by %g of its deviation, more than 1e-5", d)
	}
}

// TestGoldenMasked is TestGoldenPyNETM for a network of masked planes.
func TestGoldenMasked(t *testing.T) {
	m, err := model.Load("pynet-m-random:gold,planes=24")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 28, 36
	got, _, err := Run(t.Context(), m, model.FormulaTensor("gold", "input", 24*h*w), h, w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := readFloats(t, "pynet_m_masked.y.f32")
	_, std := moments(want)
	if d := maxDiff(t, got, want) / std; d > 1e-5 {
		t.Errorf("output differs by %g of its deviation, more than 1e-5", d)
	}
}

// TestGoldenBuiltins compares every embedded pynet-m with PyTorch's output of its
// weights; see testdata/golden/README.md.
func TestGoldenBuiltins(t *testing.T) {
	const h, w = 96, 128
	n := 0
	for _, b := range model.Builtins() {
		m, err := model.Load(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Arch != "pynet-m" {
			continue
		}
		n++
		in := readFloats(t, "pynet_m_96x128.x.f32")
		if m.Convention.Samples == model.SamplesMasked {
			in = readFloats(t, "pynet_m_96x128."+b.Name+".x.f32")
		}
		got, shape, err := Run(t.Context(), m, in, h, w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := (model.Shape{C: 3, H: 2 * h, W: 2 * w}); shape != want {
			t.Errorf("%s: output is %v, want %v", b.Name, shape, want)
		}
		d := maxDiff(t, got, readFloats(t, "pynet_m_96x128."+b.Name+".y.f32"))
		t.Logf("%s: largest difference %.2g", b.Name, d)
		if d > 2e-5 {
			t.Errorf("%s: output differs by %g, more than 2e-5", b.Name, d)
		}
	}
	if n == 0 {
		t.Error("no embedded model is a pynet-m")
	}
}
