package pickle

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/boundtest"
)

// formats are the endings of the two containers.
var formats = []string{".zip.pth", ".old.pth"}

func readTest(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(b []byte) (map[string]*Tensor, error) { return Read(bytes.NewReader(b), int64(len(b))) }

// ramp is element i of the tensor that most test files are made of.
func ramp(i int) float32 { return float32(i)/7 - 1 }

func ramps(indices ...int) (out []float32) {
	for _, i := range indices {
		out = append(out, ramp(i))
	}
	return out
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func checkTensor(t *testing.T, file, name string, got *Tensor, shape []int, want []float32, relative float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s: no tensor %q", file, name)
		return
	}
	if !slices.Equal(got.Shape, shape) || len(got.Data) != len(want) {
		t.Errorf("%s: %q has shape %v and %d values, want %v", file, name, got.Shape, len(got.Data), shape)
		return
	}
	for i, v := range got.Data {
		if !(math.Abs(float64(v-want[i])) <= relative*math.Abs(float64(want[i]))) {
			t.Errorf("%s: %q element %d is %g, want %g", file, name, i, v, want[i])
		}
	}
}

func TestReadFloats(t *testing.T) {
	for _, format := range formats {
		file := "floats" + format
		got, err := read(readTest(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		shape, want := []int{2, 3, 4}, ramps(upTo(24)...)
		checkTensor(t, file, "f32", got["f32"], shape, want, 0)
		checkTensor(t, file, "f64", got["f64"], shape, want, 0)
		checkTensor(t, file, "f16", got["f16"], shape, want, 1.0/(1<<11))
		checkTensor(t, file, "bf16", got["bf16"], shape, want, 1.0/(1<<8))
		checkTensor(t, file, "scalar", got["scalar"], nil, []float32{2.5}, 0)
		checkTensor(t, file, "empty", got["empty"], []int{0, 3}, nil, 0)
		if len(got) != 6 {
			t.Errorf("%s: %d tensors", file, len(got))
		}
	}
}

func TestReadViews(t *testing.T) {
	var transposed []int // [k,i,j] is [i,j,k] of 2×3×4
	for k := range 4 {
		for i := range 2 {
			for j := range 3 {
				transposed = append(transposed, i*12+j*4+k)
			}
		}
	}
	for _, format := range formats {
		file := "views" + format
		got, err := read(readTest(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		checkTensor(t, file, "whole", got["whole"], []int{2, 3, 4}, ramps(upTo(24)...), 0)
		checkTensor(t, file, "transposed", got["transposed"], []int{4, 2, 3}, ramps(transposed...), 0)
		checkTensor(t, file, "row", got["row"], []int{4}, ramps(20, 21, 22, 23), 0)
		checkTensor(t, file, "column", got["column"], []int{2}, ramps(7, 19), 0)
		checkTensor(t, file, "channels_last", got["channels_last"], []int{1, 2, 3, 4}, ramps(upTo(24)...), 0)
		checkTensor(t, file, "parameter", got["parameter"], []int{3, 4}, ramps(upTo(12)...), 0)
	}
}

func TestReadModules(t *testing.T) {
	for _, name := range []string{"module", "checkpoint"} {
		for _, format := range formats {
			got, err := read(readTest(t, name+format))
			if err != nil {
				t.Fatalf("%s%s: %v", name, format, err)
			}
			checkTensor(t, name+format, "weight", got["weight"], []int{2, 3}, ramps(0, 1, 2, 4, 5, 6), 0)
			checkTensor(t, name+format, "bias", got["bias"], []int{2}, ramps(12, 13), 0)
			if len(got) != 2 {
				t.Errorf("%s%s: %d tensors", name, format, len(got))
			}
		}
	}
}

func TestReadRefusesFiles(t *testing.T) {
	for name, want := range map[string]string{
		"integers":    `"count" is of int64`,
		"foreign":     `"torch.device"`,
		"not_tensors": `"epoch" is an int`,
		"list":        "holds a list",
		"expanded":    `"bomb"`,
	} {
		for _, format := range formats {
			_, err := read(readTest(t, name+format))
			var e FormatError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s%s: error %v, want one with %s", name, format, err, want)
			}
		}
	}
}

func TestReadRefusesCut(t *testing.T) {
	for _, format := range formats {
		whole := readTest(t, "floats"+format)
		for n := range whole {
			if _, err := read(whole[:n]); err == nil {
				t.Fatalf("floats%s cut to %d of %d bytes is accepted", format, n, len(whole))
			}
		}
	}
	if _, err := read(append(readTest(t, "floats.old.pth"), 0)); err == nil {
		t.Error("a byte after the last storage is accepted")
	}
}

// FuzzPickle checks that no file makes the reader fail other than by an error,
// or gives tensors larger than itself.
func FuzzPickle(f *testing.F) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".pth") && !strings.HasPrefix(e.Name(), "pynet") {
			f.Add(readTest(f, e.Name()))
		}
	}
	for _, c := range refused {
		f.Add(legacyFile(c.pickle, c.storages))
		f.Add(zipFile(f, c.pickle, c.storages))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var tensors map[string]*Tensor
		var err error
		boundtest.Run(t, len(b), 4<<20, 1000, func() { tensors, err = read(b) })
		if err != nil {
			return
		}
		values := 0
		for name, x := range tensors {
			n := 1
			for _, d := range x.Shape {
				n *= d
			}
			if n != len(x.Data) {
				t.Fatalf("%q of shape %v has %d values", name, x.Shape, len(x.Data))
			}
			values += n
		}
		if 2*values > len(b) {
			t.Fatalf("%d values from %d bytes", values, len(b))
		}
	})
}
