package mma

import (
	"testing"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// TestCandidates: names of candidates are unique, lead back to them, and all are
// accepted.
func TestCandidates(t *testing.T) {
	caps := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024, Units: conv.Units{Matrix: true}}
	for _, p := range []Precision{FP16, TF32, FP32} {
		for _, shapes := range benchShapes {
			for _, d := range shapes {
				s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: fuse.LeakyReLU}
				names := map[string]bool{Algo(p).Name(): true}
				list := Candidates(p, caps, s)
				if len(list) < 3 {
					t.Errorf("%s %v: only %d candidates", p, s, len(list))
				}
				for _, a := range list {
					if names[a.Name()] {
						t.Errorf("%s %v: %s twice", p, s, a.Name())
					}
					names[a.Name()] = true
					back, ok := Named(a.Name())
					if !ok || back.Name() != a.Name() {
						t.Errorf("%s is not found by its name", a.Name())
						continue
					}
					if _, err := back.New(caps, s, p.Storage()); err != nil {
						t.Errorf("%s %v: %v", a.Name(), s, err)
					}
				}
			}
		}
	}
}

func TestNamedRefuses(t *testing.T) {
	for _, name := range []string{"", "mma-", "mma-m0x1-r1x1-w1x3-a0", "mma-m2x1-r2x4-w9x2-a1x", "mma-m2x1-r2x4-w3x3", "mma-fp8", "mma-m99x1-r2x4-w9x2-a1", "mma-m02x1-r2x4-w3x3-a1"} {
		if a, ok := Named(name); ok {
			t.Errorf("%q gives %s", name, a.Name())
		}
	}
	a, ok := Named("mma-tf32")
	if !ok || a.Name() != "mma-tf32" {
		t.Fatal(a, ok)
	}
	if _, err := a.New(conv.Caps{}, conv.Shape{K: 3, SrcC: []int{4}, OutC: 4, H: 9, W: 9}, planar.FP32); err == nil {
		t.Error("accepted without local memory")
	}
}
