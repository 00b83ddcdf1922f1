package tensorfile_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"enhance/internal/atomicfile"
	"enhance/internal/boundtest"
	"enhance/internal/tensorfile"
	"enhance/model"
	"enhance/raw"
)

func TestOpen(t *testing.T) {
	shape, x, err := tensorfile.Open("formula:gold:3x2", 4, model.Shape{})
	if err != nil || shape != (model.Shape{C: 4, H: 2, W: 3}) || math.Abs(float64(x[0])-0.34222281) > 1e-7 || math.Abs(float64(x[3])-0.77324218) > 1e-7 {
		t.Errorf("formula input %+v, %v", x, err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.f32")
	if err := tensorfile.Write(path, x, false); err != nil {
		t.Fatal(err)
	}
	if err := tensorfile.Write(path, x, false); !errors.Is(err, atomicfile.ErrExists) {
		t.Errorf("writing over a file: %v", err)
	}
	_, y, err := tensorfile.Open(path, 4, shape)
	if err != nil || !slices.Equal(x, y) {
		t.Errorf("a file read back differs: %v", err)
	}
	for _, c := range []struct {
		spec  string
		shape model.Shape
		want  any
	}{
		{path, model.Shape{}, new(*raw.OptionError)},
		{path, model.Shape{C: 4, H: 2, W: 4}, new(*raw.FormatError)},
		{filepath.Join(dir, "none.f32"), shape, new(syscall.Errno)},
		{dir, shape, new(syscall.Errno)},
		{"formula:gold", model.Shape{}, new(*raw.OptionError)},
		{"formula:gold:0x4", model.Shape{}, new(*raw.OptionError)},
		{"formula:gold:99999999x4", model.Shape{}, new(*raw.OptionError)},
	} {
		if _, _, err := tensorfile.Open(c.spec, 4, c.shape); !errors.As(err, c.want) {
			t.Errorf("%s of %v: %v, want %T", c.spec, c.shape, err, c.want)
		}
	}
}

// FuzzRead: a file is read if it has as many samples as were asked for, and no other.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 1, 2, 3, 4}, uint32(2))
	f.Add([]byte{0, 0, 128, 63, 1}, uint32(1))
	f.Add([]byte{}, uint32(math.MaxUint32))
	f.Fuzz(func(t *testing.T, b []byte, n uint32) {
		path := filepath.Join(t.TempDir(), "x.f32")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int64{int64(n), int64(len(b) / 4), int64(n) << 28} {
			var v []float32
			var err error
			boundtest.Run(t, len(b), 1<<20, 10, func() { v, err = tensorfile.Read(path, n) })
			if fits := 4*n == int64(len(b)) && n < 1<<40; fits != (err == nil) || fits && int64(len(v)) != n {
				t.Errorf("%d samples of %d bytes: %d read, %v", n, len(b), len(v), err)
			}
			if err != nil && !errors.As(err, new(*raw.FormatError)) {
				t.Errorf("error of another kind: %v", err)
			}
		}
	})
}

func FuzzParseShape(f *testing.F) {
	for _, s := range []string{"4,96,128", "1,1,1", "4,,128", "-1,2,3", "4,96,128,1", "9999999999,1,1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shape, err := tensorfile.ParseShape(s)
		if err == nil && (shape.C < 1 || shape.H < 1 || shape.W < 1 || shape.Elems() < 1) {
			t.Errorf("%q gives %v", s, shape)
		}
		if err != nil && !errors.As(err, new(*raw.OptionError)) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
