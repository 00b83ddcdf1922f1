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
	compareGolden(t, m, in, h, w, "pynet_m_tiny.y.f32", 1e-5)
}

// compareGolden runs a network on an input of packed sides h and w, and compares the picture with PyTorch's, in
// deviations of that.
func compareGolden(t *testing.T, m *model.Model, in []float32, h, w int, file string, most float64) {
	t.Helper()
	got, shape, err := Run(t.Context(), m, in, h, w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (model.Shape{C: 3, H: 2 * h, W: 2 * w}); shape != want {
		t.Errorf("output is %v, want %v", shape, want)
	}
	want := readFloats(t, file)
	_, std := moments(want)
	d := maxDiff(t, got, want) / std
	t.Logf("largest difference %.2g of the deviation, which is %.3g", d, std)
	if d > most {
		t.Errorf("output differs by %g of its deviation, more than %g", d, most)
	}
}

// TestGoldenMasked is TestGoldenPyNETM for a network of masked planes.
func TestGoldenMasked(t *testing.T) {
	m, err := model.Load("pynet-m-random:gold,planes=24")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 28, 36
	compareGolden(t, m, model.FormulaTensor("gold", "input", 24*h*w), h, w, "pynet_m_masked.y.f32", 1e-5)
}

// TestGoldenPyNETShuffle is TestGoldenPyNETM for a PyNET that ends in a pixel shuffle.
func TestGoldenPyNETShuffle(t *testing.T) {
	m, err := model.Load("pynet-random:gold,width=4,norm=false,norm1=false,end=shuffle")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 48, 32
	compareGolden(t, m, model.FormulaTensor("gold", "input", 4*h*w), h, w, "pynet_shuffle_48x32.y.f32", 5e-5)
}

// TestGoldenBuiltins compares every embedded network that train/ made with PyTorch's output of its
// weights; see testdata/golden/README.md.
func TestGoldenBuiltins(t *testing.T) {
	const h, w = 96, 128
	n := 0
	for _, b := range model.Builtins() {
		m, err := model.Load(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Convention.NoisePlanes == 0 { // pynet-s
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
		t.Error("no embedded model takes the noise level")
	}
}
