package pipeline

import (
	"time"

	"enhance/internal/colour"
	"enhance/internal/exec"
	"enhance/internal/workers"
	"enhance/model"
	"enhance/raw"
)

// A demosaiced photo (linear DNG) has no mosaic for a network. Its camera colours
// are developed as a network's would be.

// linearConvention is how the rows of a demosaiced photo are given to the developer:
// light, white-balanced, a pixel for a sample.
var linearConvention = model.Convention{SubtractBlack: true, Gamma: 1, Divisor: 1, Output: model.OutputCameraGamma,
	Multiple: 1, MinSide: 1, ScaleNum: 2, ScaleDen: 1}

// linearLayout is the geometry of a demosaiced photo: all of it is read where it is
// warped, else the crop.
func linearLayout(m *raw.Meta) geometry {
	r := m.Crop
	if m.Warped {
		r = raw.Rect{X1: m.Width, Y1: m.Height}
	}
	return geometry{region: r, view: raw.Rect{X1: r.Width(), Y1: r.Height()},
		out: raw.Rect{X0: m.Crop.X0 - r.X0, Y0: m.Crop.Y0 - r.Y0, X1: m.Crop.X1 - r.X0, Y1: m.Crop.Y1 - r.Y0}}
}

// withoutNetwork makes the picture of a demosaiced photo.
func (r *run) withoutNetwork(out *target, w, h int) error {
	r.turn.leave() // the device is not used
	r.report.warn("the photo is demosaiced already: no network is run")
	r.report.Plan.Strategy, r.report.Plan.Precision = "no network", "fp32"
	var err error
	if r.decisions.balance, err = decideBalance(r.meta, statistics{r.linearHistograms, r.sampleLinear}, r.job, false, r.report); err != nil {
		return r.photoError(err)
	}
	if err = r.decideRendering(&linearConvention); err != nil {
		return r.photoError(err)
	}
	if r.job.Reference != "" {
		_, _, uw, uh := outputSize(r.geo, r.meta.Orientation)
		if r.decisions.compare, err = openReference(r.job.Reference, uw, uh, r.job.Output.Bits); err != nil {
			return err
		}
	}
	if r.job.Planned != nil {
		r.job.Planned(r.report)
	}
	if r.job.DryRun {
		return nil
	}
	var tap func([]uint16) error
	if r.decisions.compare != nil {
		tap = r.decisions.compare.row
	}
	enc, err := encoder(out, &r.job.Output, r.meta, w, h, tap, r.report)
	if err != nil {
		return err
	}
	dev := newDeveloper(r.geo, r.decisions.rendering, enc, r.holds.batches, &r.session.host.pictures, r.session.stages())
	defer dev.abandon()
	start := time.Now()
	err = r.eachLinear(func(y int, planes [][]float32) { // light is balanced as a network's is
		gains := r.decisions.balance.networkGains()
		for c, line := range planes {
			gain := float32(gains[c])
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

// eachLinear reads the region's rows, changes each, and gives them to the developer
// if there is one.
func (r *run) eachLinear(change func(y int, planes [][]float32), dev *developer) error {
	region, stride := r.geo.region, r.meta.Width
	block := make([]float32, 3*min(outRows, region.Height())*stride)
	for y := 0; y < region.Height(); y += outRows {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n := min(outRows, region.Height()-y)
		end := r.session.stages().Begin("decode")
		start := time.Now()
		err := r.photo.ReadLinear(region.Y0+y, n, block)
		r.report.Seconds.Decode += time.Since(start).Seconds()
		end()
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
			for c := range planes {
				planes[c] = block[(3*i+c)*stride:][region.X0:region.X1]
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
	}
	return nil
}

// linearHistograms counts the crop's samples by colour.
func (r *run) linearHistograms() (*[3]colour.Histogram, error) {
	sum := newHistograms()
	rows := make(chan *[3]colour.Histogram, cores())
	for range cap(rows) {
		rows <- nil
	}
	crop, left := r.meta.Crop, r.meta.Crop.X0-r.geo.region.X0
	err := r.eachLinear(func(y int, planes [][]float32) {
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
