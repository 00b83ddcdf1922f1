package pipeline

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"enhance/internal/buffers"
	"enhance/internal/colour"
	"enhance/internal/exec"
	"enhance/internal/imgio"
	"enhance/internal/trace"
	"enhance/model"
)

func cores() int { return runtime.GOMAXPROCS(0) }

// outRows is how many rows of the picture are handed to the encoder at a time, at
// most.
const outRows = 64

// outBatches is how many such batches a picture has in memory at least: one that
// is developed, one that is encoded and two between, so that neither waits for
// the other's hiccups.
const outBatches = 4

// batchesOf is how many batches a whole picture is.
func batchesOf(g geometry) int { return (g.out.Height() + outRows - 1) / outRows }

// NonFiniteError says that the network made a sample that is not a number.
type NonFiniteError struct {
	Row, Column int // of the picture as stored
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("the network's result is not a number at row %d, column %d: its weights are damaged or too large for the precision", e.Row, e.Column)
}

// developer turns the network's rows into sRGB rows: an exec.Sink before a
// RowWriter. It develops on all cores; a goroutine of its own encodes.
type developer struct {
	geo     geometry
	lens    *lens                   // nil: none
	pixels  buffers.Slices[float32] // a row each, by component
	develop busyTime
	tone
	encoding
}

// tone makes codes of the network's samples.
type tone struct {
	conv  *model.Convention
	gain  float32 // of linear light
	mat   colour.Matrix
	coded bool                       // network samples are the codes already
	light *[lightSteps + 1]lightStep // what a network sample is as linear light, or as it is
}

// encoding hands developed rows to the encoder, in a goroutine of its own.
type encoding struct {
	next   imgio.RowWriter
	w      int // pixels of a row
	stages *trace.Stages
	pool   *buffers.Slices[uint16]
	free   chan []uint16
	queue  chan batchOfRows
	ended  chan struct{}
	encode time.Duration
	failed atomic.Pointer[error] // the first
}

// batchOfRows is developed rows on their way to the encoder: interleaved codes.
type batchOfRows struct {
	rows  int
	codes []uint16
}

// newDeveloper makes a developer that holds at most so many batches of rows. The
// caller must finish or abandon it.
func newDeveloper(g geometry, c *model.Convention, b *balance, next imgio.RowWriter, batches int, pool *buffers.Slices[uint16], stages *trace.Stages) *developer {
	d := &developer{geo: g}
	d.next, d.w, d.pool, d.stages, d.ended = next, g.out.Width(), pool, stages, make(chan struct{})
	d.conv, d.gain = c, float32(math.Exp2(b.ev))
	switch {
	case c.Output == model.OutputCameraGamma:
		d.light = lightTable(c.Decode)
	case b.ev != 0:
		d.light = lightTable(colour.SRGBDecode)
	default:
		d.light, d.coded = sameLight(), true
	}
	d.mat = b.matrix
	for i := range d.mat {
		for j := range d.mat[i] {
			d.mat[i][j] *= float64(d.gain)
		}
	}
	d.queue, d.free = make(chan batchOfRows, batches), make(chan []uint16, batches)
	for range batches {
		d.free <- nil
	}
	go d.write()
	return d
}

// lightSteps are the intervals of a light table. Straight lines between them are
// within 3e-8 of x^2.2 and of the inverse sRGB curve, less than 1/50 of a 16-bit step anywhere on the sRGB curve.
const lightSteps = 4096

// lightStep is the light at the start of an interval, and how much more it is at
// its end.
type lightStep struct{ at, rise float32 }

// lightTable samples f on 0..1; 1 is an interval of its own.
func lightTable(f func(float64) float64) *[lightSteps + 1]lightStep {
	t := new([lightSteps + 1]lightStep)
	for i := range t {
		t[i].at = float32(f(float64(i) / lightSteps))
		if i > 0 {
			t[i-1].rise = t[i].at - t[i-1].at
		}
	}
	return t
}

// sameLight is the light of samples that are the code already.
var sameLight = sync.OnceValue(func() *[lightSteps + 1]lightStep {
	return lightTable(func(v float64) float64 { return v })
})

// Rows implements exec.Sink.
func (d *developer) Rows(y0, y1 int) (exec.Rows, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	if d.lens.warps() {
		return d.warpRows(y0, y1)
	}
	out := d.geo.out
	r := &developRows{developer: d, first: max(y0, out.Y0), last: min(y1, out.Y1)}
	if r.first >= r.last {
		return r, nil
	}
	n := r.last - r.first
	r.codes = <-d.free
	if r.codes == nil {
		r.codes = d.pool.Get(3 * d.w * max(n, min(outRows, out.Height())))
	}
	if len(r.codes) < 3*d.w*n { // larger chunks than before
		r.codes = make([]uint16, 3*d.w*n)
	}
	r.endStage = d.stages.Begin("develop")
	d.develop.begin()
	return r, nil
}

// developRows are rows that are being developed.
type developRows struct {
	*developer
	first, last int      // those in the picture; none if first >= last
	codes       []uint16 // of them
	endStage    func()
	bad         firstBad
}

func (r *developRows) Row(y int, planes [][]float32) {
	if r.first <= y && y < r.last {
		px := r.pixels.Get(3 * r.w)
		r.bad.note(y-r.geo.out.Y0, r.row(y, planes, px, r.codes[3*r.w*(y-r.first):][:3*r.w]))
		r.pixels.Put(px)
	}
}

func (r *developRows) End() error {
	if r.first >= r.last {
		return nil
	}
	r.endStage()
	r.develop.end()
	if r.bad.err != nil {
		r.fail(r.bad.err)
		r.free <- r.codes // abandon waits for all of them
		return r.bad.err
	}
	r.queue <- batchOfRows{r.last - r.first, r.codes}
	return nil
}

// firstBad is the first sample of some rows that is not finite.
type firstBad struct {
	mu  sync.Mutex
	err *NonFiniteError
}

// note is told the column of such a sample of a row, or -1.
func (b *firstBad) note(row, column int) {
	if column < 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil || row < b.err.Row {
		b.err = &NonFiniteError{Row: row, Column: column}
	}
}

// busyTime is how long at least one of several overlapping works went on.
type busyTime struct {
	mu    sync.Mutex
	now   int // works that go on
	since time.Time
	sum   time.Duration
}

func (b *busyTime) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now++; b.now == 1 {
		b.since = time.Now()
	}
}

func (b *busyTime) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now--; b.now == 0 {
		b.sum += time.Since(b.since)
	}
}

// row develops row y of the network's; px is room for it. It returns the column of a
// sample that is not finite, or -1.
func (d *developer) row(y int, planes [][]float32, px []float32, codes []uint16) int {
	var light [3][]float32
	out := d.geo.out
	for c := range light {
		line := planes[c][out.X0:out.X1]
		light[c] = px[c*len(line):][:len(line)]
		if x := d.lighten(light[c], line); x >= 0 {
			return x
		}
		d.lens.before(y-d.geo.view.Y0, out.X0-d.geo.view.X0, c, light[c])
	}
	d.code(light, codes)
	return -1
}

// code makes the picture's codes of a row of light.
func (t *tone) code(light [3][]float32, codes []uint16) {
	switch {
	case t.coded:
		for c, line := range light {
			for x, v := range line {
				codes[3*x+c] = uint16(min(max(v, 0), 1)*65535 + 0.5)
			}
		}
	case t.conv.Output == model.OutputCameraGamma:
		colour.EncodePlanes(codes, light[0], light[1], light[2], &t.mat)
	default:
		gain := colour.Diagonal([3]float64{float64(t.gain), float64(t.gain), float64(t.gain)})
		colour.EncodePlanes(codes, light[0], light[1], light[2], &gain)
	}
}

// lighten writes the light of a line's samples, clipped to 0..1. It returns the
// column of a sample that is not finite, or -1.
func (t *tone) lighten(light, line []float32) int {
	light = light[:len(line)]
	for x, v := range line {
		f := v * lightSteps
		k := int32(f)
		if v < 0 || uint32(k) > lightSteps {
			switch {
			case v-v != 0: // infinite or not a number
				return x
			case v < 0:
				k, f = 0, 0
			default:
				k, f = lightSteps, lightSteps
			}
		}
		s := &t.light[k]
		light[x] = s.at + float32(s.rise*(f-float32(k)))
	}
	return -1
}

// write hands batches to the encoder until there are no more.
func (e *encoding) write() {
	defer close(e.ended)
	for b := range e.queue {
		if e.failed.Load() == nil {
			e.put(b)
		}
		e.free <- b.codes
	}
}

func (e *encoding) put(b batchOfRows) {
	start := time.Now()
	defer func() { e.encode += time.Since(start) }()
	defer e.stages.Begin("encode")()
	for i := range b.rows {
		if err := e.next.WriteRow(b.codes[3*e.w*i:][:3*e.w]); err != nil {
			e.fail(err)
			return
		}
	}
}

func (e *encoding) fail(err error) { e.failed.CompareAndSwap(nil, &err) }

// failure is the first error of developing or encoding.
func (e *encoding) failure() error {
	if err := e.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// abandon ends the encoding without completing the picture. It does nothing
// after finish.
func (e *encoding) abandon() {
	if e.queue != nil {
		close(e.queue)
		<-e.ended
		e.queue = nil
		for range cap(e.free) {
			e.pool.Put(<-e.free)
		}
	}
}

// finish completes the picture.
func (e *encoding) finish() error {
	e.abandon()
	if err := e.failure(); err != nil {
		return err
	}
	start := time.Now()
	defer e.stages.Begin("encode")()
	err := e.next.Close()
	e.encode += time.Since(start)
	return err
}
