package conv_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// gpu is what a GPU says of itself. CPU devices run its kernels too, slowly.
var gpu = conv.Caps{Vector: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024}

// TestRegistryContract holds every algorithm of the registry to the contract in both
// precisions, and those that have a form for GPUs in that form too.
func TestRegistryContract(t *testing.T) {
	d := convtest.Device(t)
	own := conv.CapsOf(d.Info())
	for _, a := range conv.Registry(own) {
		if name := a.Name(); name == "direct-rows" || name == "direct-tile" {
			continue // TestContract's
		}
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			c := convtest.Config{Algo: a, Device: d, Precision: p}
			if own.CPU && a.Name() == "direct-packed" {
				c.Cases = convtest.Cases(3) // a GPU's kernel compiles slowly for a CPU
			}
			t.Run(fmt.Sprintf("%s/device/%s", a.Name(), p), func(t *testing.T) { convtest.Run(t, c) })
			if name := a.Name(); own.CPU && name == "implicit-gemm" {
				c.Caps, c.Cases = &gpu, convtest.Cases(3)
				t.Run(fmt.Sprintf("%s/gpu/%s", a.Name(), p), func(t *testing.T) { convtest.Run(t, c) })
			}
		}
	}
}

// TestWideKernels: the naive algorithm reflects by itself, so it does kernels
// that reach beyond the rim; the others say so and name it.
func TestWideKernels(t *testing.T) {
	d := convtest.Device(t)
	wide := func(rng *rand.Rand) conv.Shape {
		s := convtest.AnyShape(rng)
		s.K = 11 + 2*rng.IntN(2)
		return s
	}
	convtest.Run(t, convtest.Config{Algo: conv.Simple{}, Device: d, Draw: wide, Cases: 4})
	for _, c := range []conv.Caps{conv.CapsOf(d.Info()), gpu} {
		for _, a := range []conv.Algo{conv.Packed{}, conv.ImplicitGEMM{}} {
			_, err := a.New(c, conv.Shape{K: 11, SrcC: []int{4}, OutC: 4, H: 8, W: 8}, planar.FP32)
			if err == nil || !strings.Contains(err.Error(), "11x11") || !strings.HasSuffix(err.Error(), "; direct-naive does") {
				t.Errorf("%s does 11x11: error %v", a.Name(), err)
			}
		}
	}
}

func TestRegistryNames(t *testing.T) {
	cpu := conv.Caps{CPU: true, Vector: 8}
	for _, c := range []conv.Caps{cpu, gpu} {
		var names []string
		for _, a := range conv.Registry(c) {
			names = append(names, a.Name())
		}
		if names[0] != conv.Direct(c).Name() {
			t.Errorf("%s comes first, not the direct one", names[0])
		}
		if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("names are not unique: %q", names)
		}
	}
}

// TestShapesThatAreNone: New refuses them instead of failing later.
func TestShapesThatAreNone(t *testing.T) {
	good := conv.Shape{K: 3, SrcC: []int{4}, OutC: 4, H: 8, W: 8}
	for name, spoil := range map[string]func(*conv.Shape){
		"no kernel":         func(s *conv.Shape) { s.K = 0 },
		"no sources":        func(s *conv.Shape) { s.SrcC = nil },
		"too many sources":  func(s *conv.Shape) { s.SrcC = []int{1, 1, 1, 1, 1} },
		"an empty source":   func(s *conv.Shape) { s.SrcC = []int{4, 0} },
		"no output":         func(s *conv.Shape) { s.OutC = 0 },
		"an empty plane":    func(s *conv.Shape) { s.W = 0 },
		"a negative height": func(s *conv.Shape) { s.H = -1 },
	} {
		s := good
		spoil(&s)
		for _, a := range []conv.Algo{conv.Simple{}, conv.Packed{}, conv.ImplicitGEMM{}} {
			if _, err := a.New(gpu, s, planar.FP32); err == nil {
				t.Errorf("%s accepts %s", a.Name(), name)
			}
		}
	}
}

// TestImplicitTiles tries every tile, also those that small shapes never get.
func TestImplicitTiles(t *testing.T) {
	d := convtest.Device(t)
	if conv.CapsOf(d.Info()).CPU && convtest.Cases(1) == 1 {
		t.Skip("SKIPPED: a CPU's compiler takes minutes for all tiles; ENHANCE_LONG=1, make oclgrind and GPUs try them")
	}
	for i := range conv.ImplicitTiles {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			defer conv.OnlyImplicitTile(i)()
			draw := func(rng *rand.Rand) conv.Shape {
				return conv.Shape{K: 3, SrcC: []int{1 + rng.IntN(6), 3}, OutC: 1 + rng.IntN(80), H: 1 + rng.IntN(9), W: 1 + rng.IntN(90)}
			}
			convtest.Run(t, convtest.Config{Algo: conv.ImplicitGEMM{}, Device: d, Caps: &gpu, Draw: draw, Cases: convtest.Cases(3)})
		})
	}
}
