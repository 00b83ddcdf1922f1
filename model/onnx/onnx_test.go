package onnx

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/boundtest"
)

// field makes a field of bytes.
func bytesOf(num uint64, b []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, num<<3|2), uint64(len(b))), b...)
}

func intOf(num, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, num<<3), v)
}

func tensorOf(kind uint64, dims []uint64, rest ...[]byte) []byte {
	b := intOf(2, kind)
	for _, d := range dims {
		b = append(b, intOf(1, d)...)
	}
	return slices.Concat(append([][]byte{b}, rest...)...)
}

// TestElements reads every element type, as raw data and typed.
func TestElements(t *testing.T) {
	packed := func(v ...uint64) []byte {
		var b []byte
		for _, x := range v {
			b = binary.AppendUvarint(b, x)
		}
		return b
	}
	minus := uint64(math.MaxUint64) // -1
	for name, test := range map[string]struct {
		b    []byte
		want []float32
	}{
		"float raw":      {tensorOf(1, []uint64{2}, bytesOf(9, []byte{0, 0, 128, 63, 0, 0, 0, 192})), []float32{1, -2}},
		"float typed":    {tensorOf(1, []uint64{1}, bytesOf(4, []byte{0, 0, 128, 63})), []float32{1}},
		"half raw":       {tensorOf(10, []uint64{4}, bytesOf(9, []byte{0, 0x3c, 1, 0, 0, 0x7c, 0, 0xc0})), []float32{1, 1.0 / (1 << 24), float32(math.Inf(1)), -2}},
		"half typed":     {tensorOf(10, []uint64{1}, bytesOf(5, packed(0x3c00))), []float32{1}},
		"bfloat raw":     {tensorOf(16, []uint64{2}, bytesOf(9, []byte{0x80, 0x3f, 0, 0xc0})), []float32{1, -2}},
		"double typed":   {tensorOf(11, []uint64{1}, bytesOf(10, binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.5)))), []float32{0.5}},
		"int64 typed":    {tensorOf(7, []uint64{2}, bytesOf(7, packed(5, minus))), []float32{5, -1}},
		"int64 unpacked": {tensorOf(7, []uint64{2}, intOf(7, 5), intOf(7, minus)), []float32{5, -1}},
		"int8 raw":       {tensorOf(3, []uint64{2}, bytesOf(9, []byte{1, 255})), []float32{1, -1}},
		"uint8 typed":    {tensorOf(2, []uint64{1}, bytesOf(5, packed(200))), []float32{200}},
		"no dimensions":  {tensorOf(9, nil, bytesOf(9, []byte{1})), []float32{1}},
		"empty":          {tensorOf(1, []uint64{0, 1 << 40}), []float32{}},
	} {
		x, err := ParseTensor(test.b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := x.Floats(); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

func TestTensorErrors(t *testing.T) {
	for name, test := range map[string]struct {
		b    []byte
		want string
	}{
		"short raw":     {tensorOf(1, []uint64{3}, bytesOf(9, make([]byte, 8))), "8 bytes, not 12"},
		"short typed":   {tensorOf(1, []uint64{3}, bytesOf(4, make([]byte, 8))), "2 elements"},
		"long typed":    {tensorOf(1, []uint64{1}, bytesOf(4, make([]byte, 8))), "more than 1"},
		"huge":          {tensorOf(1, []uint64{1 << 40, 1 << 40}), "shape"},
		"huge typed":    {tensorOf(7, []uint64{1 << 50}, bytesOf(7, []byte{1})), "data for 1 elements"},
		"negative":      {tensorOf(1, []uint64{math.MaxUint64}), "shape"},
		"text":          {tensorOf(8, []uint64{1}), "string, which is not read"},
		"many elements": {tensorOf(1, make([]uint64, 40)), "32 dimensions"},
		"nowhere":       {tensorOf(1, []uint64{1}, intOf(14, 1)), "not named"},
	} {
		x, err := ParseTensor(test.b)
		if err == nil {
			_, err = x.Floats()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// TestExternal: data beside the network is read, and nothing that lies elsewhere.
func TestExternal(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "net")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string][]byte{filepath.Join(folder, "w.bin"): {9, 9, 9, 9, 0, 0, 128, 63}, filepath.Join(dir, "secret"): {0, 0, 128, 63}} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(folder, "link")); err != nil {
		t.Skip(err)
	}
	pairs := func(kv ...string) (b []byte) {
		for i := 0; i < len(kv); i += 2 {
			b = append(b, bytesOf(13, append(bytesOf(1, []byte(kv[i])), bytesOf(2, []byte(kv[i+1]))...))...)
		}
		return append(b, intOf(14, 1)...)
	}
	read := func(kv ...string) ([]float32, error) {
		file := &File{dir: folder}
		x, err := (&parser{file: file}).tensor(tensorOf(1, []uint64{1}, pairs(kv...)))
		if err != nil {
			return nil, err
		}
		if !file.Beside() {
			t.Errorf("%q: the file has nothing in other files", kv)
		}
		return x.Floats()
	}
	if v, err := read("location", "w.bin", "offset", "4", "length", "4"); err != nil || !slices.Equal(v, []float32{1}) {
		t.Errorf("external data: %v, %v", v, err)
	}
	for _, kv := range [][]string{{"location", "../secret"}, {"location", "link"}, {"location", "/etc/passwd"}, {"location", "."}, {"location", "w.bin", "offset", "5"},
		{"location", "w.bin", "offset", "-4"}, {"location", "w.bin", "length", "8"}, {"location", "w.bin", "offset", "9223372036854775807"}, {"location", "none"}} {
		if v, err := read(kv...); err == nil {
			t.Errorf("%q was read: %v", kv, v)
		}
	}
}

// TestExternalSparse: a file with a hole of terabytes takes no memory.
func TestExternalSparse(t *testing.T) {
	dir := t.TempDir()
	hole := filepath.Join(dir, "w.bin")
	if err := os.WriteFile(hole, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(hole, 4<<40); err != nil {
		t.Skipf("SKIPPED, nothing was tested: no sparse files here: %v", err)
	}
	place := append(bytesOf(13, append(bytesOf(1, []byte("location")), bytesOf(2, []byte("w.bin"))...)), intOf(14, 1)...)
	boundtest.Run(t, 0, 1<<20, 0, func() {
		x, err := (&parser{file: &File{dir: dir}}).tensor(tensorOf(1, []uint64{1 << 40}, place))
		if err == nil {
			_, err = x.Floats()
		}
		var refused FormatError
		if !errors.As(err, &refused) {
			t.Errorf("%v, want a FormatError", err)
		}
	})
}

// TestExternalTogether: all external data of a file together are bounded; reading twice counts once.
func TestExternalTogether(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), make([]byte, 64), 0o644); err != nil {
		t.Fatal(err)
	}
	place := append(bytesOf(13, append(bytesOf(1, []byte("location")), bytesOf(2, []byte("w.bin"))...)), intOf(14, 1)...)
	file := &File{dir: dir, external: maxExternal - 100}
	for k, want := range []string{"", "external data: no network"} {
		x, err := (&parser{file: file}).tensor(tensorOf(1, []uint64{16}, place))
		for range 3 {
			if err == nil {
				_, err = x.Floats()
			}
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("tensor %d: error %v, want %q", k, err, want)
		}
	}
}

func TestOutline(t *testing.T) {
	dir := t.TempDir()
	good := append(bytesOf(8, intOf(2, 17)), bytesOf(7, nil)...)
	for name, test := range map[string]struct {
		b    []byte
		want string
	}{
		"good":   {good, ""},
		"cut":    {good[:len(good)-1], "malformed"},
		"zeros":  {make([]byte, 1<<20), "not an ONNX file"},
		"beyond": {append([]byte{7<<3 | 2}, binary.AppendUvarint(nil, 1<<62)...), "beyond the file"},
		"empty":  {nil, "no graph"},
		"text":   {[]byte("this is a text and no network"), "not an ONNX file"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, test.b, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// FuzzParse: a file is read or refused with a FormatError.
func FuzzParse(f *testing.F) {
	f.Add(append(bytesOf(8, intOf(2, 17)), bytesOf(7, bytesOf(5, tensorOf(1, []uint64{2}, bytesOf(9, make([]byte, 8)))))...))
	f.Add(bytesOf(7, bytesOf(1, append(bytesOf(4, []byte("Relu")), bytesOf(5, append(bytesOf(1, []byte("a")), intOf(8, 3)...))...))))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(b, "")
		if err != nil {
			if !errors.As(err, new(FormatError)) {
				t.Errorf("error %T: %v", err, err)
			}
			return
		}
		for _, x := range file.Graph.Initializers {
			if v, err := x.Floats(); err == nil && len(v) > 8*len(b) {
				t.Errorf("%d elements of %d bytes", len(v), len(b))
			}
		}
	})
}
