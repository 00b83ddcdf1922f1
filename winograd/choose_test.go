package winograd_test

import (
	"fmt"
	"testing"

	"enhance/conv"
	"enhance/internal/planar"
	"enhance/winograd"
)

var (
	cpu = conv.Caps{CPU: true, Vector: 16, LocalMem: 256 << 10, MaxWorkGroup: 4096}
	gpu = conv.Caps{Vector: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024}
)

// TestChoose holds the choice against what was measured; see Choose.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		caps    conv.Caps
		k, c, o int
		h, w    int
		want    string
	}{
		{cpu, 1, 64, 64, 100, 100, ""},
		{cpu, 3, 3, 12, 720, 944, ""},
		{cpu, 3, 12, 12, 720, 944, "winograd-f6x3"},
		{cpu, 3, 24, 24, 720, 944, "winograd-f4x3"},
		{cpu, 3, 64, 64, 720, 236, "winograd-f4x3"},
		{cpu, 3, 96, 96, 90, 118, "winograd-f4x3"},
		{cpu, 3, 512, 128, 90, 124, "winograd-f4x3"},
		{cpu, 5, 32, 32, 720, 512, "winograd-f4x5"},
		{cpu, 5, 256, 64, 256, 256, "winograd-f4x5"},
		{cpu, 7, 192, 64, 256, 256, "winograd-f6x7"},
		{cpu, 9, 128, 32, 512, 512, "winograd-f6x9"},
		{cpu, 9, 1, 1, 512, 512, ""},
		{cpu, 3, 64, 64, 1, 1, ""},
		{gpu, 3, 3, 3, 512, 512, ""},
	} {
		s := conv.Shape{K: c.k, SrcC: []int{c.c}, OutC: c.o, H: c.h, W: c.w}
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			got := ""
			if a, impl := winograd.Choose(c.caps, s, p); impl != nil {
				got = a.Name()
			}
			if got != c.want {
				t.Errorf("%v, CPU %v, %s: chose %q, want %q", s, c.caps.CPU, p, got, c.want)
			}
		}
	}
}

// TestChoiceWorks: whatever is chosen accepts the shape, and does not round V to
// half.
func TestChoiceWorks(t *testing.T) {
	for _, caps := range []conv.Caps{cpu, gpu, {LocalMem: 32 << 10, MaxWorkGroup: 256}} {
		for _, k := range []int{1, 3, 5, 7, 9} {
			for _, c := range []int{1, 4, 24, 64, 512} {
				for _, hw := range []int{1, 40, 512} {
					s := conv.Shape{K: k, SrcC: []int{c}, OutC: c, H: hw, W: hw}
					for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
						a, impl := winograd.Choose(caps, s, p)
						if impl == nil {
							continue
						}
						if _, err := a.New(caps, s, p); err != nil {
							t.Errorf("%v: chose %s, which says %v", s, a.Name(), err)
						}
						e, err := a.(winograd.Convolution).ExpectedError(caps, s, p)
						if err != nil || e > 1e-5 {
							t.Errorf("%v, %s: %s has an error of %g, %v", s, p, a.Name(), e, err)
						}
					}
				}
			}
		}
	}
	for _, s := range []conv.Shape{{}, {K: 3}, {K: 3, SrcC: []int{4}, OutC: 4, H: -1, W: 5}} {
		if _, impl := winograd.Choose(cpu, s, planar.FP32); impl != nil {
			t.Errorf("chose an algorithm for %v", s)
		}
	}
}

// TestExpectedError holds the prediction against ErrorOf.
func TestExpectedError(t *testing.T) {
	for _, v := range winograd.Variants() {
		tr, err := v.Transform()
		if err != nil {
			t.Fatal(err)
		}
		s := conv.Shape{K: tr.R, SrcC: []int{64}, OutC: 8, H: 64, W: 64}
		measured, err := winograd.ErrorOf(tr, planar.FP32, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, err := winograd.Convolution{Variant: v}.ExpectedError(gpu, s, planar.FP32)
		if err != nil || got < measured/2 || got > 2*measured {
			t.Errorf("%s: expected %.2g, %v; measured %.2g", v, got, err, measured)
		}
	}
	if _, err := (winograd.Convolution{Variant: "f1x1"}).ExpectedError(gpu, conv.Shape{}, planar.FP32); err == nil {
		t.Error("no error for a variant that is not there")
	}
}

func ExampleChoose() {
	caps := conv.Caps{CPU: true, Vector: 16}
	a, impl := winograd.Choose(caps, conv.Shape{K: 5, SrcC: []int{64}, OutC: 64, H: 256, W: 256}, planar.FP32)
	fmt.Println(a.Name(), impl != nil)
	// Output: winograd-f4x5 true
}
