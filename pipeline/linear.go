package pipeline

import (
	"time"

	"enhance/internal/colour"
	"enhance/internal/exec"
	"enhance/internal/workers"
	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/raw"
)

// A photo that is demosaiced already (linear DNG), and a mosaic that no network takes,
// are developed without a network: their camera colours are treated as a network's
// would be.

// linearConvention is how the rows of a demosaiced photo are given to the developer:
// light, white-balanced, a pixel for a sample.
var linearConvention = model.Convention{SubtractBlack: true, Gamma: 1, Divisor: 1, Output: model.OutputCameraGamma,
	Multiple: 1, MinSide: 1, ScaleNum: 2, ScaleDen: 1}

// colourRows give a photo's camera colours without a network.
type colourRows struct {
	conv *model.Convention // of the rows
	note string            // for the report
	// read gives rows y to y+n-1 of the active area: each row's red, green and blue one
	// after the other, stride samples each, of which those from column x0 on are the
	// region's.
	read       func(y, n int, dst []float32) error
	stride, x0 int
	statistics statistics
	// balanced reports whether rows have the white balance, which begin tells.
	balanced bool
	begin    func(b *balance)
	close    func()
}

// pixelLayout is the geometry of a photo that is developed pixel by pixel: all of it is
// read where it is warped, else the crop and so many samples around it.
func pixelLayout(m *raw.Meta, context int) geometry {
	c := m.Crop
	r := raw.Rect{X0: max(0, c.X0-context), Y0: max(0, c.Y0-context), X1: min(m.Width, c.X1+context), Y1: min(m.Height, c.Y1+context)}
	if m.Warped {
		r = raw.Rect{X1: m.Width, Y1: m.Height}
	}
	return geometry{region: r, view: raw.Rect{X1: r.Width(), Y1: r.Height()},
		out: raw.Rect{X0: c.X0 - r.X0, Y0: c.Y0 - r.Y0, X1: c.X1 - r.X0, Y1: c.Y1 - r.Y0}}
}

// withoutNetwork makes the picture of a photo that no network is run on.
func (r *run) withoutNetwork(out *target, w, h int) error {
	r.turn.leave() // the device is not used
	r.report.Plan.Strategy, r.report.Plan.Precision = facts.NoNetwork, "fp32"
	c, err := r.colourRows()
	if err != nil {
		return r.photoError(err)
	}
	defer c.close()
	r.report.Warn("%s", c.note)
	if err = r.decideLight(c.statistics, false); err != nil {
		return r.photoError(err)
	}
	if err = r.decideRendering(c.conv); err != nil {
		return r.photoError(err)
	}
	if err := r.hostNeeds(); err != nil {
		return err
	}
	return r.carryOut(func() error { return r.developColours(c, out, w, h) })
}

// developColours makes the picture of a photo's camera colours.
func (r *run) developColours(c *colourRows, out *target, w, h int) error {
	enc, err := r.encoder(out, w, h)
	if err != nil {
		return err
	}
	defer r.abandonEncoder()
	dev := newDeveloper(r.geo, r.decisions.rendering, enc, r.holds.batches, &r.session.host.pictures, r.session.stages())
	defer dev.abandon()
	start := time.Now()
	c.begin(r.decisions.balance)
	gains := r.decisions.balance.networkGains()
	err = r.eachRow(c, func(y int, planes [][]float32) { // light is balanced as a network's is
		if c.balanced {
			return
		}
		for k, line := range planes {
			gain := float32(gains[k])
			for x := range line {
				line[x] *= gain
			}
		}
	}, dev)
	r.report.Seconds.Run = time.Since(start).Seconds()
	if err != nil {
		if failure := dev.failure(); failure != nil {
			return failure
		}
		return err
	}
	return r.deliver(dev, out)
}

// linearRows are those of a demosaiced photo.
func (r *run) linearRows() *colourRows {
	c := &colourRows{conv: &linearConvention, note: "the photo is demosaiced already: no network is run",
		stride: r.meta.Width, x0: r.geo.region.X0, begin: func(*balance) {}, close: func() {}}
	c.read = func(y, n int, dst []float32) error {
		defer r.session.stages().Begin("decode")()
		start := time.Now()
		err := r.photo.ReadLinear(y, n, dst)
		r.report.Seconds.Decode += time.Since(start).Seconds()
		return err
	}
	c.statistics = statistics{func() (*[3]colour.Histogram, error) { return r.linearHistograms(c) }, r.sampleLinear, r.spotLinear}
	return c
}

// eachRow reads the region's rows, changes each, and gives them to the developer if
// there is one.
func (r *run) eachRow(c *colourRows, change func(y int, planes [][]float32), dev *developer) error {
	region := r.geo.region
	block := make([]float32, 3*min(outRows, region.Height())*c.stride)
	for y := 0; y < region.Height(); y += outRows {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n := min(outRows, region.Height()-y)
		err := c.read(region.Y0+y, n, block)
		if err != nil {
			return r.photoError(err)
		}
		var rows exec.Rows
		if dev != nil {
			if rows, err = dev.Rows(y, y+n); err != nil {
				return err
			}
		}
		workers.Each(workers.Count(n, time.Duration(20*region.Width())), n, func(_, i int) {
			planes := make([][]float32, 3)
			for k := range planes {
				planes[k] = block[(3*i+k)*c.stride+c.x0:][:region.Width()]
			}
			change(region.Y0+y+i, planes)
			if rows != nil {
				rows.Row(y+i, planes)
			}
		})
		if rows == nil {
			continue
		}
		if err := rows.End(); err != nil {
			return err
		}
		if r.job.Progress != nil {
			r.job.Progress(int64(y+n), int64(region.Height()))
		}
	}
	return nil
}

// linearHistograms counts the crop's samples by colour.
func (r *run) linearHistograms(c *colourRows) (*[3]colour.Histogram, error) {
	sum := newHistograms()
	rows := make(chan *[3]colour.Histogram, cores())
	for range cap(rows) {
		rows <- nil
	}
	crop, left := r.meta.Crop, r.meta.Crop.X0-r.geo.region.X0
	err := r.eachRow(c, func(y int, planes [][]float32) {
		if y < crop.Y0 || y >= crop.Y1 {
			return
		}
		h := <-rows
		if h == nil {
			h = newHistograms()
		}
		for c, line := range planes {
			for _, v := range line[left:][:crop.Width()] {
				h[c][min(int(min(max(v, 0), 1)*histogramBins), histogramBins-1)]++
			}
		}
		rows <- h
	}, nil)
	if err != nil {
		return nil, err
	}
	for range cap(rows) {
		if h := <-rows; h != nil {
			for c := range h {
				for k, v := range h[c] {
					sum[c][k] += v
				}
			}
		}
	}
	return sum, nil
}
