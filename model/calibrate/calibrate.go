// Package calibrate finds the ranges of a network's values over example inputs, from which model.Quantize makes
// codes.
//
// Start with [New]; [Calibrator.Add] runs an input on the host executor, and [Calibrator.Codes] gives the codes.
package calibrate

import (
	"context"
	"fmt"
	"math"

	"enhance/model"
	"enhance/model/ref"
)

// bins is the number of places of a histogram, half of them for negative samples.
const bins = 1 << 12

// Calibrator gathers histograms of the values that convolutions read.
type Calibrator struct {
	m      *model.Model
	values map[string]*histogram
}

// histogram counts samples by their place in -width..width; the sides, which are exact, may lie beyond.
type histogram struct {
	least, greatest float32
	width           float64
	count           [bins]float64
}

// NotFiniteError says that a value has a sample that is infinite or not a number.
type NotFiniteError struct {
	Value       string
	Row, Column int
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("value %q is not finite at row %d, column %d", e.Value, e.Row, e.Column)
}

// New is a calibrator of what the quantizable convolutions of m read.
func New(m *model.Model) *Calibrator {
	c := &Calibrator{m: m, values: map[string]*histogram{}}
	for _, i := range m.Graph.Quantizable() {
		c.values[m.Graph.Nodes[m.Graph.Nodes[i].In[0]].Name] = &histogram{}
	}
	return c
}

// Add runs an input of h×w samples and counts. It refuses values that are not finite with a NotFiniteError.
func (c *Calibrator) Add(ctx context.Context, in []float32, h, w int) error {
	var bad *NotFiniteError
	_, _, err := ref.Run(ctx, c.m, in, h, w, ref.Options{Dump: func(node string, shape model.Shape, data []float32) {
		hist := c.values[node]
		if hist == nil || bad != nil {
			return
		}
		if at := hist.add(data); at >= 0 {
			at %= shape.H * shape.W
			bad = &NotFiniteError{Value: node, Row: at / shape.W, Column: at % shape.W}
		}
	}})
	if err == nil && bad != nil {
		return bad
	}
	return err
}

// add counts samples. If one is not finite it counts none, and gives its place; else −1.
func (h *histogram) add(data []float32) int {
	for i, v := range data {
		if v-v != 0 {
			return i
		}
		h.least, h.greatest = min(h.least, v), max(h.greatest, v)
	}
	largest := max(float64(h.greatest), -float64(h.least))
	if h.width == 0 {
		h.width = largest
	}
	for ; h.width < largest; h.width *= 2 { // two places become one
		var wider [bins]float64
		for i, n := range h.count {
			wider[bins/4+i/2] += n
		}
		h.count = wider
	}
	if h.width == 0 {
		return -1
	}
	for _, v := range data {
		h.count[min(int((float64(v)/h.width+1)*(bins/2)), bins-1)]++
	}
	return -1
}

// shares are the parts of a range that are tried: codes may be finer where the few largest samples are cut off.
const shares = 24

// codes gives the codes with the least squared error: half a step at most within the range, and what is cut off.
func (h *histogram) codes() model.CodeStep {
	best, found := math.Inf(1), model.CodesFor(h.least, h.greatest)
	for i := range shares {
		for k := range shares {
			least := float64(h.least) * (1 - float64(i)/shares)
			greatest := float64(h.greatest) * (1 - float64(k)/shares)
			if i > 0 && h.least == 0 || k > 0 && h.greatest == 0 {
				continue
			}
			if e := h.lost(least, greatest); e < best {
				best, found = e, model.CodesFor(float32(least), float32(greatest))
			}
		}
	}
	return found
}

// lost is the sum of squared errors of codes for a range.
func (h *histogram) lost(least, greatest float64) (sum float64) {
	step := (greatest - least) / 255
	for i, n := range h.count {
		if n == 0 {
			continue
		}
		v := ((float64(i)+0.5)/(bins/2) - 1) * h.width
		switch {
		case v < least:
			sum += n * (least - v) * (least - v)
		case v > greatest:
			sum += n * (v - greatest) * (v - greatest)
		default:
			sum += n * step * step / 12
		}
	}
	return sum
}

// Codes gives the codes of every value, by its name.
func (c *Calibrator) Codes() map[string]model.CodeStep {
	codes := map[string]model.CodeStep{}
	for name, h := range c.values {
		codes[name] = h.codes()
	}
	return codes
}
