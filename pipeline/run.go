package pipeline

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"enhance/internal/colour"
	"enhance/internal/exec"
	"enhance/model"
	"enhance/raw"
	"enhance/raw/noise"
)

// run is the making of one picture.
type run struct {
	session *Session
	ctx     context.Context
	network computation
	job     *Job
	report  *Report
	start   time.Time
	planned bool // the plan was made
	turn    runTurn
	holds   runHolds

	input
	decisions decisions
	// abandonOutput ends what an encoder does beside its caller; nil: there is nothing.
	abandonOutput func()
	seen          *seen // nil: not asked for
}

// runTurn is a run's turn on the device.
type runTurn struct {
	*queueEntry
	waited time.Duration
}

// runHolds is what a run may hold of the picture, see batch.go: decoded blocks (0: the
// least) and developed batches; whether all is decoded and repaired before the statistics are
// made, which costs least while the device is at work on other photos; and what is told what
// the session holds, nil for nothing.
type runHolds struct {
	blocks, batches int
	whole           bool
	limiter         *memoryLimiter
}

// decisions are made before the network runs, from the job and the photo.
type decisions struct {
	measured  bool              // the noise was
	estimate  *noise.Estimation // of the noise; nil: there is none
	light     *lightSample      // nil: nobody asked for it
	balance   *balance
	preview   *balance // of a DNG file's preview
	lens      bool     // corrections for the developed picture are applied
	rendering *rendering
	levels    func() *levels // of a mosaic for its network, which were begun to be made
	compare   *comparison    // nil: no reference
}

// do goes through the stations in order: everything that can be refused is
// refused before the device is touched. From makePlan until the network has run it
// is this run's turn, and nobody else's, to use the session's state and device;
// photos before it may still be encoded then, photos behind it be decoded.
func (r *run) do() error {
	w, h, uw, uh := r.writtenSize()
	r.report.Output.Width, r.report.Output.Height = uw, uh
	out, closeOutput, err := r.openOutput()
	if err != nil {
		return err
	}
	defer closeOutput()
	if r.job.Reference != "" {
		if err := checkReference(r.job.Reference, uw, uh); err != nil {
			return err
		}
	}
	if r.classical {
		return r.withoutNetwork(out, w, h)
	}
	defer r.endDecoding()
	if err := r.lookAtPhoto(); err != nil {
		return err
	}
	if err := r.awaitTurn(); err != nil {
		return err
	}
	if err := r.decide(); err != nil {
		return err
	}
	return r.carryOut(func() error { return r.make(out, w, h) })
}

// carryOut tells what was decided and, except in a dry run, makes the picture.
func (r *run) carryOut(makePicture func() error) (err error) {
	if r.job.Reference != "" {
		_, _, w, h := r.writtenSize()
		if r.decisions.compare, err = openReference(r.job.Reference, w, h, r.job.Output.Bits); err != nil {
			return err
		}
	}
	r.noteWhite(func(text string) { r.report.Warn("%s", text) })
	if r.job.Planned != nil {
		r.job.Planned(r.report)
	}
	if r.job.DryRun {
		return nil
	}
	if err = makePicture(); err == nil {
		r.noteWhite(r.say)
	}
	noteHostPeak(r.report, r.photo)
	return err
}

// openOutput opens the picture's file, nil in a dry run, which only looks whether it could be
// made. The file is gone after close, unless it was committed.
func (r *run) openOutput() (out *target, close func(), err error) {
	if r.job.DryRun {
		return nil, func() {}, r.job.Output.check(r.reads())
	}
	if r.session.set.PlanOnly {
		return nil, nil, errPlanOnly
	}
	if out, err = openTarget(r.ctx, &r.job.Output, r.reads()); err != nil {
		return nil, nil, err
	}
	r.session.outputs.add(out)
	return out, func() {
		out.abort() // nothing after commit
		r.session.outputs.drop(out)
	}, nil
}

// lookAtPhoto makes the decisions that rest on the photo, while the device is opened or others
// have it.
func (r *run) lookAtPhoto() (err error) {
	if !r.meta.Linear && (r.holds.whole || blocksOf(r.geo.region) <= aheadBlocks) {
		r.decodeAhead() // all of it, once, whatever reads it
	}
	plan := func() error {
		if r.planned || !r.turn.free() {
			return nil
		}
		return r.planWithin()
	}
	// What no budget allows is refused before the photo is read. A plan that needs no device costs nothing
	// while rows are decoded.
	if r.session.lowHostMemory() || r.ahead != nil && r.turn.free() && r.session.plansAhead() {
		if err = plan(); err != nil {
			return err
		}
	}
	if r.report.Noise, err = r.decideNoise(); err != nil {
		return r.photoError(err)
	}
	if r.meta.Linear {
		r.report.Warn("the photo is demosaiced already: a network removes its noise, which may be coarser than a sensor's; --denoise 0 leaves it, less than 1 keeps some")
	} else {
		r.decodeAhead()
	}
	c := &r.session.model.Convention
	if err = r.decideLight(r.statistics(), c.Output == model.OutputDisplaySRGB); err == nil {
		r.decideLeft()
		err = r.decideRendering(c)
	}
	if err != nil {
		return r.photoError(err)
	}
	r.beginLevels()
	return plan()
}

// beginLevels begins to make the tables of samples, while the device is opened.
func (r *run) beginLevels() {
	if r.meta.Linear {
		return
	}
	r.decisions.levels = sync.OnceValue(func() *levels {
		return newLevels(r.meta, &r.session.model.Convention, r.decisions.balance.networkGains(), r.report.Noise, &r.session.host.curves)
	})
	if !r.job.DryRun {
		go r.decisions.levels()
	}
}

// statistics are those of the photo, made from the rows that are decoded ahead, if any are.
func (r *run) statistics() statistics {
	if r.meta.Linear {
		return r.linearRows().statistics
	}
	return statistics{func() (*[3]colour.Histogram, error) { return histograms(r.ahead) }, r.sampleLight, r.spot}
}

// decideRendering lists the stages from the network's rows to the picture's.
func (r *run) decideRendering(c *model.Convention) error {
	if amount := r.decisions.balance.amount; amount > 0 {
		if err := r.decideSharpening(amount); err != nil {
			return err
		}
	}
	facts := r.photo.Lens()
	r.decisions.lens = facts != nil && r.job.Lens.Applied(r.decisions.balance.linear)
	switch {
	case facts == nil || r.decisions.lens:
	case r.job.Output.Format == DNG:
		r.report.Warn("the lens corrections that the file asks for are left to readers of the DNG file; --lens auto applies them")
	default:
		r.report.Warn("the lens corrections that the file asks for are left out; --lens auto applies them")
	}
	if !r.decisions.lens {
		facts = nil
	}
	l, err := newLens(facts, r.geo, c, r.decisions.balance.gains, r.report)
	if err == nil {
		r.decisions.rendering = newRendering(r.geo, c, r.decisions.balance, l)
		if !r.decisions.rendering.makes(r.network.picture) && r.network.picture != nil { // a stage that the job did not tell of
			r.network.picture, r.planned = nil, false
		}
	}
	return err
}

// decodeAhead begins to decode, unless that has begun.
func (r *run) decodeAhead() {
	r.input.decodeAhead(r.ctx, r.holds.blocks, r.together(), &r.session.host.mosaics, r.session.stages())
}

// reads are the files that the run is made from: no output may replace them.
func (r *run) reads() []string {
	files := []string{r.job.Reference}
	if p := r.job.CameraProfile; p != nil {
		files = append(files, p.Path)
	}
	if r.job.Reader == nil {
		files = append(files, r.job.Input)
	}
	if filepath.Ext(r.session.set.Model) != "" { // the built-in ones are no files
		files = append(files, r.session.set.Model)
	}
	return files
}

// awaitTurn waits until the photos before have left the device.
func (r *run) awaitTurn() error {
	start := time.Now()
	defer r.session.stages().Begin("wait for the device")()
	err := r.turn.wait(r.ctx)
	r.turn.waited = time.Since(start)
	r.report.Seconds.Wait = r.turn.waited.Seconds()
	return err
}

// decide plans the run.
func (r *run) decide() error {
	if !r.planned {
		if err := r.planWithin(); err != nil {
			return err
		}
	} else if err := r.fitHost(); err != nil { // with the lens corrections, which are known now
		return err
	}
	if err := r.describePlan(r.job.Output.Overwrite); err != nil {
		return err
	}
	r.report.Seconds.Plan = (time.Since(r.start) - r.turn.waited).Seconds()
	return nil
}

// planWithin makes the plan and holds it against the budgets.
func (r *run) planWithin() error {
	defer r.session.stages().Begin("plan")()
	if err := r.network.makePlan(r.geo.out.Y1); err != nil {
		return err
	}
	r.planned = true
	return r.fitHost()
}

// photoError names the photo in errors of reading it.
func (r *run) photoError(err error) error {
	var option *raw.OptionError
	var file *FileError
	if errors.As(err, &option) || errors.As(err, &file) || Classify(err) == ClassInterrupted {
		return err
	}
	return &FileError{Path: r.job.Input, Err: err}
}

// make runs the network and writes the picture.
func (r *run) make(out *target, w, h int) error {
	enc, err := r.encoder(out, w, h)
	if err != nil {
		return err
	}
	defer r.abandonEncoder()
	src := r.source()
	dev := newDeveloper(r.geo, r.decisions.rendering, enc, r.holds.batches, &r.session.host.pictures, r.session.stages())
	defer dev.abandon()
	if err = r.network.prepare(r.replanned); err == nil {
		sink := exec.Sink(dev)
		if r.network.makesPixels() {
			sink = newPixelSink(dev, r.network.plan.Picture())
		}
		err = r.network.compute(src, sink, r.replanned, r.turn.leave)
	}
	r.turn.leave()
	if bad := (*exec.NotFiniteError)(nil); errors.As(err, &bad) {
		err = &NonFiniteError{Row: bad.Row, Column: bad.Column}
	}
	sec := &r.report.Seconds
	sec.Decode, sec.Pack = src.times()
	switch { // the engine may only know that somebody stopped it
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case src.failure() != nil:
		return r.photoError(src.failure())
	case dev.failure() != nil:
		return dev.failure()
	case err != nil:
		return err
	}
	return r.deliver(dev, out)
}

// photoSource is what feeds the network with the photo.
type photoSource interface {
	exec.Source
	failure() error                // the first; the engine may report only that it was stopped
	times() (decode, pack float64) // seconds of both
}

func (r *run) source() photoSource {
	conv := &r.session.model.Convention
	if r.meta.Linear {
		gains := r.decisions.balance.networkGains()
		return newLinearSource(r.photo, r.geo, &levels{meta: r.meta, conv: conv, gains: gains, noise: r.report.Noise})
	}
	lev := r.decisions.levels()
	lev.shading = r.photo.Gains()
	return newSource(r.ahead, r.geo, conv, lev)
}

// deliver finishes the picture and its file.
func (r *run) deliver(dev *developer, out *target) error {
	finish := time.Now()
	defer r.session.stages().Begin("finish")()
	if err := dev.finish(); err != nil {
		return err
	}
	if err := r.seen.finish(); err != nil {
		return err
	}
	end := r.session.stages().Begin("flush")
	err := out.commit()
	end()
	if err != nil {
		return err
	}
	sec := &r.report.Seconds
	sec.Finish = time.Since(finish).Seconds()
	sec.Develop, sec.Encode = dev.develop.sum.Seconds(), dev.encode.Seconds()
	r.noteDefects()
	r.noteFlat(dev)
	return r.judge()
}

// judge finishes the comparison with the reference.
func (r *run) judge() (err error) {
	if r.decisions.compare == nil {
		return nil
	}
	if r.report.Reference, err = r.decisions.compare.result(); err != nil {
		return err
	}
	r.report.Reference.Tone = r.report.Colour.Tone
	got := float64(r.report.Reference.CPSNR)
	if r.job.MinPSNR > 0 && !(got >= r.job.MinPSNR) {
		return &QualityError{CPSNR: got, Want: r.job.MinPSNR}
	}
	return nil
}

// replanned holds another plan than the one that was shown against the host's memory.
func (r *run) replanned() error {
	err := r.hostNeeds() // more may be spilled now
	r.holds.limiter.setFixed(r.session.fixedBytes(r.network.plan))
	if err != nil {
		return err
	}
	return r.describePlan(true)
}

// say adds a warning that came during the run, and tells it at once.
func (r *run) say(text string) {
	r.report.Warn("%s", text)
	if r.job.Say != nil {
		r.job.Say(text)
	}
}
