package raw

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"enhance/raw/opcode"
)

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := smallSpec()
	s.InSubIFD = true
	s.Opcodes = smallOpcodes()
	s.Opcodes[1] = append(s.Opcodes[1], opcode.Operation{ID: 99, Optional: true, Version: [4]byte{1, 6}})
	f, err := Inspect(file("a.dng", dngBytes(t, s)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.Photo == nil || f.Refused != "" || len(f.Images) != 2 || f.Images[1].Content != "mosaic" || f.Images[0].Kind != "reduced size" {
		t.Errorf("%+v", f)
	}
	want := []string{"1 FixBadPixelsList applied to the samples", "2 GainMap applied to the mosaic", "2 TrimBounds the crop is cut",
		"2 opcode 99 not applied: it is unknown", "3 FixVignetteRadial applied to the rows", "3 WarpFisheye applied to the developed picture"}
	if len(f.Opcodes) != len(want) {
		t.Fatalf("%+v", f.Opcodes)
	}
	for i, op := range f.Opcodes {
		if got := string(rune('0'+op.List)) + " " + op.Name + " " + op.Done; !strings.HasPrefix(got, want[i]) {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
	if f.Opcodes[3].Version != "1.6" || !f.Opcodes[3].Optional {
		t.Errorf("%+v", f.Opcodes[3])
	}

	// A photo that is not read still tells what it is.
	s.Opcodes[1][2].Optional = false
	f, err = Inspect(file("b.dng", dngBytes(t, s)), Options{})
	if err != nil || f.Photo != nil || !strings.Contains(f.Refused, "opcode 99") || len(f.Images) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = Inspect(file("c.jpg", []byte("\xff\xd8\xff\xe0 and so on")), Options{})
	if err != nil || !strings.Contains(f.Refused, "JPEG picture") || f.Images != nil {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := Inspect(filepath.Join(dir, "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	f, err = Inspect(samples+"colorchart.dng", Options{})
	if err != nil || f.Photo.Make != "Canon" || f.Images[0].Compression != "uncompressed" {
		t.Errorf("%+v, %v", f, err)
	}
}
