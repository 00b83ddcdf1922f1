package conv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// anyWindow draws windows of all kinds: strides, dilations, pads of any mode, groups.
func anyWindow(rng *rand.Rand) conv.Shape {
	w := &conv.Window{Groups: 1 + rng.IntN(3), Pad: model.PadMode(rng.IntN(3))}
	w.KH, w.KW = 1+rng.IntN(5), 1+rng.IntN(5)
	w.StrideH, w.StrideW, w.DilationH, w.DilationW = 1+rng.IntN(3), 1+rng.IntN(3), 1, 1
	switch rng.IntN(5) {
	case 0: // wider than the text is unrolled for, and than the rim
		w.KH, w.KW = 6+rng.IntN(6), 9+rng.IntN(4)
	case 1:
		w.DilationH, w.DilationW = 1+rng.IntN(4), 1+rng.IntN(6)
	case 2: // as most networks have them
		w.KH, w.KW, w.StrideH, w.StrideW, w.Pad = 3, 3, 2, 2, model.PadZero
	}
	for _, p := range []*int{&w.Top, &w.Left, &w.Bottom, &w.Right} {
		*p = rng.IntN(min(7, w.KW+1))
	}
	s := conv.Shape{SrcC: []int{w.Groups * (1 + rng.IntN(4))}, OutC: w.Groups * (1 + rng.IntN(9)), Act: fuse.Act(rng.IntN(3))}
	return placed(rng, s, w)
}

// placed gives a window planes that it fits on.
func placed(rng *rand.Rand, s conv.Shape, w *conv.Window) conv.Shape {
	w.SrcH = max(1, (w.KH-1)*w.DilationH+1-w.Top-w.Bottom) + rng.IntN(12)
	w.SrcW = max(1, (w.KW-1)*w.DilationW+1-w.Left-w.Right) + rng.IntN(40)
	if rng.IntN(4) == 0 {
		w.SrcW += 60 + rng.IntN(100)
	}
	s.H, s.W = w.Out(w.SrcH, w.SrcW)
	s.Window = w
	return s
}

// anyDepthwise draws groups of one channel.
func anyDepthwise(rng *rand.Rand) conv.Shape {
	s := anyWindow(rng)
	w := s.Window
	w.Groups = 1 + rng.IntN(20)
	s.SrcC, s.OutC = []int{w.Groups}, w.Groups*(1+rng.IntN(4)/2)
	return placed(rng, s, w)
}

// TestWindows holds the algorithms for windows to the contract, in the forms for CPUs and GPUs.
func TestWindows(t *testing.T) {
	d := convtest.Device(t)
	own := conv.CapsOf(d.Info())
	avx := own
	avx.Vector = 8
	for _, a := range []struct {
		algo conv.Algo
		draw func(*rand.Rand) conv.Shape
	}{{conv.Windowed{}, anyWindow}, {conv.Depthwise{}, anyDepthwise}} {
		for name, caps := range map[string]*conv.Caps{"device": &own, "vectors of 8": &avx, "gpu": &gpu, "plain": {CPU: true, Plain: true, MaxWorkGroup: 64}} {
			for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
				c := convtest.Config{Algo: a.algo, Device: d, Caps: caps, Precision: p, Draw: a.draw, Reflects: true}
				if name != "device" { // compilers take longer for these kernels than they run
					if c.Cases = convtest.Cases(2); p == planar.FP16 != (name == "gpu") && c.Cases == 2 {
						continue
					}
				}
				t.Run(fmt.Sprintf("%s/%s/%s", a.algo.Name(), name, p), func(t *testing.T) { convtest.Run(t, c) })
			}
		}
	}
}

// TestWindowsRefused: shapes that are none, and squares, which other algorithms do.
func TestWindowsRefused(t *testing.T) {
	good := func() conv.Shape {
		return conv.Shape{SrcC: []int{4}, OutC: 4, H: 3, W: 3, Window: &conv.Window{Groups: 2, SrcH: 5, SrcW: 5,
			Window: model.Window{KH: 3, KW: 3, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}}}
	}
	if _, err := (conv.Windowed{}).New(gpu, good(), planar.FP32); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*conv.Shape){
		"square":        func(s *conv.Shape) { s.Window, s.K = nil, 3 },
		"both":          func(s *conv.Shape) { s.K = 3 },
		"two sources":   func(s *conv.Shape) { s.SrcC = []int{2, 2} },
		"groups":        func(s *conv.Shape) { s.Window.Groups = 3 },
		"no groups":     func(s *conv.Shape) { s.Window.Groups = 0 },
		"other sides":   func(s *conv.Shape) { s.W = 4 },
		"constant pads": func(s *conv.Shape) { s.Window.Pad = model.PadConstant },
	} {
		s := good()
		spoil(&s)
		if _, err := (conv.Windowed{}).New(gpu, s, planar.FP32); err == nil {
			t.Errorf("%s: direct-window accepts it", name)
		}
	}
	for _, a := range conv.Registry(gpu) {
		if _, err := a.New(gpu, good(), planar.FP32); err == nil {
			t.Errorf("%s accepts a window", a.Name())
		}
	}
	if _, err := (conv.Depthwise{}).New(gpu, good(), planar.FP32); err == nil {
		t.Error("direct-depthwise accepts groups of two channels")
	}
}

// TestActivations runs the activations that a program has one of in the store of every algorithm.
func TestActivations(t *testing.T) {
	d := convtest.Device(t)
	own := conv.CapsOf(d.Info())
	algos := []conv.Algo{conv.Rows{}, conv.Simple{}, conv.ImplicitGEMM{}, conv.Windowed{}}
	if !own.CPU {
		algos = append(algos[1:], conv.Tile{}, conv.Packed{})
	}
	for k, a := range algos {
		for act := fuse.PReLU; int(act) < fuse.Acts; act++ {
			if testing.Short() && (int(act)+k)%3 != 0 && act != fuse.PReLU {
				continue // expressions are the same text in all
			}
			c := convtest.Config{Algo: a, Device: d, Act: act, Reflects: true, Cases: convtest.Cases(2), Families: 2, Precision: planar.Precision((int(act) + k) % 2)}
			if _, windows := a.(conv.Windowed); windows {
				c.Draw = anyWindow
			}
			t.Run(fmt.Sprintf("%s/%d", a.Name(), act), func(t *testing.T) { convtest.Run(t, c) })
		}
	}
}
