// Package warp moves the pixels of a picture as the lens corrections of a DNG
// file ask for (opcodes WarpRectilinear and WarpFisheye), row by row.
//
// A Warper knows ahead which source rows each row of the result needs. The
// caller hands source rows over, downwards, and makes the rows of the result that
// have become possible:
//
//	w.Add(row)             // the next source row, its planes one after the other
//	first, end := w.Ready()
//	w.Make(y, dst)         // each row of the result, in any order, on any core
//	w.Drop()               // gives back the source rows that are used up
//
// It holds the rows that one row of the result spans, and no more: a height of
// thousands of rows takes as much memory as one of hundreds.
package warp

import (
	"fmt"
	"math"
	"time"

	"enhance/internal/buffers"
	"enhance/internal/workers"
	"enhance/raw/opcode"
	"enhance/raw/rawerr"
)

// Spec describes a picture to be warped.
type Spec struct {
	// Warps are done in this order.
	Warps []opcode.Warp
	// Frame is the image that the warps are for, in samples.
	Frame opcode.Frame

	// Width and Height are the source's size in pixels. Its first pixel's corner
	// is the corner of sample X0, Y0, and Scale pixels are a sample.
	Width, Height int
	X0, Y0        int
	Scale         float64

	// Left to Right-1 and Top to Bottom-1 are the result's pixels, in the
	// source's coordinates.
	Left, Top, Right, Bottom int
}

// planes of camera RGB.
const planes = 3

// Warper warps one picture.
type Warper struct {
	spec     Spec
	chain    chain
	separate bool
	low      []int32 // by row of the result: the first source row that it and later ones need
	high     []int32 // the last source row that it needs
	next     int     // row of the result that Ready gives next

	base int // source row rows[0]
	rows [][]float32
	work buffers.Slices[float64]
}

// New returns a Warper. Warps that lead to no place are an error.
func New(s Spec) (*Warper, error) {
	w := &Warper{spec: s, chain: newChain(s.Warps, s.Frame)}
	for _, p := range s.Warps {
		w.separate = w.separate || p.Separate()
	}
	return w, w.plan()
}

// chain are warps in a frame.
type chain struct {
	warps   []opcode.Warp
	centres []opcode.Centre
}

func newChain(warps []opcode.Warp, f opcode.Frame) chain {
	c := chain{warps: warps}
	for _, p := range warps {
		cx, cy := p.Center()
		c.centres = append(c.centres, opcode.NewCentre(f, cx, cy))
	}
	return c
}

// source gives where place x, y of the frame comes from in plane p.
func (c *chain) source(p int, x, y float64) (sx, sy float64) {
	for i := len(c.warps) - 1; i >= 0; i-- {
		o := &c.centres[i]
		dx, dy := c.warps[i].Source(p, (x-o.X)/o.Unit, (y-o.Y)/o.Unit)
		x, y = o.X+float64(dx*o.Unit), o.Y+float64(dy*o.Unit)
	}
	return x, y
}

// Source gives where place x, y of a warped image comes from in plane p, in samples; the
// frame is the image's.
func Source(warps []opcode.Warp, f opcode.Frame, p int, x, y float64) (sx, sy float64) {
	c := newChain(warps, f)
	sx, sy = c.source(p, x-float64(f.X0), y-float64(f.Y0))
	return sx + float64(f.X0), sy + float64(f.Y0)
}

// places are where the pixels of a row of the result come from.
type places struct{ x, y []float64 }

// source gives where pixel x, y of plane p of the result comes from.
func (w *Warper) source(p int, x, y float64) (sx, sy float64) {
	s := &w.spec
	// To samples of the frame, whose centres are at whole numbers.
	fx := (x+0.5)/s.Scale - 0.5 + float64(s.X0-s.Frame.X0)
	fy := (y+0.5)/s.Scale - 0.5 + float64(s.Y0-s.Frame.Y0)
	fx, fy = w.chain.source(p, fx, fy)
	return (fx-float64(s.X0-s.Frame.X0)+0.5)*s.Scale - 0.5, (fy-float64(s.Y0-s.Frame.Y0)+0.5)*s.Scale - 0.5
}

// planStep is how far apart the pixels of a row are that tell which rows it needs.
const planStep = 8

// plan finds the source rows that each row of the result needs.
func (w *Warper) plan() error {
	n := w.spec.Bottom - w.spec.Top
	w.low, w.high = make([]int32, n), make([]int32, n)
	bad := make([]bool, n)
	each := time.Duration(5 * (w.spec.Right - w.spec.Left)) // a pixel in eight is looked at
	workers.Each(workers.Count(n, each), n, func(_, i int) { bad[i] = !w.planRow(i) })
	for i, b := range bad {
		if b {
			return rawerr.Formatf("OpcodeList3", "the lens correction leads to no place in row %d", i)
		}
	}
	for i := n - 2; i >= 0; i-- {
		w.low[i] = min(w.low[i], w.low[i+1])
	}
	return nil
}

// planRow looks at some pixels of row i. Between two of them the source may lie
// outside of both by as much as they differ.
func (w *Warper) planRow(i int) bool {
	s := &w.spec
	least, most := math.Inf(1), math.Inf(-1)
	turns := 1
	if w.separate {
		turns = planes
	}
	for p := range turns {
		last := math.NaN()
		for x := s.Left; ; x = min(x+planStep, s.Right-1) {
			sx, sy := w.source(p, float64(x), float64(s.Top+i))
			if !(math.Abs(sx) < farthest && math.Abs(sy) < farthest) {
				return false
			}
			around := 0.0
			if x > s.Left {
				around = math.Abs(sy - last)
			}
			least, most, last = min(least, sy-around), max(most, sy+around), sy
			if x == s.Right-1 {
				break
			}
		}
	}
	limit := func(v float64) int32 { return int32(min(max(v, 0), float64(s.Height-1))) }
	w.low[i], w.high[i] = limit(math.Floor(least)-1), limit(math.Floor(most)+2)
	return true
}

// farthest is a place that is called nowhere, in pixels.
const farthest = 1 << 30

// Held is how many source rows are held at most, besides those of a chunk.
func (w *Warper) Held() int {
	held := 0
	for i := range w.low {
		held = max(held, int(w.high[i]-w.low[i])+1)
	}
	return held
}

// Add takes the next source row, its planes one after the other, Width pixels each.
// It is the Warper's until Drop gives it back.
func (w *Warper) Add(row []float32) { w.rows = append(w.rows, row) }

// Ready gives the rows of the result, first to end-1, that the rows added since the
// last call make possible.
func (w *Warper) Ready() (first, end int) {
	first = w.next
	for w.next < len(w.high) && int(w.high[w.next]) < w.base+len(w.rows) {
		w.next++
	}
	return first, w.next
}

// Drop gives back the source rows that no row of the result needs any more but those
// that Ready gave, which must be made before.
func (w *Warper) Drop() [][]float32 {
	keep := w.spec.Height
	if w.next < len(w.low) {
		keep = int(w.low[w.next])
	}
	n := min(max(keep-w.base, 0), len(w.rows))
	used := w.rows[:n:n]
	w.rows = append([][]float32(nil), w.rows[n:]...)
	w.base += n
	return used
}

// Make makes row y of the result, which Ready gave. dst has its planes.
func (w *Warper) Make(y int, dst [][]float32) error {
	n := w.spec.Right - w.spec.Left
	both := w.work.Get(2 * n)
	defer w.work.Put(both)
	at := &places{x: both[:n], y: both[n:]}
	for p := range planes {
		if p > 0 && !w.separate {
			break
		}
		if !w.locate(at, p, y) {
			return rawerr.Formatf("OpcodeList3", "the lens correction is not smooth at row %d", y)
		}
		last := p
		if !w.separate {
			last = planes - 1
		}
		for i := range at.x {
			w.sample(at.x[i], at.y[i], p, last, dst, i)
		}
	}
	return nil
}

// locate finds where the pixels of row y of plane p come from. It reports false if
// that is a row that plan did not foresee.
func (w *Warper) locate(at *places, p, y int) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for i := range at.x {
		sx, sy := w.source(p, float64(w.spec.Left+i), float64(w.spec.Top+y))
		at.x[i], at.y[i] = sx, sy
		least, most = min(least, sy), max(most, sy)
	}
	top, end := w.base, w.base+len(w.rows)
	return !(math.Floor(least)-1 < float64(top) && top > 0 || math.Floor(most)+2 >= float64(end) && end < w.spec.Height || least-least != 0)
}

// sample interpolates planes p to last at x, y into pixel i: bicubic (Keys, "Cubic
// convolution interpolation for digital image processing", IEEE Trans. ASSP 29(6),
// 1981, with a = -1/2). Beyond the picture its edge goes on.
func (w *Warper) sample(x, y float64, p, last int, dst [][]float32, i int) {
	ix, iy := math.Floor(x), math.Floor(y)
	cx, cy := cubic(float32(x-ix)), cubic(float32(y-iy))
	width := w.spec.Width
	j, top := int(ix)-1, int(iy)-1
	var lines [4][]float32
	for k := range lines {
		lines[k] = w.rows[min(max(top+k, 0), w.spec.Height-1)-w.base]
	}
	if j < 0 || j+4 > width {
		w.sampleEdge(lines, cx, cy, j, p, last, dst, i)
		return
	}
	for ; p <= last; p++ {
		sum := float32(0)
		for k, weight := range cy {
			t := lines[k][p*width+j:][:4:4]
			sum += float32(weight * (float32(cx[0]*t[0]) + float32(cx[1]*t[1]) + float32(cx[2]*t[2]) + float32(cx[3]*t[3])))
		}
		dst[p][i] = sum
	}
}

// sampleEdge is sample where columns j to j+3 are not all in the picture.
func (w *Warper) sampleEdge(lines [4][]float32, cx, cy [4]float32, j, p, last int, dst [][]float32, i int) {
	width := w.spec.Width
	for ; p <= last; p++ {
		sum := float32(0)
		for k, weight := range cy {
			line := float32(0)
			for q, v := range cx {
				line += float32(v * lines[k][p*width+min(max(j+q, 0), width-1)])
			}
			sum += float32(weight * line)
		}
		dst[p][i] = sum
	}
}

// cubic gives the weights of the samples at -1, 0, 1 and 2 for a place t between
// those at 0 and 1.
func cubic(t float32) [4]float32 {
	t2 := float32(t * t)
	t3 := float32(t2 * t)
	return [4]float32{
		-0.5*t3 + t2 - 0.5*t,
		1.5*t3 - 2.5*t2 + 1,
		-1.5*t3 + 2*t2 + 0.5*t,
		0.5*t3 - 0.5*t2,
	}
}

// String says how many warps there are, and how many rows they hold.
func (w *Warper) String() string {
	return fmt.Sprintf("%d warps, %d rows held", len(w.spec.Warps), w.Held())
}
