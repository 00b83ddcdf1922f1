package mma

import (
	"testing"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// TestChoose checks that every shape has a variant that the smallest local
// memory of matrix devices, 48 KiB, holds, and that covers all outputs with less
// than a third of them wasted.
func TestChoose(t *testing.T) {
	const localMem = 48 << 10
	for _, p := range []Precision{FP16, TF32, FP32} {
		for k := 1; k <= 9; k += 2 {
			for outs := 1; outs <= 600; outs++ {
				s := conv.Shape{K: k, SrcC: []int{16}, OutC: outs, H: 100, W: 100}
				v := choose(p, s, localMem)
				if n := v.localBytes(p, k); n > most(v, localMem) {
					t.Fatalf("%s, k=%d, %d outputs: %+v takes %d bytes of local memory", p, k, outs, v, n)
				}
				if v.group() > 512 || v.mt < 1 || v.piece < 1 || v.ahead < 0 {
					t.Fatalf("%s, k=%d, %d outputs: %+v", p, k, outs, v)
				}
				made := ceilDiv(outs, v.outputs()) * v.outputs()
				if outs > 5*8 && outs%32 == 0 && made*2 > outs*3 {
					t.Errorf("%s, k=%d: %+v makes %d outputs for %d", p, k, v, made, outs)
				}
			}
		}
	}
}

// TestNames checks that kernels of one name are the same, and that the channels of a
// layer do not make another kernel of it: each takes half a second to compile.
func TestNames(t *testing.T) {
	texts := map[string]string{}
	for _, c := range []int{32, 40, 64, 128, 192} {
		for _, k := range []int{3, 5} {
			made, err := Algo(FP16).New(conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024, Units: conv.Units{Matrix: true}}, conv.Shape{K: k, SrcC: []int{c}, OutC: 32, H: 100, W: 100}, planar.FP16)
			if err != nil {
				t.Fatal(err)
			}
			summed, _ := made.(*impl).Summed()
			for _, m := range []conv.Impl{made, summed, made.(*impl).Scaled(fuse.LeakyReLU)} {
				kernel := m.Kernels()[0]
				if text, ok := texts[kernel.Name]; ok && text != kernel.Source {
					t.Errorf("two different kernels are named %s", kernel.Name)
				}
				texts[kernel.Name] = kernel.Source
			}
		}
	}
	if len(texts) != 8 { // of each size plain, with statistics, and two with norms
		t.Errorf("%d kernels", len(texts))
	}
}
