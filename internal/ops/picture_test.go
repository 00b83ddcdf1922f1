package ops_test

import (
	"os"
	"testing"

	"enhance/conv"
	"enhance/internal/colour"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/highlights"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/internal/sharpen"
	"enhance/model"
)

// TestOclgrindPictures runs the steps of a small picture, for a device that checks each access
// (ENHANCE_OCLGRIND=1, see the Makefile). Package exec and pipeline hold their results against
// the host's.
func TestOclgrindPictures(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("only for a checking device: ENHANCE_OCLGRIND=1")
	}
	dev := convtest.Device(t)
	for _, size := range [][2]int{{1, 1}, {5, 7}, {37, 19}, {18, 40}} {
		b := convtest.Open(t, dev, planar.FP32, 1)
		var kernels [2]*ops.Pictures
		for i, sharpened := range []bool{false, true} {
			prog, err := b.Ctx.Build(planar.Source(planar.FP32, model.PadReflect)+ops.PictureSource(sharpened), conv.BuildOptions+" -cl-opt-disable") // oclgrind does not know what inlining leaves behind
			b.Must(err)
			kernels[i], err = ops.NewPictures(prog, b.Queue, conv.CapsOf(dev.Info()), sharpened)
			b.Must(err)
			defer kernels[i].Close()
		}
		runPicture(b, kernels[0], kernels[1], size[0], size[1])
	}
}

// runPicture runs the steps over a plane of light of which all but a rim is the picture.
func runPicture(b *convtest.Bench, d, sharp *ops.Pictures, h, w int) {
	h0 := highlights.New(w, h, [3]float64{0.9, 0.8, 0.7}, 1)
	s := sharpen.New(w, h, sharpen.Settings{Amount: 0.7, Noise: func(float64) float64 { return 0.01 }, Luminance: colour.SRGB.Luminance()})
	tone := colour.NewTone(colour.NewCurve(1, 1), colour.Convert(colour.SRGB, colour.Rec2020), colour.Rec2020, colour.SRGB)
	tables := ops.PictureTables{Tone: tone.Tables(), Codes: colour.SRGBTransfer.Tables(), Amount: s.Amount(), Variances: s.Variances()}
	tables.Clip, tables.Inverse, tables.White = h0.Levels()
	tables.Light = func(k int) (at, rise float32) { return float32(k) / ops.LightSteps, 1. / ops.LightSteps }
	numbers, err := tables.Numbers()
	b.Must(err)
	look, bad := b.Floats(numbers), b.Floats(make([]float32, h))
	pic := &fuse.Picture{X0: 1, Y0: 2, X1: 1 + w, Y1: 2 + h, Sharpen: true}
	light := b.Random(3, h+3, w+2)
	src := b.Source(light, convtest.Place{CAll: 3, Rows: h + 3}, 0, h+3)
	ring := func(s fuse.Storage, c, h, w int) planar.Ring {
		t := fuse.Tensor{Storage: s, Shape: model.Shape{C: c, H: h, W: w}}
		return planar.NewRing(b.Buffer(b.Noise(planar.RowBytes(t, planar.FP32)*int64(h)+planar.RimBytes(t, planar.FP32), planar.FP32)), 0, t, h)
	}
	down, across := (h+15)/16, (w+15)/16
	cells, colours, shown, codes := ring(fuse.Floats, 4, down, across), ring(fuse.Floats, 3, down, across), ring(fuse.Floats, 4, h, w), ring(fuse.Pixels, 3, h, w)
	for _, k := range []struct {
		kind fuse.Kind
		src  []planar.Ring
		dst  planar.Ring
	}{{fuse.Cells, []planar.Ring{src.Ring}, cells}, {fuse.Colours, []planar.Ring{cells}, colours}, {fuse.Render, []planar.Ring{src.Ring, colours}, shown}, {fuse.Sharpen, []planar.Ring{shown}, codes}} {
		b.Must(sharp.Make(&fuse.Step{Kind: k.kind, Picture: pic}, k.src, k.dst, look, bad, 0, k.dst.H))
	}
	plain, inBytes := *pic, ring(fuse.PixelBytes, 3, h, w)
	plain.Bytes = true
	b.Must(sharp.Make(&fuse.Step{Kind: fuse.Sharpen, Picture: &plain}, []planar.Ring{shown}, inBytes, look, bad, 0, h))
	plain.Sharpen = false
	b.Must(d.Make(&fuse.Step{Kind: fuse.Render, Picture: &plain}, []planar.Ring{src.Ring, colours}, inBytes, look, bad, 0, h))
	plain.Bytes = false
	b.Must(d.Make(&fuse.Step{Kind: fuse.Render, Picture: &plain}, []planar.Ring{src.Ring, colours}, codes, look, bad, 0, h))
	src.Unchanged("light")
	b.Release()
}
