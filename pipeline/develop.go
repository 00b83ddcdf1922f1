package pipeline

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"enhance/internal/buffers"
	"enhance/internal/exec"
	"enhance/internal/imgio"
	"enhance/internal/trace"
	"enhance/raw"
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
// RowWriter. It develops on all cores, by the stages of its rendering; a goroutine of
// its own encodes.
type developer struct {
	frame   raw.Rect                // the part of the network's rows that is developed
	out     raw.Rect                // the picture in them
	light   *lightTable             // what a network sample is as light, or as it is
	pixels  buffers.Slices[float32] // a row each, by component, where no stage keeps rows
	develop busyTime
	*rendering
	encoding
}

// encoding hands developed rows to the encoder, in a goroutine of its own.
type encoding struct {
	next   imgio.RowWriter
	stored imgio.ByteWriter // next, for codes of 8 bits; nil: they have 16
	w, h   int              // pixels of a row, and rows
	stride int              // numbers of a row of codes
	stages *trace.Stages
	pool   *pictureRows
	room   chan struct{} // one for each batch that may still be begun
	queue  chan batchOfRows
	ended  chan struct{}
	encode time.Duration
	failed atomic.Pointer[error] // the first

	codesSeen sameColour[uint16] // by next
	bytesSeen sameColour[byte]   // by stored
}

// batchOfRows is developed rows on their way to the encoder: interleaved codes of 16 bits, or
// bytes.
type batchOfRows struct {
	rows  int
	codes []uint16
	bytes []byte
}

// pictureRows keeps batches of rows for reuse.
type pictureRows struct {
	codes buffers.Blocks[uint16]
	bytes buffers.Blocks[byte]
}

// newDeveloper makes a developer that holds at most so many batches of rows. The
// caller must finish or abandon it.
func newDeveloper(g geometry, stages *rendering, next imgio.RowWriter, batches int, pool *pictureRows, timeline *trace.Stages) *developer {
	d := &developer{out: g.out, frame: stages.frame, rendering: stages, light: stages.light()}
	d.stride = 3 * g.out.Width() * stages.numbers
	d.next, d.w, d.h, d.pool, d.stages, d.ended = next, g.out.Width(), g.out.Height(), pool, timeline, make(chan struct{})
	d.queue, d.room = make(chan batchOfRows, batches), make(chan struct{}, batches)
	for range batches {
		d.room <- struct{}{}
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

// A lightTable has the light of network samples of 0..1; 1 is an interval of its own.
type lightTable [lightSteps + 1]lightStep

// newLightTable samples f.
func newLightTable(f func(float64) float64) *lightTable {
	t := new(lightTable)
	for i := range t {
		t[i].at = float32(f(float64(i) / lightSteps))
		if i > 0 {
			t[i-1].rise = t[i].at - t[i-1].at
		}
	}
	return t
}

// sameLight is the light of samples that are the code already.
var sameLight = sync.OnceValue(func() *lightTable {
	return newLightTable(func(v float64) float64 { return v })
})

// Rows implements exec.Sink.
func (d *developer) Rows(y0, y1 int) (exec.Rows, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	first, last := max(y0, d.frame.Y0), min(y1, d.frame.Y1)
	if first >= last {
		return noRows{}, nil
	}
	r := developRows{developer: d, first: first, last: last, endStage: d.stages.Begin("develop"), bad: &firstBad{}}
	d.develop.begin()
	if len(d.windows) > 0 {
		return &keptRows{developRows: r, rows: make([][]float32, last-first)}, nil
	}
	return &directRows{developRows: r, codes: d.codesOf(last - first)}, nil
}

// noRows are rows outside of the picture.
type noRows struct{}

func (noRows) Row(int, [][]float32) {}
func (noRows) End() error           { return nil }

// codesOf is room for the codes of n rows. It waits for the encoder.
func (e *encoding) codesOf(n int) []uint16 {
	<-e.room
	return e.pool.codes.Get(e.stride * max(n, min(outRows, e.h)))
}

// bytesOf is codesOf for codes of 8 bits.
func (e *encoding) bytesOf(n int) []byte {
	<-e.room
	return e.pool.bytes.Get(e.stride * max(n, min(outRows, e.h)))
}

// giveBack takes back what codesOf or bytesOf gave.
func (e *encoding) giveBack(b batchOfRows) {
	e.pool.codes.Put(b.codes)
	e.pool.bytes.Put(b.bytes)
	e.room <- struct{}{}
}

// developRows are rows that are being developed.
type developRows struct {
	*developer
	first, last int // of the network's rows
	endStage    func()
	bad         *firstBad
}

// begun makes the light of row y, which lies in the frame, and the first stages' changes.
// It reports whether all samples are finite.
func (r *developRows) begun(y int, planes [][]float32, row []float32) bool {
	light := components(row, r.frame.Width())
	for c := range light {
		if x := r.light.row(light[c], planes[c][r.frame.X0:r.frame.X1]); x >= 0 {
			r.bad.note(y-r.frame.Y0, x)
			return false
		}
	}
	for _, change := range r.changes {
		change(y-r.frame.Y0, row, light)
	}
	return true
}

// ended ends the timing and reports samples that are not finite.
func (r *developRows) ended() error {
	r.endStage()
	r.develop.end()
	if r.bad.err != nil {
		r.fail(r.bad.err)
		return r.bad.err
	}
	return nil
}

// directRows become codes one by one.
type directRows struct {
	developRows
	codes []uint16
}

func (r *directRows) Row(y int, planes [][]float32) {
	if r.first <= y && y < r.last {
		row := r.pixels.Get(3 * r.w)
		if r.begun(y, planes, row) {
			r.code(components(row, r.w), r.codes[r.stride*(y-r.first):][:r.stride])
		}
		r.pixels.Put(row)
	}
}

func (r *directRows) End() error {
	if err := r.ended(); err != nil {
		r.giveBack(batchOfRows{codes: r.codes})
		return err
	}
	r.queue <- batchOfRows{rows: r.last - r.first, codes: r.codes}
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

// row writes the light of a line's samples, clipped to 0..1. It returns the
// column of a sample that is not finite, or -1.
func (t *lightTable) row(light, line []float32) int {
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
		s := &t[k]
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
		e.giveBack(b)
	}
}

func (e *encoding) put(b batchOfRows) {
	start := time.Now()
	defer func() { e.encode += time.Since(start) }()
	defer e.stages.Begin("encode")()
	for i := range b.rows {
		if err := e.row(b, e.stride*i); err != nil {
			e.fail(err)
			return
		}
	}
}

// row hands on the row of a batch whose first number is at.
func (e *encoding) row(b batchOfRows, at int) error {
	if b.bytes != nil {
		row := b.bytes[at:][:e.stride]
		e.bytesSeen.row(row, e.stride/e.w)
		return e.stored.WriteBytes(row)
	}
	row := b.codes[at:][:e.stride]
	e.codesSeen.row(row, e.stride/e.w)
	return e.next.WriteRow(row)
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
		for range cap(e.room) { // until all that codesOf gave is back
			<-e.room
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
