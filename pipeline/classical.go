package pipeline

import (
	"fmt"
	"time"

	"enhance/internal/workers"
	"enhance/model"
	"enhance/raw"
	"enhance/raw/demosaic"
	"enhance/raw/mosaic"
)

// Mosaics of sensors that no network is trained for are developed by the classical
// demosaicer of package demosaic, those of monochrome sensors as they are. Before it
// samples are brought to a network's: black and white levels, white balance, highlights
// and the curve are those of package model and of levels.go.

// classicalConvention is how such samples are: white-balanced, on sRGB's curve, with
// noise below black.
var classicalConvention = model.Convention{SubtractBlack: true, Gamma: 1, Curve: model.CurveSRGB, Clip: model.ClipHigh, Divisor: 1,
	Output: model.OutputCameraGamma, Multiple: 1, MinSide: 1, ScaleNum: 2, ScaleDen: 1}

// planned is forPhoto for a photo that is to be planned: it refuses one that is developed
// without a network.
func (s *Session) planned(m *raw.Meta, look *Look) (*Session, error) {
	with, err := s.forPhoto(m, look)
	if with != nil || err != nil {
		return with, err
	}
	kind := "demosaiced"
	if !m.Linear {
		kind = m.CFA.Kind()
	}
	return nil, &raw.UnsupportedError{Feature: "plan of this photo (" + kind + ")", Advice: "it is developed without a network"}
}

// colourRows chooses how the photo's colours are had without a network.
func (r *run) colourRows() (*colourRows, error) {
	if name := r.job.noiseOption(); name != "" && (!r.meta.Linear || r.job.denoises()) {
		return nil, optionErrorf(name, "%s: it is developed without a network, and noise stays as it is; leave it out", whatSensor(r.meta))
	}
	if r.meta.Linear {
		return r.linearRows(), nil
	}
	region, cfa := r.geo.region, r.meta.CFA
	if region.Width() < cfa.Cols() || region.Height() < cfa.Rows() {
		return nil, &raw.FormatError{Where: "raw", Problem: fmt.Sprintf("%dx%d samples are fewer than the filter array has, %dx%d",
			region.Width(), region.Height(), cfa.Cols(), cfa.Rows())}
	}
	r.decodeAhead()
	p := &mosaicRows{run: r}
	c := &colourRows{conv: &classicalConvention, stride: r.geo.region.Width(), balanced: true, begin: p.begin, close: p.close}
	c.statistics = r.statistics()
	if r.meta.CFA == mosaic.Mono {
		c.note = "the sensor is monochrome: the photo is developed without a network, and its noise stays as it is"
		c.read = p.gray
		return c, nil
	}
	var err error
	pattern := r.meta.CFA.Shift(r.geo.region.Y0, r.geo.region.X0)
	if p.demosaicer, err = demosaic.For(pattern); err != nil {
		r.ahead.close()
		return nil, err
	}
	why := "which no network here is trained for"
	if r.session.set.Model == Classical {
		why = "and no network is to be run"
	}
	c.note = fmt.Sprintf("%s, %s: a classical demosaicer develops the photo, and its noise stays as it is", whatSensor(r.meta), why)
	c.read = p.colours
	return c, nil
}

// demosaicer makes colours of a mosaic's rows; see demosaic.Demosaicer.
type demosaicer interface {
	Reach() int
	Rows(s *demosaic.Strip, y0, y1 int, dst []float32) error
}

// mosaicRows make colours of a mosaic.
type mosaicRows struct {
	run        *run
	levels     *levels
	demosaicer demosaicer
	strip      demosaic.Strip
}

func (p *mosaicRows) begin(b *balance) {
	p.levels = newLevels(p.run.meta, &classicalConvention, b.networkGains(), nil, nil)
}

func (p *mosaicRows) close() {
	p.run.ahead.close()
	p.run.report.Seconds.Decode = p.run.ahead.busy().Seconds()
}

// samples converts rows y to y+n-1 of the region.
func (p *mosaicRows) samples(y, n int, dst []float32) error {
	region, stride := p.run.geo.region, p.run.meta.Width
	blocks, done, err := p.run.ahead.blocks(y/blockRows, (y+n-1)/blockRows)
	if err != nil {
		return err
	}
	defer done()
	defer p.run.session.stages().Begin("levels")()
	first := y / blockRows
	workers.Each(workers.Count(n, time.Duration(4*region.Width())), n, func(_, i int) {
		at := y + i
		stored := blocks[at/blockRows-first][at%blockRows*stride+region.X0:][:region.Width()]
		p.levels.row(region.Y0+at, region.X0, stored, dst[i*region.Width():][:region.Width()], nil)
	})
	return nil
}

// colours is colourRows.read of a mosaic with colours.
func (p *mosaicRows) colours(y, n int, dst []float32) error {
	region, reach := p.run.geo.region, p.demosaicer.Reach()
	y -= region.Y0
	first, end := max(0, y-reach), min(region.Height(), y+n+reach)
	s := &p.strip
	if s.Samples == nil {
		s.Width, s.Height = region.Width(), region.Height()
		s.Samples = make([]float32, min(s.Height, outRows+2*reach)*s.Width)
	}
	all := s.Samples
	defer func() { s.Samples = all }()
	s.First, s.Samples = first, all[:(end-first)*s.Width]
	if err := p.samples(first, end-first, s.Samples); err != nil {
		return err
	}
	defer p.run.session.stages().Begin("demosaic")()
	return p.demosaicer.Rows(s, y, y+n, dst)
}

// gray is colourRows.read of a monochrome sensor.
func (p *mosaicRows) gray(y, n int, dst []float32) error {
	w := p.run.geo.region.Width()
	if err := p.samples(y-p.run.geo.region.Y0, n, dst[:n*w]); err != nil {
		return err
	}
	for i := n - 1; i >= 0; i-- { // a row's colours lie behind its samples
		row := dst[i*w:][:w]
		for c := 2; c >= 0; c-- {
			copy(dst[(3*i+c)*w:], row)
		}
	}
	return nil
}

// colourBytes is what making colours without a network holds.
func (r *run) colourBytes() int64 {
	rows := int64(min(outRows, r.geo.region.Height()))
	if r.meta.Linear {
		n := 3 * 4 * rows * int64(r.meta.Width)
		if len(r.photo.Opcodes()[0]) > 0 { // rows before and after the list
			n *= 2
		}
		return n
	}
	w := int64(r.geo.region.Width())
	n := 3 * 4 * rows * w
	if r.meta.CFA != mosaic.Mono {
		n += 4*(rows+2*demosaic.MaxReach)*w + demosaic.MaxBytes(r.meta.CFA, cores())
	}
	return n
}
