package eval

import (
	"context"
	"fmt"

	"enhance/internal/colour"
	"enhance/raw/demosaic"
	"enhance/raw/mosaic"
)

// classical restores mosaics with package demosaic, which knows nothing of noise.
type classical struct{ demosaicer *demosaic.Demosaicer }

func newClassical(p mosaic.Pattern) (*classical, error) {
	d, err := demosaic.For(p)
	if err != nil {
		return nil, err
	}
	return &classical{d}, nil
}

func (c *classical) name() string { return "classical" }

func (c *classical) close() error { return nil }

// restore implements method. Samples of a sensor are brought to sRGB codes first, as
// package pipeline does it.
func (c *classical) restore(_ context.Context, s *shot) (*picture, error) {
	w, h := s.truth.Width, s.truth.Height
	if p := s.mosaic.CFA; h < p.Rows() || w < p.Cols() {
		return nil, &OptionError{fmt.Sprintf("a mosaic of %dx%d samples is smaller than its filter array", w, h)}
	}
	m := &demosaic.Strip{Width: w, Height: h, Samples: s.samples}
	if sensor := s.mosaic.Sensor; sensor != nil {
		m.Samples = make([]float32, w*h)
		for i, v := range s.samples {
			light := (float64(v) - sensorBlack) / (sensorWhite - sensorBlack) * sensor.Gains[s.mosaic.CFA.At(i/w, i%w)]
			m.Samples[i] = float32(colour.SRGBEncode(min(max(light, -1), 1)))
		}
	}
	planes := make([]float32, 3*w*h)
	if err := c.demosaicer.Rows(m, 0, h, planes); err != nil {
		return nil, err
	}
	p := &picture{w: w, h: h, rgb: make([]float32, 3*w*h)}
	for y := range h {
		for k := range 3 {
			for x, v := range planes[(3*y+k)*w:][:w] {
				p.rgb[3*(y*w+x)+k] = v
			}
		}
	}
	return p, nil
}
