package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"enhance/internal/fuse"
	"enhance/internal/imgio"
	"enhance/model"
	"enhance/pipeline"
	"enhance/pipeline/facts"
	"enhance/pipeline/look"
	"enhance/raw/mosaic"
)

// network restores mosaics with a model.
type network struct {
	session  *pipeline.Session
	ensemble int
	device   facts.Device
	noise    look.Noise
	denoise  *float64
	used     map[string]bool // precisions
}

func newNetwork(set pipeline.Settings, o *Options) (*network, error) {
	s, err := pipeline.NewSession(set)
	if err != nil {
		return nil, err
	}
	n := &network{session: s, ensemble: set.Ensemble, noise: o.Noise, denoise: o.Denoise, used: map[string]bool{}}
	if err := n.check(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return n, nil
}

// check refuses models that cannot be measured in this way.
func (n *network) check(o *Options) error {
	c, name := &n.session.Model().Convention, n.session.ModelName()
	if c.Output != model.OutputCameraGamma || !c.SubtractBlack || c.ScaleNum != 2 || c.ScaleDen != 1 {
		return &OptionError{fmt.Sprintf("model %s renders pictures in a way of its own or in another size: there is nothing to compare them with", name)}
	}
	if o.Mosaic.FullColour && !c.Takes(model.FullColour) {
		return &OptionError{fmt.Sprintf("model %s is for %v, not demosaiced photos: choose one that is", name, c.Sensors)}
	}
	if p := o.Mosaic.CFA; !o.Mosaic.FullColour && p.Valid() && !c.Takes(model.SensorOf(p)) {
		return &OptionError{fmt.Sprintf("model %s is for %v, not %s ones: choose one that is", name, c.Sensors, p.Kind())}
	}
	if c.NoisePlanes == 0 && (o.Denoise != nil || o.Noise.Mode != look.NoiseDefault) {
		return &OptionError{fmt.Sprintf("model %s does not take the noise level: leave --denoise and --noise out", name)}
	}
	return nil
}

func (n *network) name() string {
	if e := n.ensemble; e > 1 {
		return fmt.Sprintf("%s, ensemble of %d", n.session.ModelName(), e)
	}
	return n.session.ModelName()
}

func (n *network) close() error { return n.session.Close() }

// restore implements method.
func (n *network) restore(ctx context.Context, s *shot) (*picture, error) {
	if s.mosaic.Sensor != nil {
		return n.develop(ctx, s)
	}
	in, top, left := n.pack(s)
	denoise := n.denoise
	if none := 0.0; s.mosaic.Sigma == 0 && n.session.Model().CanKeepNoise() {
		denoise = &none // as in photos that have no noise
	}
	out, rep, err := n.session.RunTensor(ctx, pipeline.TensorJob{Input: *in, Denoise: denoise})
	if rep != nil {
		n.device = rep.Device
		n.used[rep.Plan.Precision] = true
	}
	if err != nil {
		return nil, err
	}
	w, h := s.truth.Width, s.truth.Height
	p := &picture{w: w, h: h, rgb: make([]float32, 3*w*h)}
	for c := range 3 {
		for y := range h {
			line := out.Data[(c*out.H+y+top)*out.W+left:][:w]
			for x, v := range line {
				p.rgb[3*(y*w+x)+c] = v
			}
		}
	}
	return p, nil
}

// pack makes the network's input of sRGB codes: planes by place in the quad, red
// first, with a reflected row or column before the mosaic where it does not begin
// with red, and noise planes of the known sigma.
func (n *network) pack(s *shot) (in *pipeline.Tensor, top, left int) {
	c := &n.session.Model().Convention
	if c.Samples == model.SamplesMasked {
		return n.packMasked(s), 0, 0
	}
	w, h := s.truth.Width, s.truth.Height
	for i := range 4 {
		if s.mosaic.CFA.At(i/2, i%2) == mosaic.Red {
			top, left = i/2, i%2
		}
	}
	ph, pw := c.PaddedSides((h+top+1)/2, (w+left+1)/2)
	planes := c.Planes()
	in = &pipeline.Tensor{Shape: model.Shape{C: planes, H: ph, W: pw}, Data: make([]float32, planes*ph*pw)}
	for k, at := range c.Pack {
		for y := range ph {
			row := s.samples[fuse.Reflect(2*y+at[0]-top, h)*w:][:w]
			dst := in.Data[(k*ph+y)*pw:][:pw]
			for x := range dst {
				v := row[fuse.Reflect(2*x+at[1]-left, w)]
				if c.Clip == model.ClipBoth {
					v = min(max(v, 0), 1)
				}
				dst[x] = v
			}
		}
	}
	noise := strength(s)
	for i := 4 * ph * pw; i < len(in.Data); i++ {
		in.Data[i] = noise
	}
	return in, top, left
}

// strength is what noise planes hold of the known sigma.
func strength(s *shot) float32 {
	return float32(model.NoiseScale * s.mosaic.Sigma / 255)
}

// packMasked makes the input of a network of masked planes, see docs/pynet-m.md.
func (n *network) packMasked(s *shot) *pipeline.Tensor {
	c := &n.session.Model().Convention
	w, h := s.truth.Width, s.truth.Height
	ph, pw := c.PaddedSides((h+1)/2, (w+1)/2)
	samples := c.SamplePlanes()
	in := &pipeline.Tensor{Shape: model.Shape{C: c.Planes(), H: ph, W: pw}, Data: make([]float32, c.Planes()*ph*pw)}
	noise := strength(s)
	for i := samples * ph * pw; i < len(in.Data); i++ {
		in.Data[i] = model.NoNoise
	}
	for y := range 2 * ph {
		for x := range 2 * pw {
			from, at := fuse.Reflect(y, h), fuse.Reflect(x, w)
			place := y/2*pw + x/2
			put := func(colour int, v float32) {
				k := model.MaskedPlane(colour, y%2, x%2)
				in.Data[k*ph*pw+place] = v
				if c.NoisePlanes > 0 {
					in.Data[(samples+k)*ph*pw+place] = noise
				}
			}
			if !s.mosaic.FullColour {
				put(int(s.mosaic.CFA.At(from, at)), s.samples[from*w+at])
				continue
			}
			for colour, v := range s.samples[3*(from*w+at):][:3] {
				put(colour, v)
			}
		}
	}
	return in
}

// develop sends the mosaic through the whole pipeline as a DNG file without a
// colour matrix, so that the camera's colours are sRGB's.
func (n *network) develop(ctx context.Context, s *shot) (*picture, error) {
	file, err := s.dng(false)
	if err != nil {
		return nil, err
	}
	denoise := n.denoise
	if one := 1.0; s.mosaic.FullColour && denoise == nil { // or no network would be run
		denoise = &one
	}
	var out bytes.Buffer
	job := pipeline.Job{Input: s.name, Reader: bytes.NewReader(file), Size: int64(len(file)), Look: pipeline.Look{Tone: look.ToneLinear, Defects: look.Defects{Mode: look.DefectsOff}, Noise: n.noise, Denoise: denoise}, Output: pipeline.Output{Writer: &out, Format: pipeline.PNG, Bits: 16}}
	rep, err := n.session.Enhance(ctx, job)
	if rep != nil {
		n.device = rep.Device
		n.used[rep.Plan.Precision] = true
	}
	if err != nil {
		return nil, err
	}
	im, err := imgio.DecodeRGB16(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		return nil, err
	}
	return fromRGB16(im), nil
}

// fromRGB16 is a picture of sRGB codes.
func fromRGB16(im *imgio.RGB16) *picture {
	p := &picture{w: im.Width, h: im.Height, rgb: make([]float32, len(im.Pix))}
	for i, v := range im.Pix {
		p.rgb[i] = float32(v) / 65535
	}
	return p
}
