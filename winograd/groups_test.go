package winograd_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"enhance/conv"
	"enhance/internal/planar"
	"enhance/winograd"
)

// TestNeighbours: shapes around the rules' are found by their names, New takes them,
// weights get no longer, and CPUs have none.
func TestNeighbours(t *testing.T) {
	for _, caps := range []conv.Caps{gpu, {LocalMem: 32 << 10, MaxWorkGroup: 256}} {
		for _, s := range []conv.Shape{
			{K: 3, SrcC: []int{32}, OutC: 32, H: 500, W: 700}, {K: 3, SrcC: []int{64, 64}, OutC: 96, H: 100, W: 124}, {K: 5, SrcC: []int{7}, OutC: 20, H: 9, W: 1},
		} {
			for _, v := range winograd.Variants() {
				for _, form := range []winograd.Form{winograd.Tiled, winograd.Fused, winograd.ByDevice} {
					a := winograd.Convolution{Variant: v, Form: form, WideV: form == winograd.Tiled}
					own, err := a.New(caps, s, planar.FP16)
					if err != nil {
						continue
					}
					list := a.Neighbours(caps, s, planar.FP16)
					if len(list) < 2 || len(list) > 16 {
						t.Errorf("%s, %v: %d neighbours", a.Name(), s, len(list))
					}
					for _, n := range list {
						back, ok := winograd.Named(n.Name())
						if !ok || back != n {
							t.Errorf("%s gives %+v, %v", n.Name(), back, ok)
						}
						impl, err := n.New(caps, s, planar.FP16)
						if err != nil || impl.PackedLen() > own.PackedLen() || impl.Scratch(40) != own.Scratch(40) || impl.Granule() != own.Granule() {
							t.Errorf("%s beside %s, %v: error %v, or it needs other memory", n.Name(), a.Name(), s, err)
						}
						second := n.(conv.Shaped).Neighbours(caps, s, planar.FP16)
						if len(second) == 0 || slices.Contains(second, n) {
							t.Errorf("%s has %d neighbours, or itself", n.Name(), len(second))
						}
					}
					if n := a.Neighbours(cpu, s, planar.FP16); len(n) > 0 {
						t.Errorf("%s: %d shapes on a CPU", a.Name(), len(n))
					}
				}
			}
		}
	}
}

// TestGroupNames: names of shapes that no kernel takes are none.
func TestGroupNames(t *testing.T) {
	for _, n := range []string{
		"winograd-f4x3-b64x128t8i8-w32x4", "winograd-f4x3-tiled-b64x128t8i8", "winograd-f4x3-tiled-w32x4", "winograd-f4x3-tiled-b64x128t7i8-w32x4",
		"winograd-f4x3-tiled-b60x128t8i8-w32x4", "winograd-f4x3-tiled-b64x128t8i8-w12x4", "winograd-f4x3-tiled-b64x1024t8i8-w32x4",
		"winograd-f4x3-tiled-b0x0t0i0-w0x0", "winograd-f4x3-fused-b32r2", "winograd-f4x3-fused-b30r2i4", "winograd-f4x3-fused-b32r5i4",
		"winograd-f4x3-fused-b0r0i0", "winograd-f4x3-fused-b32r2i4-w32x4", "winograd-f4x3-strips-b32r2i4", "winograd-f4x3-tiled-b64x128t8i8-w32x4-b64x128t8i8-w32x4",
	} {
		if a, ok := winograd.Named(n); ok {
			t.Errorf("%q gives %+v", n, a)
		}
	}
	s := conv.Shape{K: 3, SrcC: []int{8}, OutC: 16, H: 9, W: 9}
	for _, n := range []string{"winograd-f4x3-fused-b32r1i4", "winograd-f4x3-tiled-b64x128t8i8-w32x4", "winograd-f4x3-tiled-b16x64t4i8-w32x8"} {
		a, ok := winograd.Named(n)
		if !ok {
			t.Fatalf("%s is not found", n)
		}
		if _, err := a.New(conv.Caps{LocalMem: 16 << 10, MaxWorkGroup: 64}, s, planar.FP32); err == nil {
			t.Errorf("%s fits 64 work-items and 16 KiB", n)
		}
	}
	if _, err := (winograd.Convolution{Variant: winograd.V2x3, Form: winograd.Fused, Groups: winograd.Groups{Outputs: 32, Each: 3, Stage: 4}}).New(gpu, s, planar.FP32); err == nil {
		t.Error("16 products divide by 3")
	}
}

// TestGroupBytes: work-groups of any shape make the same bytes, which are right. A CPU's
// compiler takes minutes for the fused form.
func TestGroupBytes(t *testing.T) {
	d := openDevice(t)
	caps := gpu
	s := conv.Shape{K: 3, SrcC: []int{3, 6}, OutC: 20, H: 13, W: 70}
	forms := [][]string{
		{"winograd-f2x3-tiled", "winograd-f2x3-tiled-b8x64t4i4-w16x4", "winograd-f2x3-tiled-b24x32t8i3-w64x2"},
	}
	precisions := []planar.Precision{planar.FP32}
	if !d.caps().CPU || os.Getenv("ENHANCE_LONG") == "1" {
		precisions = append(precisions, planar.FP16)
		forms = append(forms, []string{"winograd-f2x3-fused", "winograd-f2x3-fused-b32r2i4", "winograd-f2x3-fused-b32r4i2", "winograd-f2x3-fused-b8r1i5"},
			[]string{"winograd-f4x3-tiled", "winograd-f4x3-tiled-b64x64t8i16-w8x16"}, []string{"winograd-f4x3-fused", "winograd-f4x3-fused-b32r3i2"})
	}
	for _, p := range precisions {
		j := newJob(s, p, true, 5)
		j.cuts = []int{4}
		exact := j.reference()
		for _, names := range forms {
			t.Run(fmt.Sprintf("%s/%s", names[0], p), func(t *testing.T) {
				var want []float32
				for _, n := range names {
					a, ok := winograd.Named(n)
					if !ok {
						t.Fatalf("%s is not found", n)
					}
					got, err := j.run(d, a, caps)
					if err != nil {
						t.Fatalf("%s: %v", n, err)
					}
					if want == nil {
						want = got
					}
					if e := relativeRMS(got, exact); !(e < 1e-3) {
						t.Errorf("%s: the relative error is %g", n, e)
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s and %s differ", n, names[0])
					}
				}
			})
		}
	}
}
