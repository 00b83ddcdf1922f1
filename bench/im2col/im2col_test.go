package im2col_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"enhance/bench/im2col"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// gpu is what a GPU says of itself. CPU devices run its kernels too, slowly.
var gpu = conv.Caps{Vector: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024}

// TestContract holds the device's form to the contract of convolutions, and the form for
// GPUs in both precisions.
func TestContract(t *testing.T) {
	d := convtest.Device(t)
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		c := convtest.Config{Algo: im2col.Device{}, Reflects: true, Device: d, Precision: p}
		t.Run("device/"+p.String(), func(t *testing.T) { convtest.Run(t, c) })
		c.Caps, c.Cases = &gpu, convtest.Cases(3)
		t.Run("gpu/"+p.String(), func(t *testing.T) { convtest.Run(t, c) })
	}
}

// TestOclgrind runs the kernels of both kinds of device once on small shapes, for
// scripts/oclgrind.sh to watch.
func TestOclgrind(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("SKIPPED: only of use in oclgrind, by scripts/oclgrind.sh")
	}
	small := func(rng *rand.Rand) conv.Shape {
		return conv.Shape{K: 1 + 2*rng.IntN(2), SrcC: []int{1 + rng.IntN(5), 2}, OutC: 1 + rng.IntN(20), H: 1 + rng.IntN(4), W: 1 + rng.IntN(70)}
	}
	for _, caps := range []conv.Caps{{CPU: true, Vector: 8, LocalMem: 32 << 10, MaxWorkGroup: 64}, {Vector: 1, LocalMem: 32 << 10, MaxWorkGroup: 256}} {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("cpu=%t/%s", caps.CPU, p), func(t *testing.T) {
				convtest.Run(t, convtest.Config{Algo: im2col.Device{Cap: 4000}, Reflects: true, Device: convtest.Device(t), Caps: &caps, Precision: p, Draw: small, Cases: 2})
			})
		}
	}
}

// TestRefuses: kernels wider than the rim, and what is no convolution.
func TestRefuses(t *testing.T) {
	for _, c := range []conv.Caps{{CPU: true, Vector: 8}, gpu} {
		_, err := im2col.Device{}.New(c, conv.Shape{K: 11, SrcC: []int{4}, OutC: 4, H: 8, W: 8}, planar.FP32)
		if err == nil || !strings.Contains(err.Error(), "11x11") || !strings.HasSuffix(err.Error(), "; direct-naive does") {
			t.Errorf("does 11x11: error %v", err)
		}
		if _, err := (im2col.Device{}).New(c, conv.Shape{K: 3, SrcC: []int{4, 0}, OutC: 4, H: 8, W: 8}, planar.FP32); err == nil {
			t.Error("accepts an empty source")
		}
	}
}

// TestInPieces: a launch whose scratch holds a row or a few at a time makes
// the same contract hold.
func TestInPieces(t *testing.T) {
	d := convtest.Device(t)
	for _, limit := range []int64{1, 20000} {
		convtest.Run(t, convtest.Config{Algo: im2col.Device{Cap: limit}, Reflects: true, Device: d, Cases: convtest.Cases(6)})
	}
}

// TestScratchIsBounded: by the cap, or by one row.
func TestScratchIsBounded(t *testing.T) {
	s := conv.Shape{K: 3, SrcC: []int{8}, OutC: 8, H: 500, W: 64}
	row := int64(64 * 72 * 4)
	for _, c := range []struct{ limit, rows, want int64 }{
		{1, 1, row}, {1, 500, row}, {3*row + 1, 2, 2 * row}, {3*row + 1, 500, 3 * row}, {1 << 40, 500, 500 * row},
	} {
		for _, caps := range []conv.Caps{gpu, {CPU: true, Vector: 16}} {
			impl, err := im2col.Device{Cap: c.limit}.New(caps, s, planar.FP32)
			if err != nil {
				t.Fatal(err)
			}
			if got := impl.Scratch(int(c.rows)); got != c.want {
				t.Errorf("cap %d, %d rows: %d bytes, want %d", c.limit, c.rows, got, c.want)
			}
		}
	}
}

// TestHost holds the split between host and device to direct-naive on
// random shapes in strips of every height, kernels wider than the rim included;
// both have the same order of sums, so they may differ only as compilers contract.
func TestHost(t *testing.T) {
	d := convtest.Device(t)
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		for seed := range uint64(convtest.Cases(8)) {
			rng := rand.New(rand.NewPCG(seed, 4))
			s := convtest.AnyShape(rng)
			if seed == 1 {
				s.K = 11
			}
			s.SrcC = []int{s.InC()} // the host has one tensor
			t.Run(fmt.Sprintf("%s/%d/%v", p, seed, s), func(t *testing.T) {
				b := convtest.Open(t, d, p, seed)
				defer b.Release()
				runHost(b, s, rng)
			})
		}
	}
}

func runHost(b *convtest.Bench, s conv.Shape, rng *rand.Rand) {
	in, res := b.Random(s.InC(), s.H, s.W), b.Random(s.OutC, s.H, s.W)
	weights, bias := b.Random(s.OutC, s.InC(), s.K*s.K).V, b.Random(1, 1, s.OutC).V
	a := &conv.Args{Y1: s.H, Slope: 0.25}
	a.Res = b.Source(res, b.Anywhere(s.OutC, s.H, s.H), 0, s.H).Ring
	run := func(do func()) *convtest.Plane {
		dst, out := b.Target(s.OutC, s.H, s.W, b.Anywhere(s.OutC, s.H, s.H)), convtest.NewPlane(s.OutC, s.H, s.W)
		a.Dst = dst.Ring
		do()
		dst.Take(out, 0, s.H)
		return out
	}
	impl, err := conv.Simple{}.New(conv.CapsOf(b.Ctx.Device().Info()), s, b.Precision)
	b.Must(err)
	kernel := b.Build(impl.Kernels())[impl.Kernels()[0].Name]
	packed := b.Floats(impl.Pack(weights, bias))
	a.Src = []planar.Ring{b.Source(in, b.Anywhere(s.InC(), s.H, s.H), 0, s.H).Ring}
	want := run(func() { b.Must(impl.Launch(b.Queue, []*clrt.Kernel{kernel}, packed, a)) })
	a.Src = nil

	for _, strip := range []int64{1, int64(rng.IntN(1 << 16)), 0} {
		h, err := im2col.NewHost(b.Ctx, b.Queue, s, b.Precision, weights, bias, strip)
		b.Must(err)
		for range 2 { // the second run finds used buffers
			got := run(func() { b.Must(h.Run(in.V, a)) })
			for i := range want.V {
				if d := math.Abs(float64(got.V[i] - want.V[i])); !(d <= 1e-5*(1+math.Abs(float64(want.V[i])))*tolerance(b.Precision)) {
					b.Fatalf("strips of %d bytes: sample %d is %v, want %v", strip, i, got.V[i], want.V[i])
				}
			}
		}
		b.Must(h.Close())
	}
	b.Release()
	if live := b.Ctx.Live(); live != 0 {
		b.Errorf("%d bytes stay allocated", live)
	}
}

// tolerance is 1 for float32; binary16 rounds 2⁻¹¹ at a time.
func tolerance(p planar.Precision) float64 {
	if p == planar.FP16 {
		return 100
	}
	return 1
}

func TestHostRefuses(t *testing.T) {
	d := convtest.Device(t)
	b := convtest.Open(t, d, planar.FP32, 5)
	s := conv.Shape{K: 3, SrcC: []int{2}, OutC: 3, H: 4, W: 4, Act: fuse.NoAct}
	if _, err := im2col.NewHost(b.Ctx, b.Queue, s, planar.FP32, make([]float32, 53), make([]float32, 3), 0); err == nil || !strings.Contains(err.Error(), "53 weights") {
		t.Errorf("53 weights of 54: error %v", err)
	}
	h, err := im2col.NewHost(b.Ctx, b.Queue, s, planar.FP32, make([]float32, 54), make([]float32, 3), 0)
	b.Must(err)
	if err := h.Run(make([]float32, 31), &conv.Args{}); err == nil || !strings.Contains(err.Error(), "31 samples") {
		t.Errorf("31 samples of 32: error %v", err)
	}
	b.Must(h.Close())
}
