package opcode

import (
	"fmt"
	"time"

	"enhance/internal/workers"
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// Stage is where in the processing a list stands.
type Stage int

// The stages of the three lists.
const (
	Stored    Stage = 1 // samples as they are in the file, divided by 65535
	Mosaic    Stage = 2 // samples of the active area, 0 at black, 1 at white
	Developed Stage = 3 // camera RGB, 0 at black, 1 at white
)

// Source gives rows y0 to y0+n-1: each row's planes one after the other, Width
// samples each.
type Source func(y0, n int, dst []float32) error

// Chain applies operations to rows. It is not safe for concurrent use.
type Chain struct {
	source Source
	planes int
	width  int // of the rows
	height int
	steps  []step
	frame  Frame // after the last step
	bad    []bool
	spare  [][]float32

	array mosaic.Pattern // see ArrayOf
}

// step is one operation, in the frame that it finds.
type step struct {
	frame Frame
	point Pointwise // nil: marks is set
	marks marker
}

// NewChain returns a chain without operations for an image of planes planes.
func NewChain(width, height, planes int, source Source) *Chain {
	return &Chain{source: source, planes: planes, width: width, height: height, frame: Frame{Width: width, Height: height}}
}

// Add appends those operations of a list that can be done on rows: all but warps.
// Operations that cannot be done at the stage get a Problem if they are optional,
// else they are an error.
func (c *Chain) Add(ops []Operation, stage Stage) error {
	for i := range ops {
		op := &ops[i]
		problem := c.add(op.Params, stage)
		if problem == "" {
			continue
		}
		if !op.Optional {
			return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%v in OpcodeList%d, which the file says must not be skipped: %s", op.ID, stage, problem)}
		}
		op.Params, op.Problem = nil, problem
	}
	return nil
}

// add appends one operation, or says why not.
func (c *Chain) add(params any, stage Stage) (problem string) {
	switch p := params.(type) {
	case Warp:
		if stage != Developed {
			return "pixels are moved only after demosaicing (OpcodeList3)"
		}
	case *TrimBounds:
		f, ok := p.Trim(c.frame)
		if !ok {
			return fmt.Sprintf("its rectangle is not inside the image of %dx%d", c.frame.Width, c.frame.Height)
		}
		c.frame = f
	case marker:
		if _, constant := p.(*BadConstant); c.planes > 1 || constant && stage != Stored {
			return "bad samples are repaired only on mosaics, and constants only as stored (OpcodeList1)"
		}
		c.steps = append(c.steps, step{frame: c.frame, marks: p})
	case Pointwise:
		c.steps = append(c.steps, step{frame: c.frame, point: p})
	}
	return ""
}

// AddPointwise appends an operation that is not of a list.
func (c *Chain) AddPointwise(p Pointwise) { c.steps = append(c.steps, step{frame: c.frame, point: p}) }

// Within sets the frame that the next operations find.
func (c *Chain) Within(f Frame) { c.frame = f }

// Empty reports whether the chain changes no sample.
func (c *Chain) Empty() bool { return len(c.steps) == 0 }

// Frame is the part of the image that TrimBounds leaves.
func (c *Chain) Frame() Frame { return c.frame }

// Rows gives rows y0 to y0+n-1 after all operations, like a Source.
func (c *Chain) Rows(y0, n int, dst []float32) error { return c.eval(len(c.steps), y0, n, dst) }

// eval gives rows after the first k steps.
func (c *Chain) eval(k, y0, n int, dst []float32) error {
	if k == 0 {
		return c.source(y0, n, dst)
	}
	s := &c.steps[k-1]
	if s.marks != nil {
		return c.repairRows(s, k-1, y0, n, dst)
	}
	first := k - 1
	for first > 0 && c.steps[first-1].marks == nil {
		first--
	}
	if err := c.eval(first, y0, n, dst); err != nil {
		return err
	}
	c.apply(first, k, y0, n, dst)
	return nil
}

// apply does the pointwise steps first to end-1 to n rows.
func (c *Chain) apply(first, end, y0, n int, rows []float32) {
	eachRow(n, c.width, func(r int) {
		for p := range c.planes {
			pointwise(c.steps[first:end], y0+r, 0, p, rows[(r*c.planes+p)*c.width:][:c.width])
		}
	})
}

// Row does all operations on samples of one row and plane, from column x0 on, for a
// caller that has rows of its own. There must be no repairs among them: there are
// none after demosaicing.
func (c *Chain) Row(y, x0, plane int, row []float32) { pointwise(c.steps, y, x0, plane, row) }

// Multiplier is an operation that multiplies each sample by a factor of its place.
type Multiplier interface {
	Pointwise
	Multiplies() bool
}

// Multiplies implements Multiplier.
func (g *GainMap) Multiplies() bool { return true }

// Multiplies implements Multiplier.
func (v *VignetteRadial) Multiplies() bool { return true }

// Multiplies implements Multiplier.
func (l *PerLine) Multiplies() bool { return l.Scale }

// Multiplies reports whether some operation of the chain is a factor.
func (c *Chain) Multiplies() bool {
	for i := range c.steps {
		if m, ok := c.steps[i].point.(Multiplier); ok && m.Multiplies() {
			return true
		}
	}
	return false
}

// Factors gives the product of all factors for samples of row y and a plane, from
// column x0 on. It may be called at any time, by several goroutines.
func (c *Chain) Factors(y, x0, plane int, dst []float32) {
	const small = 1.0 / (1 << 30) // operations cut off at 1
	for i := range dst {
		dst[i] = small
	}
	for i := range c.steps {
		if m, ok := c.steps[i].point.(Multiplier); ok && m.Multiplies() {
			f := c.steps[i].frame
			m.Row(f, y-f.Y0, x0-f.X0, plane, dst)
		}
	}
	for i, v := range dst {
		dst[i] = v / small
	}
	dropInfinite(dst)
}

func pointwise(steps []step, y, x0, plane int, row []float32) {
	for i := range steps {
		f := steps[i].frame
		steps[i].point.Row(f, y-f.Y0, x0-f.X0, plane, row)
	}
	dropInfinite(row)
}

// dropInfinite makes 0 of what parameters of absurd size made infinite or no number.
func dropInfinite(row []float32) {
	for i, v := range row {
		if v-v != 0 {
			row[i] = 0
		}
	}
}

// repairRows gives rows after repairing, from rows after k steps.
func (c *Chain) repairRows(s *step, k, y0, n int, dst []float32) error {
	top, end := max(0, y0-reach), min(c.height, y0+n+reach)
	rows := c.take((end - top) * c.width)
	defer c.give(rows)
	if err := c.eval(k, top, end-top, rows); err != nil {
		return err
	}
	if cap(c.bad) < len(rows) {
		c.bad = make([]bool, len(rows))
	}
	bad := c.bad[:len(rows)]
	s.mark(top, end-top, c.width, rows, bad)
	copy(dst, rows[(y0-top)*c.width:][:n*c.width])
	eachRow(n, c.width, func(r int) {
		at := (y0 - top + r) * c.width
		for x, b := range bad[at:][:c.width] {
			switch {
			case !b:
			case c.array.Valid():
				dst[r*c.width+x] = repairIn(c.array, rows, bad, c.width, end-top, y0-top+r, x, y0+r)
			default:
				green := greenAt(s.marks.phase(), y0+r-s.frame.Y0, x-s.frame.X0)
				dst[r*c.width+x] = repair(rows, bad, c.width, end-top, y0-top+r, x, green)
			}
		}
	})
	return nil
}

// mark is marker.mark in the coordinates of the rows.
func (s *step) mark(y, n, width int, rows []float32, bad []bool) {
	if s.frame.X0 == 0 && s.frame.Y0 == 0 {
		s.marks.mark(y, n, width, rows, bad)
		return
	}
	clear(bad)
	f := s.frame
	first, end := max(y, f.Y0), min(y+n, f.Y0+f.Height)
	inner := make([]bool, f.Width)
	for r := first; r < end; r++ {
		at := (r-y)*width + f.X0
		s.marks.mark(r-f.Y0, 1, f.Width, rows[at:][:f.Width], inner)
		copy(bad[at:], inner)
	}
}

func (c *Chain) take(n int) []float32 {
	if k := len(c.spare); k > 0 && cap(c.spare[k-1]) >= n {
		b := c.spare[k-1][:n]
		c.spare = c.spare[:k-1]
		return b
	}
	return make([]float32, n)
}

func (c *Chain) give(b []float32) { c.spare = append(c.spare, b) }

// eachRow calls do for rows 0 to n-1 of some width, on as many cores as that is worth.
func eachRow(n, width int, do func(r int)) {
	workers.Each(workers.Count(n, time.Duration(5*width)), n, func(_, r int) { do(r) })
}
