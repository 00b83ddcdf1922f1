package pipeline

import (
	"enhance/internal/fuse"
	"enhance/model"
	"enhance/raw"
)

// contextSamples is how far around the crop the network sees what the sensor
// recorded, where it did. Even, so that it does not change the filter phase.
const contextSamples = 32

// geometry says which samples the network sees and where the picture lies in
// its output.
type geometry struct {
	// region is the part of the active area that is used: the crop and its context.
	region raw.Rect
	// top and left are 1 where a reflected row or column stands before the region
	// so that the sample at (0,0) is red, for networks that want it there.
	top, left int
	// h and w are the sides of the packed planes after padding.
	h, w int
	// out is the crop in the network's output, view the region.
	out, view raw.Rect
}

// layout lays a photo out for a network.
func layout(m *raw.Meta, c *model.Convention) geometry {
	r := raw.Rect{
		X0: max(0, m.Crop.X0-contextSamples), Y0: max(0, m.Crop.Y0-contextSamples),
		X1: min(m.Width, m.Crop.X1+contextSamples), Y1: min(m.Height, m.Crop.Y1+contextSamples),
	}
	if m.Warped { // the crop may show any of it
		r = raw.Rect{X1: m.Width, Y1: m.Height}
	}
	var g geometry
	if c.Samples == model.SamplesQuad {
		g.alignRed(m, &r)
	}
	g.region = r
	g.h, g.w = c.PaddedSides((r.Height()+g.top+1)/2, (r.Width()+g.left+1)/2)
	// From mosaic samples to output samples: times num/den.
	num, den := c.ScaleNum, 2*c.ScaleDen
	first := func(v int) int { return v * num / den }
	end := func(v int) int { return (v*num + den - 1) / den }
	dx, dy := g.left-r.X0, g.top-r.Y0
	g.out = raw.Rect{X0: first(m.Crop.X0 + dx), Y0: first(m.Crop.Y0 + dy), X1: end(m.Crop.X1 + dx), Y1: end(m.Crop.Y1 + dy)}
	g.view = raw.Rect{X0: first(g.left), Y0: first(g.top), X1: end(g.left + r.Width()), Y1: end(g.top + r.Height())}
	return g
}

// alignRed has the quads of a Bayer mosaic begin with red.
func (g *geometry) alignRed(m *raw.Meta, r *raw.Rect) {
	// Red is in row 0 or 1 of the region and in column 0 or 1. A true row before
	// the region is better than a reflected one.
	redRow, redCol := 0, 0
	for i := range 4 {
		if m.CFA.At(r.Y0+i/2, r.X0+i%2) == raw.Red {
			redRow, redCol = i/2, i%2
		}
	}
	if redRow == 1 {
		if r.Y0 > 0 {
			r.Y0--
		} else {
			g.top = 1
		}
	}
	if redCol == 1 {
		if r.X0 > 0 {
			r.X0--
		} else {
			g.left = 1
		}
	}
}

// sampleRows are the first and the last row of the region that packed rows y0 to y1-1 show.
func (g *geometry) sampleRows(y0, y1 int) (first, last int) {
	first = g.region.Height()
	for y := y0; y < y1; y++ {
		for r := range 2 {
			at := g.sampleRow(y, r)
			first, last = min(first, at), max(last, at)
		}
	}
	return first, last
}

// sampleRow is the row of the region that row r (0 or 1) of the quads of padded
// packed row y shows. Beyond the region it is the mosaic that is reflected, about its last sample,
// not the planes: the picture is then mirrored there, and a Bayer sample keeps its colour.
func (g *geometry) sampleRow(y, r int) int {
	return fuse.Reflect(2*y+r-g.top, g.region.Height())
}

// sampleColumns are the columns of the region that column c (0 or 1) of the quads
// shows, for every padded packed column.
func (g *geometry) sampleColumns(c int) []int32 {
	cols := make([]int32, g.w)
	for x := range cols {
		cols[x] = int32(fuse.Reflect(2*x+c-g.left, g.region.Width()))
	}
	return cols
}
