package pipeline

import (
	"math"
	"sync/atomic"
	"time"

	"enhance/clrt"
	"enhance/internal/colour"
	"enhance/internal/hostmemory"
	"enhance/internal/imgio"
	"enhance/internal/sidebyside"
	"enhance/pipeline/facts"
)

// Show asks for what a person wants to see of a photo, see [facts.Seen]. The picture's bytes do
// not depend on it. The zero value asks for nothing.
type Show struct {
	Side int // bounds the longer side of pictures made small
	// Before has the photo developed by plain bilinear interpolation too, unless it is
	// demosaiced or has no colours; Crops and CropSide are the parts kept at full size where the
	// two differ most.
	Before          bool
	Crops, CropSide int
	// Kept is how much the caller will hold of all photos' reports; it is planned for.
	Kept int64
}

// seen gathers it.
type seen struct {
	run     *run
	meter   *sidebyside.Meter
	before  *beforeRows                 // nil: there is none
	convert func(rgb []uint16) []uint16 // of the picture's rows to sRGB codes
	codes   func(rgb []uint16) []uint16 // of codes that are not floats
	watch   *memoryWatch
}

// startSeen starts watching memory, if anything is asked for.
func (r *run) startSeen() {
	if r.job.Show.Side == 0 || r.job.DryRun {
		return
	}
	r.seen = &seen{run: r, watch: newMemoryWatch(r.start)}
	told := r.network.progress
	r.network.progress = func(done, total int64) {
		r.seen.watch.device.Store(r.session.device.cl)
		if told != nil {
			told(done, total)
		}
	}
}

// seenConfig is what is kept of a picture whose stored rows have that size.
func (r *run) seenConfig(w, h int) sidebyside.Config {
	s := &r.job.Show
	return sidebyside.Config{Width: w, Height: h, Alone: !s.Before || !r.hasBefore(), Side: s.Side, Crops: s.Crops, CropSide: s.CropSide}
}

// seeing has the rows that a writer of w x h pixels is given looked at.
func (r *run) seeing(to imgio.RowWriter, err error) (imgio.RowWriter, error) {
	if err != nil || r.seen == nil {
		return to, err
	}
	w, h, _, _ := r.writtenSize()
	cfg := r.seenConfig(w, h)
	if r.seen.meter, err = sidebyside.New(cfg); err != nil {
		return nil, err
	}
	if !cfg.Alone {
		if r.seen.before, err = r.startBefore(w, h); err != nil {
			return nil, err
		}
	}
	from := r.job.Output.Profile.encoding()
	r.seen.codes = sRGBCodes(from, w)
	if r.seen.convert = r.seen.codes; r.job.Output.Bits == 32 {
		r.seen.convert = sRGBCodesOfFloats(from, w)
	}
	return &tapped{to, r.seen.row}, nil
}

// row takes a row of the picture.
func (s *seen) row(rgb []uint16) error {
	if s.before == nil {
		return s.meter.Add(nil, s.convert(rgb))
	}
	row, err := s.before.next()
	if err != nil {
		return err
	}
	copy(row, s.codes(row))
	err = s.meter.Add(row, s.convert(rgb))
	s.before.release(row)
	return err
}

// finish puts what was seen into the report.
func (s *seen) finish() error {
	if s == nil || s.meter == nil {
		return nil
	}
	r, err := s.meter.Result()
	if err != nil {
		return err
	}
	r.Upright(s.run.meta.Orientation)
	s.run.report.Seen = &facts.Seen{Pictures: r, Memory: s.watch.close(), Seconds: time.Since(s.run.start).Seconds()}
	return nil
}

// close ends what goes on beside the run.
func (s *seen) close() {
	if s == nil {
		return
	}
	s.watch.close()
	if s.before != nil {
		s.before.close()
	}
}

// seenBytes is what it all holds.
func (r *run) seenBytes() int64 {
	if r.job.Show.Side == 0 {
		return 0
	}
	w, h, _, _ := r.writtenSize()
	cfg := r.seenConfig(w, h)
	n := sidebyside.Bytes(cfg) + 2*18*int64(w)
	if !cfg.Alone {
		n += r.beforeBytes()
	}
	return n
}

// sRGBCodes makes sRGB codes of a row's, which it overwrites at the next call; those that are
// sRGB are given back as they are.
func sRGBCodes(from colour.Encoding, w int) func([]uint16) []uint16 {
	if from == colour.SRGBEncoding {
		return func(rgb []uint16) []uint16 { return rgb }
	}
	matrix := colour.Convert(from.Space, colour.SRGB)
	light := make([]float32, 1<<16)
	for i := range light {
		light[i] = float32(from.Transfer.Decode(float64(i) / (1<<16 - 1)))
	}
	out, planes := make([]uint16, 3*w), [3][]float32{make([]float32, w), make([]float32, w), make([]float32, w)}
	return func(rgb []uint16) []uint16 {
		for i, v := range rgb {
			planes[i%3][i/3] = light[v]
		}
		colour.SRGBTransfer.EncodePlanes(out, planes[0], planes[1], planes[2], &matrix)
		return out
	}
}

// sRGBCodesOfFloats does so with a row of floats.
func sRGBCodesOfFloats(from colour.Encoding, w int) func([]uint16) []uint16 {
	matrix := colour.Convert(from.Space, colour.SRGB)
	out, planes := make([]uint16, 3*w), [3][]float32{make([]float32, w), make([]float32, w), make([]float32, w)}
	return func(row []uint16) []uint16 {
		for i := range 3 * w {
			v := math.Float32frombits(uint32(row[2*i])<<16 | uint32(row[2*i+1]))
			planes[i%3][i/3] = float32(from.Transfer.Decode(float64(v)))
		}
		colour.SRGBTransfer.EncodePlanes(out, planes[0], planes[1], planes[2], &matrix)
		return out
	}
}

// memoryWatch samples memory while a photo is made: a bounded number of times, whatever the
// run's length.
type memoryWatch struct {
	device  atomic.Pointer[clrt.Context]
	stop    chan struct{}
	ended   chan struct{}
	closed  bool
	samples []facts.MemorySample
}

const (
	firstMemoryStep  = 10 * time.Millisecond
	mostMemorySample = 400
)

func newMemoryWatch(start time.Time) *memoryWatch {
	m := &memoryWatch{stop: make(chan struct{}), ended: make(chan struct{})}
	go m.watch(start)
	return m
}

func (m *memoryWatch) watch(start time.Time) {
	defer close(m.ended)
	step := firstMemoryStep
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-m.stop:
			m.sample(start)
			return
		case <-t.C:
		}
		m.sample(start)
		if len(m.samples) >= mostMemorySample { // half as many from here on
			for i := range len(m.samples) / 2 {
				m.samples[i] = m.samples[2*i]
			}
			m.samples = m.samples[:len(m.samples)/2]
			step *= 2
		}
		t.Reset(step)
	}
}

func (m *memoryWatch) sample(start time.Time) {
	s := facts.MemorySample{Seconds: time.Since(start).Seconds()}
	s.Host, _ = hostmemory.Resident()
	if cl := m.device.Load(); cl != nil {
		s.Device = cl.Live()
	}
	m.samples = append(m.samples, s)
}

// close ends the watch and gives the samples. Calls after the first do nothing.
func (m *memoryWatch) close() []facts.MemorySample {
	if !m.closed {
		m.closed = true
		close(m.stop)
		<-m.ended
	}
	return m.samples
}
