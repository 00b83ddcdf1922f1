package winograd

import (
	"testing"

	"enhance/conv"
	"enhance/internal/planar"
)

func TestNamed(t *testing.T) {
	var all []Convolution
	for _, v := range Variants() {
		for _, f := range []Form{ByDevice, Strips, Tiled, Fused} {
			for _, wide := range []bool{false, true} {
				all = append(all, Convolution{Variant: v, Form: f, WideV: wide})
			}
		}
	}
	for _, want := range all {
		if got, ok := Named(want.Name()); !ok || got != want {
			t.Errorf("%s gives %+v, %v", want.Name(), got, ok)
		}
	}
	for _, name := range []string{"", "winograd-", "winograd-f4x3-", "winograd-f5x3", "winograd-f4x3-c8", "winograd-f4x3-v32-tiled",
		"winograd-f4x3-tiled-fused", "winograd-f4x3-v32-v32", "f4x3", "winograd--f4x3"} {
		if got, ok := Named(name); ok {
			t.Errorf("%q gives %+v", name, got)
		}
	}
}

// TestCandidatesHoldTheChoice: what Choose takes is always worth measuring.
func TestCandidatesHoldTheChoice(t *testing.T) {
	for _, caps := range []conv.Caps{{CPU: true, Vector: 16}, {CPU: true, Vector: 8}, {Vector: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024}} {
		for _, k := range []int{3, 5, 7, 9} {
			for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
				s := conv.Shape{K: k, SrcC: []int{128}, OutC: 64, H: 360, W: 496}
				chosen, impl := Choose(caps, s, p)
				if impl == nil {
					continue
				}
				found := false
				for _, a := range Candidates(caps, s, p) {
					found = found || a == chosen
				}
				if !found {
					t.Errorf("%+v %v %s: %s is not a candidate", caps, s, p, chosen.Name())
				}
			}
		}
	}
}
