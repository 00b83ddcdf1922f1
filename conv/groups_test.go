package conv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// named finds a shape of work-groups by its name.
func named(name string) (conv.Algo, bool) {
	if g, ok := conv.TileGroupNamed(name); ok {
		return g, true
	}
	g, ok := conv.ImplicitGroupNamed(name)
	return g, ok
}

// group is named for names that are some.
func group(name string) conv.Algo {
	a, ok := named(name)
	if !ok {
		panic(name + " is no algorithm")
	}
	return a
}

// TestNeighbours: all shapes within three steps of the rule's are found by their
// names, hold within the device and need no more memory for weights; there are more
// than a few and less than hundreds, and none on CPUs.
func TestNeighbours(t *testing.T) {
	small := conv.Caps{LocalMem: 16 << 10, MaxWorkGroup: 128}
	for _, c := range []conv.Caps{gpu, small} {
		for _, s := range []conv.Shape{
			{K: 3, SrcC: []int{32}, OutC: 32, H: 500, W: 700}, {K: 9, SrcC: []int{3}, OutC: 12, H: 40, W: 70},
			{K: 1, SrcC: []int{64, 64}, OutC: 100, H: 64, W: 64}, {K: 5, SrcC: []int{1}, OutC: 1, H: 1, W: 1},
		} {
			for _, first := range []conv.Shaped{conv.Tile{}, conv.ImplicitGEMM{}} {
				own, err := first.New(c, s, planar.FP32)
				if err != nil {
					t.Fatal(err)
				}
				seen, front := map[string]bool{}, []conv.Algo{first}
				for range 3 {
					var next []conv.Algo
					for _, a := range front {
						for _, n := range a.(conv.Shaped).Neighbours(c, s, planar.FP32) {
							if !seen[n.Name()] {
								seen[n.Name()] = true
								next = append(next, n)
							}
						}
					}
					front = next
				}
				if len(seen) < 3 || len(seen) > 200 {
					t.Errorf("%s, %v: %d shapes", first.Name(), s, len(seen))
				}
				for n := range seen {
					a, ok := named(n)
					if !ok || a.Name() != n {
						t.Fatalf("%s is not found by its name", n)
					}
					impl, err := a.New(c, s, planar.FP32)
					if err != nil || impl.PackedLen() > own.PackedLen() {
						t.Errorf("%s: %v, error %v", n, s, err)
					}
				}
				cpu := c
				cpu.CPU = true
				if n := first.Neighbours(cpu, s, planar.FP32); len(n) != 0 {
					t.Errorf("%s: %d shapes on a CPU", first.Name(), len(n))
				}
			}
		}
	}
}

// TestGroupNames: names that no kernel exists for are none.
func TestGroupNames(t *testing.T) {
	for _, n := range []string{
		"direct-tile-o8y4n2c8x", "direct-tile-o6y4n2c8", "direct-tile-o8y0n2c8", "direct-tile-o8y4n2c257", "direct-tile-o20y4n2c8", "direct-tile-o08y4n2c8",
		"implicit-gemm-m8x16-n8x8", "implicit-gemm-m6x16-n8x8-k16", "implicit-gemm-m8x5-n8x8-k16", "implicit-gemm-m8x16-n8x8-k3",
		"implicit-gemm-m16x16-n16x8-k16", "implicit-gemm-m8x256-n8x257-k16", "implicit-gemm-m-8x16-n8x8-k16",
	} {
		if a, ok := named(n); ok {
			t.Errorf("%q gives %+v", n, a)
		}
	}
	s := conv.Shape{K: 3, SrcC: []int{8}, OutC: 16, H: 9, W: 9}
	for _, a := range []conv.Algo{group("direct-tile-o8y16n8c1"), group("implicit-gemm-m8x32-n8x32-k32"), group("direct-tile-o8y4n1c8"), group("implicit-gemm-m8x8-n8x8-k16"), conv.ImplicitGroup{Pixels: 7, Across: 8, Outputs: 8, Along: 8, Terms: 16}, conv.TileGroup{}} {
		if _, err := a.New(conv.Caps{LocalMem: 4 << 10, MaxWorkGroup: 64}, s, planar.FP32); err == nil {
			t.Errorf("%s fits 64 work-items and 4 KiB", a.Name())
		}
	}
}

// TestGroupBytes: work-groups of any shape make the same bytes. A CPU's compiler takes
// a minute for kernels of large work-items or wide filters, which are left to
// ENHANCE_LONG=1 and GPUs.
func TestGroupBytes(t *testing.T) {
	d := convtest.Device(t)
	rng := rand.New(rand.NewPCG(1, 9))
	s := conv.Shape{K: 1, SrcC: []int{5, 12}, OutC: 20, H: 11, W: 70}
	tiles := []conv.Algo{group("direct-tile-o4y2n3c2"), group("direct-tile-o4y4n1c5")}
	products := []conv.Algo{group("implicit-gemm-m4x8-n4x4-k2"), group("implicit-gemm-m4x8-n4x8-k4")}
	precisions, sets := []planar.Precision{planar.FP32}, [][]conv.Algo{tiles}
	if !conv.CapsOf(d.Info()).CPU || convtest.Cases(1) > 1 {
		s.K, precisions = 3, append(precisions, planar.FP16)
		tiles = append(tiles, conv.Tile{}, group("direct-tile-o12y8n2c5"), group("direct-tile-o16y1n2c16"))
		products = append(products, conv.ImplicitGEMM{}, group("implicit-gemm-m4x16-n8x2-k8"), group("implicit-gemm-m16x8-n4x8-k32"))
		sets = [][]conv.Algo{tiles, products}
	}
	for _, p := range precisions {
		for _, all := range sets {
			t.Run(fmt.Sprintf("%s/%s", all[0].Name(), p), func(t *testing.T) {
				b := convtest.Open(t, d, p, 3)
				defer b.Release()
				var src []*convtest.Plane
				for _, c := range s.SrcC {
					src = append(src, b.Random(c, s.H, s.W))
				}
				weights, bias := b.Random(s.OutC, s.InC(), s.K*s.K).V, b.Random(1, 1, s.OutC).V
				cut := 1 + rng.IntN(s.H-1)
				var want *convtest.Plane
				for _, a := range all {
					impl, err := a.New(gpu, s, p)
					b.Must(err)
					kernel := b.Build(impl.Kernels())[impl.Kernels()[0].Name]
					args := &conv.Args{Slope: 0.25}
					for _, plane := range src {
						args.Src = append(args.Src, b.Source(plane, b.Anywhere(plane.C, s.H, s.H), 0, s.H).Ring)
					}
					dst, got := b.Target(s.OutC, s.H, s.W, b.Anywhere(s.OutC, s.H, s.H)), convtest.NewPlane(s.OutC, s.H, s.W)
					args.Dst = dst.Ring
					packed := b.Floats(impl.Pack(weights, bias))
					for _, rows := range [][2]int{{0, cut}, {cut, s.H}} {
						args.Y0, args.Y1 = rows[0], rows[1]
						b.Must(impl.Launch(b.Queue, []*clrt.Kernel{kernel}, packed, args))
					}
					dst.Take(got, 0, s.H)
					if want == nil {
						want = got
						continue
					}
					b.Same(a.Name(), got, want)
				}
			})
		}
	}
}

// TestGroupContract holds shapes that the rules do not choose to the contract.
func TestGroupContract(t *testing.T) {
	d := convtest.Device(t)
	if conv.CapsOf(d.Info()).CPU && convtest.Cases(1) == 1 {
		t.Skip("SKIPPED: a CPU's compiler takes minutes for filters of all widths; ENHANCE_LONG=1 and GPUs try them")
	}
	for _, a := range []conv.Algo{group("direct-tile-o4y2n2c4"), group("implicit-gemm-m4x8-n4x8-k4")} {
		t.Run(a.Name(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: a, Device: d, Caps: &gpu, Cases: convtest.Cases(3), Families: 2})
		})
	}
}
