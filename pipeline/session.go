package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"enhance/internal/atomicfile"
	"enhance/internal/buffers"
	"enhance/internal/colour"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/hostmemory"
	"enhance/internal/tune"
	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/raw"
)

// Session makes pictures with one model on one device. Its methods must not be
// called at the same time, except Abandon. A [Batch] lets the photos of a session
// overlap: what a photo does while it has its turn is said at run.do.
type Session struct {
	set Settings
	loadedModel
	device  *device
	choices choices
	runner  *runner
	budget  Budget       // what plans may hold
	peers   *peers       // sessions on devices of the same kind, nil: none
	queue   *deviceQueue // for the device and all that depends on it
	host    *hostMemory
	outputs *outputs
	other   *Session      // for photos of other sensors, see sensors.go; nil: none yet
	kept    *Session      // for those whose noise is to be kept in part; nil: none yet
	share   float64       // of the noise that the network puts back
	profile *exec.Profile // where the time goes; nil: not asked
	kernels photoKernels
}

// choices are how a session computes: each is made once, before the first plan that
// depends on it, and then holds for all photos.
type choices struct {
	algo *exec.AlgoSpec
	// decided is the precision of photos, chosen that of the photo whose turn it is, which
	// may have to take another for want of memory; nil: not decided yet.
	decided, chosen *precisionChoice
	table           *tune.Table   // what was measured on the device; nil: not asked yet, or not used
	rates           *exec.Rates   // for the prices of plans; nil: not measured
	picture         *fuse.Picture // that the device makes of it (see exec.Options.Picture); nil: none
	samples         bool          // what is planned takes a photo's stored samples, not planes (see exec.Options.Samples)
}

// hostMemory is what a session knows and keeps of the host's memory.
type hostMemory struct {
	base     atomic.Int64 // resident bytes of the process before the first run
	compiled bool         // kernels were not in the cache: the driver's compiler is at work, or was
	asked    struct {     // the plan whose kernels were looked for last
		plan     *exec.Job
		compiles bool
	}
	// available says how much more there is; hostmemory.Available but in tests.
	available func() (int64, bool)
	mosaics   buffers.Blocks[uint16] // blocks of rows
	pictures  pictureRows
	curves    curves
}

// outputs are the unfinished ones of a session.
type outputs struct {
	mu      sync.Mutex
	current map[*target]struct{}
}

// NewSession loads the model and chooses the device. It does not touch the device
// yet. The caller must Close the session.
func NewSession(set Settings) (*Session, error) { return newSession(set, nil) }

// newSession makes a session with a model that is loaded already, unless it is nil.
func newSession(set Settings, loaded *model.Model) (*Session, error) {
	s := &Session{set: set, loadedModel: loadedModel{model: loaded, modelName: cmp.Or(set.Model, embeddedModel)},
		runner: &runner{}, queue: &deviceQueue{}, host: &hostMemory{available: hostmemory.Available}, outputs: &outputs{}, kernels: newPhotoKernels()}
	s.device = &device{set: &s.set}
	if err := s.settle(); err != nil {
		s.Close()
		return nil, err
	}
	s.profile = set.Profiler.add(s.device.deviceFacts().Name, s.device.choice.Device)
	return s, nil
}

// settle does what a session needs before its first run.
func (s *Session) settle() (err error) {
	loaded := make(chan error, 1)
	go func() { loaded <- s.load(s.set.Level, s.set.Ensemble) }() // while drivers are loaded and list their devices
	if err = s.device.chooseDevice(); err == nil && s.set.Early && !s.set.PlanOnly && s.device.choice.Device != nil {
		s.device.openEarly()
	}
	failed := <-loaded
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	if err = s.checkHostPrecision(); err != nil {
		return err
	}
	if err = s.chooseAlgos(); err != nil {
		return err
	}
	s.budget = s.deviceBudget(s.set.Memory, 1)
	return nil
}

// Close releases the device.
func (s *Session) Close() error {
	err := errors.Join(s.runner.closeEngine(), s.device.close())
	if s.set.Compiler != nil {
		s.set.Compiler.Rest(true)
	}
	return err
}

// Abandon removes the unfinished files of runs that do not return, so that the
// process can end. It may be called at any time, from any goroutine.
func (s *Session) Abandon() { s.outputs.abort() }

// abort ends all of them without completing them.
func (o *outputs) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for t := range o.current {
		t.abort()
	}
}

func (o *outputs) add(t *target) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current == nil {
		o.current = map[*target]struct{}{}
	}
	o.current[t] = struct{}{}
}

func (o *outputs) drop(t *target) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.current, t)
}

// Enhance makes one picture. For errors see [Classify]; the report is not nil
// once the photo was opened.
func (s *Session) Enhance(ctx context.Context, j Job) (*Report, error) {
	r, err := s.begin(ctx, j)
	if err != nil {
		return nil, err
	}
	r.keepDecoded()
	return r.finish()
}

// begin opens the photo. The run must be finished.
func (s *Session) begin(ctx context.Context, j Job) (r *run, err error) {
	if err := forRAW(s.model, s.modelName); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := j.complete(); err != nil {
		return nil, err
	}
	photo, err := openPhoto(&j)
	if err != nil {
		return nil, &FileError{Path: j.Input, Err: err}
	}
	defer func() {
		if err != nil {
			photo.Close()
		}
	}()
	with, err := s.forPhoto(photo.Meta(), &j.Look)
	if err != nil {
		return nil, err
	}
	first := s
	s = cmp.Or(with, s)
	r = &run{session: s, ctx: ctx, job: &j, start: start, holds: runHolds{batches: outBatches},
		input: input{photo: photo, meta: photo.Meta(), classical: with == nil}}
	shown := r.meta
	if j.Output.Format == DNG {
		if err = r.refuseModel(); err != nil {
			return nil, err
		}
		shown = r.dngArea()
	}
	r.layOut(shown, &s.model.Convention)
	r.report = s.newReport(&j, r.meta)
	r.repairDefects()
	r.network = s.computation(ctx, s.model, r.geo.h, r.geo.w, &r.report.Plan, &r.report.Memory, &r.report.Seconds)
	r.network.progress, r.network.warn, r.network.samples = j.Progress, r.say, r.input.samplesServe(&s.model.Convention)
	r.network.picture = r.devicePicture(&s.model.Convention, &j)
	r.turn.queueEntry = s.queue.join()
	if began := &first.set.Began; !began.IsZero() {
		r.report.Seconds.Start, *began = start.Sub(*began).Seconds(), time.Time{}
	}
	return r, nil
}

// complete decides what follows from the job alone, and refuses what no photo could make right.
func (j *Job) complete() error {
	j.Raw.Linear = true
	o := &j.Output
	if !j.DryRun || o.Path != "" || o.Writer != nil {
		if err := o.complete(); err != nil {
			return err
		}
		if err := j.refuseDNG(); err != nil {
			return err
		}
		if err := j.refuseFloats(); err != nil {
			return err
		}
	}
	if j.Reference != "" && o.Profile.encoding() != colour.SRGBEncoding {
		return optionErrorf("reference", "a reference is compared as sRGB, which the output profile %s is not: leave one of them out", o.Profile)
	}
	if d := j.PlanDrawing; d != "" && o.Writer == nil && o.Path != "" && atomicfile.Locate(d).Same(atomicfile.Locate(o.Path)) {
		return optionErrorf("plan-svg", "%s is where the picture goes: choose another name", d)
	}
	return nil
}

// finish makes the picture.
func (r *run) finish() (*Report, error) {
	defer r.photo.Close()
	defer r.turn.leave()
	r.startSeen()
	defer r.seen.close()
	err := r.do()
	r.report.Seconds.Total = time.Since(r.start).Seconds()
	return r.report, err
}

func openPhoto(j *Job) (*raw.Photo, error) {
	opt := j.Raw
	opt.WB = nil
	if j.Reader != nil {
		return raw.OpenReader(j.Reader, j.Size, j.Input, opt)
	}
	return raw.Open(j.Input, opt)
}

// newReport starts a report with what is known before anything is decided.
func (s *Session) newReport(j *Job, m *raw.Meta) *Report {
	rep := &Report{Input: j.Input, Photo: photoFacts(m), Warnings: slices.Clone(m.Warnings), DryRun: j.DryRun}
	rep.Model, rep.Device = s.facts()
	o := j.Output
	if named, err := parseFormat(filepath.Ext(o.Path)); err == nil && o.Path != "" && named != o.Format {
		rep.Warn("%s becomes a %s file, as --format says, whatever its name", o.Path, strings.ToUpper(fmt.Sprint(o.Format)))
	}
	rep.Output = facts.Output{Path: o.Path, Format: string(o.Format), Bits: o.Bits, Profile: string(o.Profile)}
	if o.Format == DNG {
		rep.Output.Profile = "camera"
	}
	if note := o.profileNote(); note != "" {
		rep.Warn("%s", note)
	}
	return rep
}
