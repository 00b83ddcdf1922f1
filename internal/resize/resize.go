// Package resize makes a picture smaller or larger, row by row, in linear light.
//
// A [Writer] takes the rows of a picture and hands those of the resized one to another
// writer. It filters by a Lanczos window of three lobes (C. Duchon, "Lanczos Filtering in
// One and Two Dimensions", Journal of Applied Meteorology 18, 1979), stretched by the
// factor of a reduction: first along each row, then down the columns, where it adds
// each row to the few rows of the result that it is part of. Only those are in memory.
package resize

import (
	"fmt"
	"math"

	"enhance/internal/colour"
)

// RowWriter takes a picture's rows, of R, G and B in codes of 16 bits.
type RowWriter interface {
	WriteRow(rgb []uint16) error
	Close() error
}

const lobes = 3

// Writer resizes one picture.
type Writer struct {
	next         RowWriter
	codec        codec
	across, down []taps // by column and by row of the result
	height       int    // of the source
	y, done      int    // rows taken, and rows of the result handed on
	sums         [][]float32
	free         [][]float32
	planes       []float32 // a source row's light, by component
	codes        []uint16
	width        int // of the source
}

// codec is between light and the codes of a row, of which a component has some numbers.
type codec interface {
	numbers() int
	decode(planes []float32, rgb []uint16) // one component after the other
	encode(rgb []uint16, red, green, blue []float32)
}

// taps are the source places that a place of the result is made of.
type taps struct {
	first   int
	weights []float32
}

// New returns a Writer from w x h pixels to ow x oh. transfer says what light the codes are.
func New(next RowWriter, transfer *colour.Transfer, w, h, ow, oh int) (*Writer, error) {
	return newWriter(next, &integers{transfer, decoded(transfer)}, w, h, ow, oh)
}

// NewFloats is New for pictures of 32-bit floats, each of which is two numbers: the upper and the lower half
// of its bits. Light below black and beyond white stays as it is.
func NewFloats(next RowWriter, transfer *colour.Transfer, w, h, ow, oh int) (*Writer, error) {
	return newWriter(next, floats{transfer}, w, h, ow, oh)
}

func newWriter(next RowWriter, c codec, w, h, ow, oh int) (*Writer, error) {
	if w < 1 || h < 1 || ow < 1 || oh < 1 {
		return nil, fmt.Errorf("resize: %dx%d pixels to %dx%d: want 1 or more", w, h, ow, oh)
	}
	return &Writer{next: next, codec: c, across: allTaps(w, ow), down: allTaps(h, oh), height: h, width: w,
		planes: make([]float32, 3*w), codes: make([]uint16, 3*ow*c.numbers())}, nil
}

// allTaps are the filters of n places of a line of from. They sum to 1; beyond the line's
// ends there is nothing.
func allTaps(from, n int) []taps {
	all := make([]taps, n)
	ratio := float64(from) / float64(n)
	wide := max(ratio, 1) // a larger picture is interpolated
	reach := lobes * wide
	for i := range all {
		centre := (float64(i)+0.5)*ratio - 0.5
		first, last := max(0, int(math.Ceil(centre-reach))), min(from-1, int(math.Floor(centre+reach)))
		w, sum := make([]float64, last-first+1), 0.0
		for k := range w {
			w[k] = lanczos((float64(first+k) - centre) / wide)
			sum += w[k]
		}
		all[i] = taps{first, make([]float32, len(w))}
		for k := range w {
			all[i].weights[k] = float32(w[k] / sum)
		}
	}
	return all
}

func lanczos(x float64) float64 {
	if x == 0 {
		return 1
	}
	if math.Abs(x) >= lobes {
		return 0
	}
	p := math.Pi * x
	return lobes * math.Sin(p) * math.Sin(p/lobes) / (p * p)
}

// Bytes is what a Writer of such sizes holds.
func Bytes(w, h, ow, oh int) int64 {
	rows := rowsHeld(h, oh)
	taps := int64(2*lobes+3) * 4 * (int64(max(w, ow)) + int64(max(h, oh)))
	return 12*int64(w) + (12*rows+12+24)*int64(ow) + 24*int64(oh) + taps + 4*65536
}

// rowsHeld is of how many rows of the result a source row is part, and some.
func rowsHeld(h, oh int) int64 {
	return 2*lobes*int64((oh+h-1)/h) + 3
}

// WriteRow takes the next row.
func (w *Writer) WriteRow(rgb []uint16) error {
	if len(rgb) != 3*w.width*w.codec.numbers() || w.y == w.height {
		return fmt.Errorf("resize: row %d of %d, with %d numbers for %d pixels", w.y, w.height, len(rgb), w.width)
	}
	w.codec.decode(w.planes, rgb)
	row := w.room()
	for c := range 3 {
		line, out := w.planes[c*w.width:][:w.width], row[c*len(w.across):][:len(w.across)]
		for x, t := range w.across {
			sum := float32(0)
			from := line[t.first:][:len(t.weights)]
			for k, v := range t.weights {
				sum += float32(v * from[k])
			}
			out[x] = sum
		}
	}
	err := w.spread(row)
	w.free = append(w.free, row)
	w.y++
	return err
}

// spread adds a row to the rows of the result that it is part of, and hands on those that
// are complete.
func (w *Writer) spread(row []float32) error {
	for i := w.done; i < len(w.down) && w.down[i].first <= w.y; i++ {
		if i-w.done == len(w.sums) {
			sum := w.room()
			clear(sum)
			w.sums = append(w.sums, sum)
		}
		t := w.down[i]
		if w.y-t.first >= len(t.weights) {
			continue
		}
		k, sum := t.weights[w.y-t.first], w.sums[i-w.done]
		for x, v := range row {
			sum[x] += float32(k * v)
		}
	}
	for w.done < len(w.down) && w.y >= w.down[w.done].first+len(w.down[w.done].weights)-1 {
		sum := w.sums[0]
		n := len(w.across)
		w.codec.encode(w.codes, sum[:n], sum[n:][:n], sum[2*n:])
		w.sums, w.free = w.sums[1:], append(w.free, sum)
		w.done++
		if err := w.next.WriteRow(w.codes); err != nil {
			return err
		}
	}
	return nil
}

// room is memory for a row of the result's width.
func (w *Writer) room() []float32 {
	if n := len(w.free); n > 0 {
		row := w.free[n-1]
		w.free = w.free[:n-1]
		return row
	}
	return make([]float32, 3*len(w.across))
}

// Close completes the picture.
func (w *Writer) Close() error { return w.next.Close() }

// Fit returns the size of w x h pixels within maxW x maxH, at its proportions: no larger
// than it is, and no side below 1.
func Fit(w, h, maxW, maxH int) (int, int) {
	if w <= maxW && h <= maxH {
		return w, h
	}
	scale := math.Min(float64(maxW)/float64(w), float64(maxH)/float64(h))
	side := func(n, most int) int {
		return max(1, min(int(math.Round(float64(n)*scale)), most))
	}
	return side(w, maxW), side(h, maxH)
}
