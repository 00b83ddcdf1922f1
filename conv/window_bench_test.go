package conv_test

import (
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// BenchmarkWindows times convolutions by a window, as image networks have them: the first layers of
// classification networks, strided and dilated ones, depthwise ones of PMRID, MobileNet and NAFNet, and what becomes of a
// transposed one of 4×4 with stride 2 (see package onnximport).
func BenchmarkWindows(b *testing.B) {
	d := convtest.Device(b)
	window := func(k, stride, dilation, pad int) model.Window {
		return model.Window{KH: k, KW: k, StrideH: stride, StrideW: stride, DilationH: dilation, DilationW: dilation, Top: pad, Left: pad, Bottom: pad, Right: pad}
	}
	for _, c := range []struct {
		name            string
		window          model.Window
		in, out, groups int
		side            int // of the source
	}{
		{"first-7x7-stride2", window(7, 2, 1, 3), 3, 64, 1, 224},
		{"3x3-stride2", window(3, 2, 1, 1), 64, 128, 1, 112},
		{"2x2-stride2", window(2, 2, 1, 0), 32, 64, 1, 128},
		{"1x1-stride2", window(1, 2, 1, 0), 256, 512, 1, 56},
		{"3x3-dilation2", window(3, 1, 2, 2), 64, 64, 1, 96},
		{"3x3-groups8", window(3, 1, 1, 1), 64, 64, 8, 112},
		{"transposed-4x4-stride2", window(2, 1, 1, 1), 64, 4 * 64, 1, 64},
		{"depthwise-3x3", window(3, 1, 1, 1), 64, 64, 64, 128},
		{"depthwise-5x5", window(5, 1, 1, 2), 64, 64, 64, 128},
		{"depthwise-3x3-stride2", window(3, 2, 1, 1), 64, 64, 64, 128},
	} {
		w := &conv.Window{Window: c.window, Groups: c.groups, SrcH: c.side, SrcW: c.side, Pad: model.PadZero}
		s := conv.Shape{SrcC: []int{c.in}, OutC: c.out, Act: fuse.LeakyReLU, Pad: model.PadZero, Window: w}
		s.H, s.W = w.Out(c.side, c.side)
		var algo conv.Algo = conv.Windowed{}
		if c.groups == c.in {
			algo = conv.Depthwise{}
		}
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			b.Run(c.name+"/"+p.String(), func(b *testing.B) { convtest.Time(b, d, algo, s, p) })
		}
	}
}
