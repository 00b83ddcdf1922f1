package imgio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

// TestOrientations turns "abc/def" by each and compares with the EXIF
// specification's meaning, written out.
func TestOrientations(t *testing.T) {
	want := map[int]string{
		1: "abc/def", 2: "cba/fed", 3: "fed/cba", 4: "def/abc",
		5: "ad/be/cf", 6: "da/eb/fc", 7: "fc/eb/da", 8: "cf/be/ad",
	}
	for o, picture := range want {
		for _, bits := range []int{8, 16} {
			t.Run(fmt.Sprintf("%d/%d", o, bits), func(t *testing.T) {
				w, h := OrientedSize(3, 2, o)
				var out bytes.Buffer
				png, err := NewPNG(&out, Header{Width: w, Height: h, Bits: bits})
				if err != nil {
					t.Fatal(err)
				}
				rw, err := Oriented(png, Header{Width: 3, Height: 2, Bits: bits}, o)
				if err != nil {
					t.Fatal(err)
				}
				src := &RGB16{Width: 3, Height: 2, Bits: bits}
				for _, c := range "abcdef" {
					src.Pix = append(src.Pix, uint16(c)*257, uint16(c+1)*257, uint16(c+2)*257)
				}
				writeRows(t, rw, src)
				got, m := "", decode(t, out.Bytes())
				for y := range m.Height {
					if y > 0 {
						got += "/"
					}
					for x := range m.Width {
						p := m.Row(y)[3*x:]
						if p[1] != p[0]+257 || p[2] != p[0]+2*257 {
							t.Fatalf("components torn apart: %v", p[:3])
						}
						got += string(rune(p[0] / 257))
					}
				}
				if got != picture {
					t.Errorf("got %s, want %s", got, picture)
				}
			})
		}
	}
}

// TestOrientationTwice: every orientation has an inverse, 6 and 8 each other's.
func TestOrientationTwice(t *testing.T) {
	m := picture(45, 37)
	for o := 1; o <= 8; o++ {
		back := o
		if o == 6 || o == 8 {
			back = 14 - o
		}
		w, h := OrientedSize(45, 37, o)
		var out bytes.Buffer
		png, err := NewPNG(&out, Header{Width: 45, Height: 37, Bits: 16})
		if err != nil {
			t.Fatal(err)
		}
		second, err := Oriented(png, Header{Width: w, Height: h, Bits: 16}, back)
		if err != nil {
			t.Fatal(err)
		}
		first, err := Oriented(second, Header{Width: 45, Height: 37, Bits: 16}, o)
		if err != nil {
			t.Fatal(err)
		}
		writeRows(t, first, m)
		wantSame(t, decode(t, out.Bytes()), m)
	}
}

func TestOrientedErrors(t *testing.T) {
	png, err := NewPNG(io.Discard, Header{Width: 3, Height: 2, Bits: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []int{-1, 0, 9} {
		if _, err := Oriented(png, Header{Width: 3, Height: 2, Bits: 8}, o); !errors.Is(err, ErrHeader) {
			t.Errorf("orientation %d: %v", o, err)
		}
	}
	if _, err := Oriented(png, Header{Width: maxSide, Height: maxSide, Bits: 16}, 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	// A writer made for the stored size, not the upright one, complains.
	rw, err := Oriented(png, Header{Width: 3, Height: 2, Bits: 8}, 6)
	if err != nil {
		t.Fatal(err)
	}
	rw.WriteRow(make([]uint16, 9))
	rw.WriteRow(make([]uint16, 9))
	if err := rw.Close(); !errors.Is(err, ErrRows) {
		t.Errorf("mismatched writer: %v", err)
	}
}
