package eval

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"enhance/internal/imgio"
	"enhance/model"
	"enhance/model/calibrate"
	"enhance/pipeline"
	"enhance/raw/mosaic"
)

// What a network is calibrated with: squares from the middle of photos, with noise of one sigma after another.
const calibrationSide = 256

var calibrationSigmas = []float64{0, 5, 10, 20}

// What the loss is measured with: squares without noise, where it is largest.
const exampleSide, examples = 128, 6

// Quantize makes a network of codes of a network, with the ranges that its values have over mosaics of photos, and so
// many convolutions of codes that no more than maxLoss dB are lost (see package calibrate).
func Quantize(ctx context.Context, spec string, photos []string, maxLoss float64) (quantized *model.Model, err error) {
	if len(photos) == 0 {
		return nil, &OptionError{"no photos to calibrate with"}
	}
	o := &Options{Mosaic: Mosaic{CFA: mosaic.RGGB}}
	n, err := newNetwork(pipeline.Settings{Model: spec, Device: pipeline.HostDevice}, o)
	if err != nil {
		return nil, err
	}
	defer n.close()
	m := n.session.Model()
	switch {
	case m.Graph.HasCodes():
		return nil, &OptionError{fmt.Sprintf("model %s is quantised already: name the one that it was made of", n.name())}
	case len(m.Graph.Quantizable()) == 0:
		return nil, &OptionError{fmt.Sprintf("model %s has no convolution that can be one of codes", n.name())}
	}
	ranges := calibrate.New(m)
	var held []calibrate.Example
	for k, path := range photos {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		truth, err := readTruth(path)
		if err != nil {
			return nil, err
		}
		if min(truth.Width, truth.Height) < multiple {
			return nil, &OptionError{fmt.Sprintf("%s has %dx%d pixels: want %d or more columns and rows to calibrate with", path, truth.Width, truth.Height, multiple)}
		}
		part := Mosaic{CFA: o.Mosaic.CFA, Sigma: calibrationSigmas[k%len(calibrationSigmas)]}
		if err := part.check(); err != nil {
			return nil, &OptionError{err.Error()}
		}
		in, _, _ := n.pack(part.take(filepath.Base(path), middle(truth, calibrationSide)))
		err = ranges.Add(ctx, in.Data, in.H, in.W)
		if bad := new(calibrate.NotFiniteError); errors.As(err, &bad) {
			err = &pipeline.NonFiniteError{Row: bad.Row, Column: bad.Column}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if k%((len(photos)+examples-1)/examples) == 0 {
			held = append(held, n.example(filepath.Base(path), middle(truth, exampleSide)))
		}
	}
	codes := ranges.Codes()
	convs, err := calibrate.Choose(ctx, m, codes, held, maxLoss)
	if err != nil {
		return nil, err
	}
	if len(convs) == 0 {
		return nil, &OptionError{fmt.Sprintf("every convolution of model %s alone loses more than %g dB on these pictures", n.name(), maxLoss)}
	}
	return model.Quantize(m, convs, codes)
}

// example is a picture as the network's input and result.
func (n *network) example(name string, truth *imgio.RGB16) calibrate.Example {
	part := Mosaic{CFA: mosaic.RGGB}
	in, _, _ := n.pack(part.take(name, truth))
	e := calibrate.Example{In: in.Data, H: in.H, W: in.W, Truth: make([]float32, len(truth.Pix))}
	area := truth.Width * truth.Height
	for i, v := range truth.Pix {
		e.Truth[i%3*area+i/3] = float32(v) / 65535
	}
	return e
}

// multiple is one of what networks divide sides by.
const multiple = 32

// middle is a square from the middle of a picture, or as much as there is, in multiples of that.
func middle(p *imgio.RGB16, side int) *imgio.RGB16 {
	h, w := min(side, p.Height/multiple*multiple), min(side, p.Width/multiple*multiple)
	out := &imgio.RGB16{Width: w, Height: h, Bits: p.Bits, Gray: p.Gray}
	y0, x0 := (p.Height-h)/2, (p.Width-w)/2
	for y := range h {
		out.Pix = append(out.Pix, p.Row(y0 + y)[3*x0:][:3*w]...)
	}
	return out
}
