package convtest

import (
	"math"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// scaled is the trial's algorithm with a norm taken in, nil if it has no such form
// or the case is none for it.
func (k *trial) scaled() conv.Impl {
	s, ok := k.impl.(conv.Scaling)
	if !ok || len(k.Src) != 1 || k.Shape.Pad == model.PadZero { // see fuse.Absorb
		return nil
	}
	return s.Scaled(k.pre)
}

// normalises checks that the form with a norm taken in does to the source what the
// plain one does to a source that was normalised and stored before.
func (k *trial) normalises(impl conv.Impl, built map[string]*clrt.Kernel, weights *clrt.Buffer) {
	k.Helper()
	raw := k.Src[0]
	before, after := k.Rng.IntN(4), k.Rng.IntN(4) // channels of the scales beside the source's
	all := before + raw.C + after
	values := make([]float32, 16+2*all)
	for i := range values {
		values[i] = float32(math.NaN())
	}
	slope := float32(k.Rng.IntN(5)) / 4
	norm := NewPlane(raw.C, raw.H, raw.W)
	for c := range raw.C {
		scale, shift := 4*k.Rng.Float32()-2, 2*k.Rng.Float32()-1
		values[16+before+c], values[16+all+before+c] = scale, shift
		for y := range raw.H {
			to := norm.Line(c, y)
			for x, v := range raw.Line(c, y) {
				v = float32(math.FMA(float64(v), float64(scale), float64(shift)))
				if k.pre == fuse.LeakyReLU && v < 0 {
					v *= slope
				}
				to[x] = k.Round(v)
			}
		}
	}
	h := k.Shape.H
	want, got := NewPlane(k.Shape.OutC, h, k.Shape.W), NewPlane(k.Shape.OutC, h, k.Shape.W)
	k.Src = []*Plane{norm}
	k.launch(k.kernels(k.impl, built), weights, want, 0, h)
	plain := k.impl
	k.Src, k.impl = []*Plane{raw}, impl
	defer func() { k.impl, k.scales, k.preSlope = plain, planar.Ring{}, 0 }()
	tensor := fuse.Tensor{Storage: fuse.Scales, Shape: model.Shape{C: all, H: 1, W: 1}}
	k.scales, k.preSlope = planar.NewRing(k.Floats(values), 64, tensor, 1).Slice(before, raw.C), slope
	for y := 0; y < h; {
		y1 := min(h, y+impl.Granule()*(1+k.Rng.IntN(1+h/impl.Granule())))
		k.launch(k.kernels(impl, built), weights, got, y, y1)
		y = y1
	}
	k.Same("with the norm taken in", got, want)
	if s, p := k.summed(); s != nil {
		k.sums(s, p, built, weights, got)
	}
}

func (k *trial) kernels(impl conv.Impl, built map[string]*clrt.Kernel) (ks []*clrt.Kernel) {
	for _, n := range impl.Kernels() {
		ks = append(ks, built[n.Name])
	}
	return ks
}
