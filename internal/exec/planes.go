package exec

import "enhance/model"

// Planes are a network's input or result in memory: sample (c,y,x) at (c·H+y)·W+x.
type Planes struct {
	model.Shape
	Data []float32
}

// PlanesSource is a [Source] of all rows of planes.
type PlanesSource struct{ *Planes }

// Rows implements Source.
func (s PlanesSource) Rows(int, int) (Rows, error) { return s, nil }

// Row implements Rows.
func (s PlanesSource) Row(y int, planes [][]float32) {
	for c, line := range planes {
		copy(line, s.Data[(c*s.H+y)*s.W:][:s.W])
	}
}

// End implements Rows.
func (s PlanesSource) End() error { return nil }

// PlanesSink is a [Sink] that keeps what planes have room for: rows and columns beyond are
// left out.
type PlanesSink struct{ *Planes }

// Rows implements Sink.
func (s PlanesSink) Rows(int, int) (Rows, error) { return s, nil }

// Row implements Rows.
func (s PlanesSink) Row(y int, planes [][]float32) {
	if y >= s.H {
		return
	}
	for c, line := range planes {
		copy(s.Data[(c*s.H+y)*s.W:][:s.W], line)
	}
}

// End implements Rows.
func (s PlanesSink) End() error { return nil }
