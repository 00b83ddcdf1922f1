package pipeline

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"enhance/colour"
	"enhance/imgio"
	"enhance/model"
)

func cores() int { return runtime.GOMAXPROCS(0) }

// batchRows is how many rows are developed at a time, spread over the cores.
const batchRows = 32

// NonFiniteError says that the network made a sample that is not a number.
type NonFiniteError struct {
	Row, Column int // of the picture as stored
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("the network's result is not a number at row %d, column %d: its weights are damaged or too large for the precision", e.Row, e.Column)
}

// developer turns the network's rows into sRGB rows: an exec.Sink before a
// RowWriter.
type developer struct {
	geo   geometry
	conv  *model.Convention
	gain  float32 // of linear light
	mat   colour.Matrix
	light []float32 // linear light of a network sample; nil if it is the code already
	next  imgio.RowWriter

	w      int
	planes []float32  // a batch: row, plane, column
	pixels []float32  // interleaved
	codes  []uint16   // interleaved
	bad    [][2]int32 // per row of the batch: 1 and the column of a bad sample
	n, y   int        // rows in the batch, rows written

	develop, encode time.Duration
	err             error // the first; the engine may report only that it was stopped
}

func newDeveloper(g geometry, c *model.Convention, b *balance, next imgio.RowWriter) *developer {
	d := &developer{geo: g, conv: c, next: next, w: g.out.Width()}
	d.gain = float32(math.Exp2(b.ev))
	switch {
	case c.Output == model.OutputCameraGamma:
		d.light = lightTable(func(v float64) float64 { return math.Pow(v, c.Gamma) })
	case b.ev != 0:
		d.light = lightTable(colour.SRGBDecode)
	}
	d.mat = b.matrix
	for i := range d.mat {
		for j := range d.mat[i] {
			d.mat[i][j] *= float64(d.gain)
		}
	}
	n := 3 * d.w * min(batchRows, g.out.Height())
	d.planes, d.pixels, d.codes = make([]float32, n), make([]float32, n), make([]uint16, n)
	d.bad = make([][2]int32, batchRows)
	return d
}

// lightSteps are the intervals of a light table. Straight lines between them are
// within 2e-8 of x^2.2, less than 1/50 of a 16-bit step anywhere on the sRGB curve.
const lightSteps = 4096

// lightTable samples f on 0..1, with one entry more so that 1 needs no exception.
func lightTable(f func(float64) float64) []float32 {
	t := make([]float32, lightSteps+2)
	for i := range lightSteps + 1 {
		t[i] = float32(f(float64(i) / lightSteps))
	}
	t[lightSteps+1] = t[lightSteps]
	return t
}

// Row implements exec.Sink.
func (d *developer) Row(y int, planes [][]float32) error {
	out := d.geo.out
	if d.err != nil || y < out.Y0 || y >= out.Y1 {
		return d.err
	}
	start := time.Now()
	row := d.planes[3*d.w*d.n:]
	for c := range 3 {
		copy(row[c*d.w:][:d.w], planes[c][out.X0:out.X1])
	}
	d.n++
	if d.n < batchRows && y+1 < out.Y1 {
		d.develop += time.Since(start)
		return nil
	}
	inParallel(d.n, d.row)
	d.develop += time.Since(start)
	d.err = d.flush()
	return d.err
}

// row develops row i of the batch.
func (d *developer) row(i int) {
	at := 3 * d.w * i
	src, px, codes := d.planes[at:][:3*d.w], d.pixels[at:][:3*d.w], d.codes[at:][:3*d.w]
	d.bad[i] = [2]int32{}
	for c := range 3 {
		line := src[c*d.w:][:d.w]
		for x, v := range line {
			if v-v != 0 { // infinite or not a number
				d.bad[i] = [2]int32{1, int32(x)}
				return
			}
			v = min(max(v, 0), 1)
			if d.light != nil {
				f := v * lightSteps
				k := int(f)
				a, b := d.light[k], d.light[k+1]
				v = a + float32((b-a)*(f-float32(k)))
			}
			px[3*x+c] = v
		}
	}
	switch {
	case d.light == nil:
		for k, v := range px {
			codes[k] = uint16(v*65535 + 0.5)
		}
		return
	case d.conv.Output == model.OutputCameraGamma:
		colour.ApplyRow(px, px, &d.mat)
	default:
		for k := range px {
			px[k] *= d.gain
		}
	}
	colour.SRGBEncodeRow(codes, px)
}

// flush writes the batch.
func (d *developer) flush() error {
	start := time.Now()
	defer func() { d.encode += time.Since(start) }()
	for i := range d.n {
		if d.bad[i][0] != 0 {
			return &NonFiniteError{Row: d.y, Column: int(d.bad[i][1])}
		}
		if err := d.next.WriteRow(d.codes[3*d.w*i:][:3*d.w]); err != nil {
			return err
		}
		d.y++
	}
	d.n = 0
	return nil
}

// finish completes the picture.
func (d *developer) finish() error {
	start := time.Now()
	err := d.next.Close()
	d.encode += time.Since(start)
	return err
}
