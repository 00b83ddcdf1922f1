package ops_test

import (
	"fmt"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/model"
)

// TestUnpack holds planes made of stored samples against their definition, in every order of the
// places, at odd sizes, with and without noise planes, anywhere in rings.
func TestUnpack(t *testing.T) {
	eachLab(t, func(l *lab) {
		caps := conv.CapsOf(convtest.Device(l).Info())
		unpacker := func(octets bool) *ops.Unpacker {
			prog, err := l.Ctx.Build(planar.Source(l.Precision, model.PadReflect)+ops.SamplesSource(octets), conv.BuildOptions)
			l.Must(err)
			u, err := ops.NewUnpacker(prog, l.Queue, caps, octets)
			l.Must(err)
			return u
		}
		toPlanes := unpacker(false)
		defer toPlanes.Close()
		toOctets := toPlanes
		if l.Precision == planar.FP16 {
			toOctets = unpacker(true)
			defer toOctets.Close()
		}
		for i := range convtest.Cases(16) {
			u := toPlanes
			if l.storage = fuse.Activation; i%4 > 1 && toOctets != toPlanes {
				u, l.storage = toOctets, fuse.Octets
			}
			_, h, w := l.size(9, 70)
			planes := 4 + i%2*4
			places := [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}
			l.Rng.Shuffle(4, func(i, j int) { places[i], places[j] = places[j], places[i] })
			tables := convtest.Randoms(l.Rng, planes*ops.TableLen)
			stored := make([]uint16, 2*h*2*w)
			for i := range stored {
				stored[i] = uint16(l.Rng.Uint32())
			}
			got := l.sweep(planes, h, w, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
				src := l.samples(stored, h, w, y0, y1)
				buf := l.Buffer(planar.AppendSamples(nil, tables, l.Precision))
				l.Must(u.Unpack(src, dst, planes, buf, places, y0, y1))
				return nil
			})
			l.near(fmt.Sprintf("places %v of %dx%d", places, h, w), got, func(c, y, x int) (float64, float64) {
				at := places[c%4]
				return float64(l.Round(tables[c*ops.TableLen+int(stored[(2*y+at[0])*2*w+2*x+at[1]])])), 0
			})
		}
	})
}

// samples is a ring with rows [y0,y1) of stored samples, from any byte of noise on.
func (l *lab) samples(stored []uint16, h, w, y0, y1 int) planar.Ring {
	t := fuse.Tensor{Storage: fuse.Samples, Shape: model.Shape{C: 2, H: h, W: 2 * w}}
	rows := y1 - y0 + l.Rng.IntN(3)
	base, row, pitch := planar.BaseAlign*int64(l.Rng.IntN(4)), planar.RowBytes(t, l.Precision), planar.SamplePitch(t.W)
	image := l.Noise(base+row*int64(rows), l.Precision)
	for y := y0; y < y1; y++ {
		for k := range 2 {
			line := image[base+row*int64(y%rows)+int64(2*k*pitch):]
			for x, v := range stored[(2*y+k)*2*w:][:2*w] {
				line[2*x], line[2*x+1] = byte(v), byte(v>>8)
			}
		}
	}
	return planar.NewRing(l.Buffer(image), base, t, rows)
}
