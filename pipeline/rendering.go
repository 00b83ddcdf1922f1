package pipeline

import (
	"cmp"
	"math"
	"time"

	"enhance/internal/buffers"
	"enhance/internal/colour"
	"enhance/internal/highlights"
	"enhance/internal/sharpen"
	"enhance/internal/workers"
	"enhance/model"
	"enhance/raw"
)

// rendering is what becomes of the network's rows until they are codes of the picture:
// an ordered list of stages on rows (docs/picture.md). Stages are of two kinds:
//
//   - a pixelChange changes a row by itself, in place;
//   - a rowWindow makes rows out of several rows of the stage before.
//
// The order is: light of the samples, changes, then for each window its rows and their
// changes, then code. What a stage does to a row depends on that row and, in a
// window, its neighbours, never on how many rows come at a time.
type rendering struct {
	frame   raw.Rect // the part of the network's rows that the first stage takes
	light   func() *lightTable
	changes []pixelChange // of the network's rows
	windows []*windowed
	tables  int64 // bytes of what the stages look up
	numbers int   // of a sample's code
	// For a device that makes the picture (see pixels.go); plain says that there are no
	// other stages.
	plain      bool
	highlights *highlights.Window
	tone       *colour.Tone
	sharp      *sharpen.Window // nil: nothing is sharpened
	transfer   *colour.Transfer
	// code makes the picture's codes of a row of the last stage.
	code func(light [3][]float32, codes []uint16)
}

// pixelChange changes row y of its stage, counted from the frame's first: its components,
// which lie one after the other at the beginning of row, or what follows them there.
type pixelChange func(y int, row []float32, light [3][]float32)

// rowWindow makes rows out of neighbouring rows: see package warp for the calls' order.
type rowWindow interface {
	// Add takes the next source row, until Drop gives it back.
	Add(row []float32)
	// Ready gives the rows, first to end-1, that the rows added since the last call make
	// possible.
	Ready() (first, end int)
	// Make makes row y, which Ready gave; in any order, on any core.
	Make(y int, dst [][]float32) error
	// Drop gives back the source rows that no row but those that Ready gave needs.
	Drop() [][]float32
	// Held is how many source rows are held at most, besides those that come and go.
	Held() int
}

// windowed is a window and what is done to its rows.
type windowed struct {
	rowWindow
	width   int // of a source row, in pixels
	extra   int // numbers that follow the components of a source row
	rows    buffers.Slices[float32]
	changes []pixelChange // of the rows that it makes
}

// components are the three planes at the beginning of a row of w pixels.
func components(row []float32, w int) [3][]float32 {
	return [3][]float32{row[:w:w], row[w:][:w:w], row[2*w:][:w:w]}
}

// bytes is what the windows hold of the picture: the rows that a row of theirs needs, and
// two chunks that come and go.
func (s *rendering) bytes() (n int64) {
	if s == nil {
		return 0
	}
	n = s.tables
	for _, w := range s.windows {
		n += 4 * int64(3*w.width+w.extra) * int64(w.Held()+2*outRows)
	}
	return n
}

// add appends a window whose source rows have w pixels, and extra numbers more.
func (s *rendering) add(window rowWindow, w, extra int) {
	s.windows = append(s.windows, &windowed{rowWindow: window, width: w, extra: extra})
}

// then appends a change of the rows of the last window so far, or of the network's.
func (s *rendering) then(change pixelChange) {
	if n := len(s.windows); n > 0 {
		s.windows[n-1].changes = append(s.windows[n-1].changes, change)
		return
	}
	s.changes = append(s.changes, change)
}

// newRendering lists the stages of a picture. b says what was decided about colour.
func newRendering(g geometry, c *model.Convention, b *balance, l *lens) *rendering {
	s := &rendering{frame: g.out, light: b.light(c), numbers: 1}
	if b.floats {
		s.numbers = 2
	}
	if l.warps() {
		s.frame = g.view
	}
	if b.tone != nil {
		clip := b.clipping()
		h := highlights.New(s.frame.Width(), s.frame.Height(), clip, b.headroom)
		s.then(func(_ int, row []float32, _ [3][]float32) { h.Measure(row) })
		s.add(h, s.frame.Width(), h.Extra())
		s.highlights, s.tone, s.transfer = h, b.tone, b.output.Transfer
		s.plain = c.Output == model.OutputCameraGamma && l == nil && b.look == nil && !b.floats && !b.camera
	}
	l.stages(s, g)
	if b.look.changesLight() {
		s.then(b.look.row)
		s.tables = b.look.bytes()
	}
	s.code = b.code(c)
	if b.sharpen != nil {
		w, h := g.out.Width(), g.out.Height()
		sharp := sharpen.New(w, h, *b.sharpen)
		s.then(func(_ int, row []float32, light [3][]float32) {
			b.tone.Row(light[0], light[1], light[2])
			sharp.Measure(row)
		})
		s.add(sharp, w, sharp.Extra())
		s.sharp = sharp
		s.code = b.encode
	}
	return s
}

// light is what a network's samples are as light, or as they are if they are the
// picture's codes already.
func (b *balance) light(c *model.Convention) func() *lightTable {
	switch {
	case c.Output == model.OutputCameraGamma:
		return func() *lightTable {
			return newLightTable(func(v float64) float64 { return b.headroom * c.Decode(v) })
		}
	case !b.codesStay(c):
		return func() *lightTable { return newLightTable(colour.SRGBDecode) }
	}
	return sameLight
}

// code is the last stage.
func (b *balance) code(c *model.Convention) func(light [3][]float32, codes []uint16) {
	if b.camera {
		return b.cameraCodes
	}
	gain := float64(exposureGain(b.ev))
	matrix := colour.Convert(colour.SRGB, b.output.Space) // of light that a network has rendered
	switch {
	case b.codesStay(c) && b.floats:
		return sameFloats
	case b.codesStay(c):
		return sameCodes
	case b.tone != nil:
		return func(light [3][]float32, codes []uint16) {
			b.tone.Row(light[0], light[1], light[2])
			b.encode(light, codes)
		}
	case c.Output == model.OutputCameraGamma:
		matrix = b.matrix
		if b.look.changesLight() {
			matrix = colour.Convert(colour.ProPhoto, b.output.Space)
		}
	}
	for i := range matrix {
		for j := range matrix[i] {
			matrix[i][j] *= gain
		}
	}
	if b.floats {
		return func(light [3][]float32, codes []uint16) { b.encodeFloats(light, &matrix, codes) }
	}
	return func(light [3][]float32, codes []uint16) {
		b.output.Transfer.EncodePlanes(codes, light[0], light[1], light[2], &matrix)
	}
}

// exposureGain is the factor of so many stops.
func exposureGain(ev float64) float32 { return float32(math.Exp2(ev)) }

// codesStay reports whether the samples of a network are the picture's codes already.
func (b *balance) codesStay(c *model.Convention) bool {
	return c.Output != model.OutputCameraGamma && b.ev == 0 && b.output == colour.SRGBEncoding
}

// sameCodes takes components for codes.
func sameCodes(light [3][]float32, codes []uint16) {
	for c, line := range light {
		for x, v := range line {
			codes[3*x+c] = uint16(min(max(v, 0), 1)*65535 + 0.5)
		}
	}
}

// keptRows wait in a window for their neighbours.
type keptRows struct {
	developRows
	rows [][]float32
}

func (r *keptRows) Row(y int, planes [][]float32) {
	if r.first <= y && y < r.last {
		row := r.windows[0].room()
		r.rows[y-r.first] = row
		r.begun(y, planes, row)
	}
}

// room is memory for a source row.
func (w *windowed) room() []float32 { return w.rows.Get(3*w.width + w.extra) }

func (r *keptRows) End() error {
	var err error
	if r.bad.err == nil {
		if err = r.advance(0, r.rows); err != nil {
			r.fail(err)
		}
	}
	if bad := r.ended(); bad != nil {
		return bad
	}
	return err
}

// advance gives rows to window i and the rows that it makes of them to the next, or as
// codes to the encoder.
func (d *developer) advance(i int, rows [][]float32) error {
	w := d.windows[i]
	for _, row := range rows {
		w.Add(row)
	}
	for first, end := w.Ready(); first < end; first += outRows {
		n := min(outRows, end-first)
		var err error
		if i+1 < len(d.windows) {
			err = d.toWindow(i, first, n)
		} else {
			err = d.toEncoder(w, first, n)
		}
		if err != nil {
			return err
		}
	}
	for _, row := range w.Drop() {
		w.rows.Put(row)
	}
	return nil
}

// rowTime is about what a row of w pixels takes in a window and its changes.
func rowTime(w int) time.Duration { return time.Duration(100 * w) }

// toWindow makes n rows of window i for the next.
func (d *developer) toWindow(i, first, n int) error {
	w, next := d.windows[i], d.windows[i+1]
	rows, errs := make([][]float32, n), make([]error, n)
	workers.Each(workers.Count(n, rowTime(next.width)), n, func(_, k int) {
		rows[k] = next.room()
		errs[k] = w.make(first+k, rows[k], next.width)
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	return d.advance(i+1, rows)
}

// toEncoder makes n rows of the last window and their codes.
func (d *developer) toEncoder(w *windowed, first, n int) error {
	codes, errs := d.codesOf(n), make([]error, n)
	workers.Each(workers.Count(n, rowTime(d.w)), n, func(_, k int) {
		row := d.pixels.Get(3 * d.w)
		defer d.pixels.Put(row)
		if errs[k] = w.make(first+k, row, d.w); errs[k] == nil {
			d.code(components(row, d.w), codes[d.stride*k:][:d.stride])
		}
	})
	if err := cmp.Or(errs...); err != nil {
		d.giveBack(batchOfRows{codes: codes})
		return err
	}
	d.queue <- batchOfRows{rows: n, codes: codes}
	return nil
}

// make makes row y, of width pixels, with its changes.
func (w *windowed) make(y int, row []float32, width int) error {
	light := components(row, width)
	if err := w.Make(y, light[:]); err != nil {
		return err
	}
	for _, change := range w.changes {
		change(y, row, light)
	}
	return nil
}
