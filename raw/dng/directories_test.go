package dng

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

func realHead(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/gopro-hero7-head.bin")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDirectoriesOfCamera lists what a camera wrote, although its pixels are not read.
func TestDirectoriesOfCamera(t *testing.T) {
	b := realHead(t)
	list, err := Directories(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	d := list[0]
	if d.Kind != "full size" || d.Content != "mosaic" || d.Width != 4000 || d.Height != 3000 || d.Bits != 16 || d.Compression != "VC-5 (GoPro)" {
		t.Errorf("%+v", d)
	}
	if len(d.Opcodes) != 4 || d.Opcodes[0] != "GainMap (list 2)" {
		t.Errorf("%q", d.Opcodes)
	}
}

// FuzzDirectories walks the directories of any file, from a camera's and from ours.
func FuzzDirectories(f *testing.F) {
	f.Add(realHead(f))
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		s := spec(4, 4, 16)
		s.Order, s.InSubIFD = order, true
		f.Add(write(f, s))
		s.Big = true
		f.Add(write(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var err error
		boundtest.Run(t, len(b), 4<<20, 1000, func() { _, err = Directories(bytes.NewReader(b), int64(len(b))) })
		var fe *rawerr.FormatError
		if err != nil && !errors.As(err, &fe) {
			t.Fatalf("error of no documented kind: %v", err)
		}
		boundtest.Run(t, len(b), 4<<20, 1000, func() { _, err = Open(bytes.NewReader(b), int64(len(b))) })
		if err != nil {
			var ue *rawerr.UnsupportedError
			if !errors.As(err, &fe) && !errors.As(err, &ue) {
				t.Fatalf("error of no documented kind: %v", err)
			}
		}
	})
}
