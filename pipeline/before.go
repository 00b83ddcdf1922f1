package pipeline

import (
	"context"
	"errors"

	"enhance/internal/imgio"
	"enhance/internal/resize"
	"enhance/model"
	"enhance/pipeline/look"
	"enhance/raw/demosaic"
	"enhance/raw/mosaic"
)

// A report compares a picture with its photo developed once more, by plain bilinear
// interpolation: the same samples, white balance, highlights, tone and lens corrections,
// without a network, repaired defects or sharpening. It is read and developed beside the
// picture, row for row, so that neither is held.

// beforeConvention is how its samples are: light, white-balanced, with noise below black.
var beforeConvention = model.Convention{SubtractBlack: true, Gamma: 1, Clip: model.ClipHigh, Divisor: 1,
	Output: model.OutputCameraGamma, Multiple: 1, MinSide: 1, ScaleNum: 2, ScaleDen: 1}

// beforeRows are the rows of that picture, as it is stored.
type beforeRows struct {
	ctx    context.Context
	cancel context.CancelFunc
	rows   chan []uint16 // next to come
	free   chan []uint16 // to be filled
	ended  chan struct{}
	err    error // once ended
}

// beforeAhead is how many rows may wait.
const beforeAhead = 64

// hasBefore reports whether a photo has colours to interpolate.
func (r *run) hasBefore() bool { return !r.meta.Linear && r.meta.CFA != mosaic.Mono }

// startBefore starts to develop the photo a second time, to w x h pixels. close must be called.
func (r *run) startBefore(w, h int) (*beforeRows, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	b := &beforeRows{ctx: ctx, cancel: cancel, rows: make(chan []uint16, beforeAhead), free: make(chan []uint16, beforeAhead), ended: make(chan struct{})}
	for range beforeAhead {
		b.free <- make([]uint16, 3*w)
	}
	again, err := r.again(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(b.ended)
		defer again.photo.Close()
		decided := r.decisions.balance
		if !r.classical && r.session.model.Convention.Output == model.OutputDisplaySRGB { // the network's own
			decided = nil
		}
		b.err = again.developPlainly(b, decided, w, h)
	}()
	return b, nil
}

// again is a run of the same photo, which is opened a second time.
func (r *run) again(ctx context.Context) (*run, error) {
	j := *r.job
	j.Observer, j.Show = Observer{}, Show{}
	j.Output.Bits = min(j.Output.Bits, 16) // floats are shown as codes
	again := &run{session: r.session, ctx: ctx, job: &j, report: &Report{}, holds: runHolds{batches: outBatches}}
	var err error
	if again.photo, err = openPhoto(&j); err != nil {
		return nil, r.photoError(err)
	}
	again.meta, again.classical = again.photo.Meta(), true
	again.geo = pixelLayout(again.meta, contextSamples)
	return again, nil
}

// developPlainly gives the picture's rows to b.
func (r *run) developPlainly(b *beforeRows, decided *balance, w, h int) error {
	r.ahead = newReadAhead(r.ctx, r.photo, r.geo.region, 0, &r.session.host.mosaics, nil)
	p := &mosaicRows{run: r}
	defer p.close()
	plain, err := demosaic.NewBilinear(r.meta.CFA.Shift(r.geo.region.Y0, r.geo.region.X0))
	if err != nil {
		return r.photoError(err)
	}
	p.demosaicer = plain
	if r.decisions.balance, err = r.plainBalance(decided); err != nil {
		return err
	}
	p.levels = newLevels(r.meta, &beforeConvention, r.decisions.balance.networkGains(), nil, nil)
	if err := r.decideRendering(&beforeConvention); err != nil {
		return err
	}
	var to imgio.RowWriter = b
	if w != r.geo.out.Width() || h != r.geo.out.Height() {
		if to, err = resize.New(b, r.job.Output.Profile.encoding().Transfer, r.geo.out.Width(), r.geo.out.Height(), w, h); err != nil {
			return err
		}
	}
	dev := newDeveloper(r.geo, r.decisions.rendering, to, r.holds.batches, &r.session.host.pictures, nil)
	defer dev.abandon()
	c := &colourRows{conv: &beforeConvention, stride: r.geo.region.Width(), read: p.colours}
	if err := r.eachRow(c, func(int, [][]float32) {}, dev); err != nil {
		return errors.Join(dev.failure(), err)
	}
	return dev.finish()
}

// plainBalance is the treatment of the picture, without sharpening, or if that is nil what the
// photo would have by default.
func (r *run) plainBalance(decided *balance) (*balance, error) {
	if decided != nil {
		b := *decided
		b.amount, b.sharpen, b.floats = 0, nil, false
		return &b, nil
	}
	r.job.Look = Look{Sharpen: look.SharpenOff}
	b, err := decideBalance(r.meta, r.statistics(), r.job, false, r.report)
	if err != nil {
		return nil, r.photoError(err)
	}
	return b, nil
}

// WriteRow implements imgio.RowWriter.
func (b *beforeRows) WriteRow(rgb []uint16) error {
	select {
	case row := <-b.free:
		copy(row, rgb)
		b.rows <- row // which has room for all that free gives
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// Close implements imgio.RowWriter.
func (b *beforeRows) Close() error { return nil }

// next waits for the next row, which release gives back.
func (b *beforeRows) next() ([]uint16, error) {
	select {
	case row := <-b.rows:
		return row, nil
	case <-b.ended: // the last rows may have come at the same time
		select {
		case row := <-b.rows:
			return row, nil
		default:
		}
		if b.err == nil {
			return nil, errors.New("pipeline: the picture to compare with has too few rows")
		}
		return nil, b.err
	}
}

func (b *beforeRows) release(row []uint16) { b.free <- row }

// close ends the development.
func (b *beforeRows) close() {
	b.cancel()
	<-b.ended
}

// beforeBytes is what it holds.
func (r *run) beforeBytes() int64 {
	again := &run{session: r.session, job: r.job, input: r.input, holds: runHolds{batches: outBatches}}
	again.geo = pixelLayout(r.meta, contextSamples)
	w, h, _, _ := r.writtenSize()
	region := again.geo.region
	n := again.decodeBytes() + again.apartBytes() + r.decisions.rendering.bytes() + beforeAhead*6*int64(w)
	n += 4 * int64(region.Width()) * int64(3*outRows+outRows+2*mosaic.MaxPeriod)
	if gw, gh := again.geo.out.Width(), again.geo.out.Height(); w != gw || h != gh {
		n += resize.Bytes(gw, gh, w, h)
	}
	return n
}
