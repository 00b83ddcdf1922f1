package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"enhance/clrt"
	"enhance/internal/devices"
	"enhance/internal/hostmemory"
)

// Batch makes pictures of many photos, on one device or on several at a time. A device
// slower than the fastest makes a photo only if it is expected to finish it before
// the fastest alone would have finished all that are left (see giveTo). On
// each device the photos that come next are decoded while one is computed and those
// before it are encoded. The bytes of a picture are those that a run of its own
// would make on the same device.
type Batch struct {
	sessions []*Session
	depth    int    // photos under way on each device
	asked    Budget // for the host's memory
}

// NewBatch loads the model and chooses the devices that set.Device selects. The caller
// must Close the batch.
func NewBatch(set Settings) (b *Batch, err error) {
	selectors, err := devices.Split(set.Device)
	if err != nil {
		return nil, err
	}
	b = &Batch{}
	all := set.Device == devices.All
	set.serialise()
	groups := map[string]*peers{}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	for i, sel := range selectors {
		set.Device = sel
		var s *Session
		if i == 0 {
			s, err = newSession(set, nil)
		} else {
			s, err = newSession(set, b.sessions[0].model)
		}
		if err != nil {
			return b, err
		}
		if all {
			s.device.choice.Why = "no OpenCL device; all were asked for"
			if s.device.choice.Device != nil {
				s.device.choice.Why = fmt.Sprintf("all %s devices were asked for", s.device.choice.Device.Info().Type)
			}
		}
		b.sessions = append(b.sessions, s)
		if s.device.info != nil {
			kind := s.device.info.Platform + s.device.info.Name + s.device.info.DriverVersion
			if groups[kind] == nil {
				groups[kind] = &peers{}
			}
			s.peers = groups[kind]
		}
	}
	b.shareBudgets()
	b.depth = max(3, min(8, 2+cores()/(2*len(b.sessions))))
	b.asked = set.HostMemory
	return b, nil
}

// peers are the sessions of one network on devices of one kind. What is tried on a patch is tried once
// for all of them, so that their results are the same bytes.
type peers struct {
	mu     sync.Mutex
	tried  []precisionTrial
	beside map[string]*peers // of the sessions that stand beside these, by their networks, see sensors.go
}

// of are the peers of the sessions of a network that stand beside these.
func (p *peers) of(network string) *peers {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beside == nil {
		p.beside = map[string]*peers{}
	}
	if p.beside[network] == nil {
		p.beside[network] = &peers{}
	}
	return p.beside[network]
}

// try returns what was tried, or tries.
func (p *peers) try(do func() ([]precisionTrial, error)) ([]precisionTrial, error) {
	if p == nil {
		return do()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried == nil {
		tried, err := do()
		if err != nil {
			return nil, err
		}
		p.tried = tried
	}
	return p.tried, nil
}

// serialise makes the callbacks of settings safe for several sessions.
func (set *Settings) serialise() {
	var mu sync.Mutex
	text := func(f func(string)) func(string) {
		if f == nil {
			return nil
		}
		return func(s string) {
			mu.Lock()
			defer mu.Unlock()
			f(s)
		}
	}
	set.Tell, set.Compiling, set.Debug = text(set.Tell), text(set.Compiling), text(set.Debug)
	if f := set.Tuning; f != nil {
		set.Tuning = func(done, total int) {
			mu.Lock()
			defer mu.Unlock()
			f(done, total)
		}
	}
}

// shareBudgets divides the budget of a device that several sessions use.
func (b *Batch) shareBudgets() {
	users := map[*clrt.Device]int{}
	for _, s := range b.sessions {
		users[s.device.choice.Device]++
	}
	for _, s := range b.sessions {
		s.budget = s.budget.SharedBy(users[s.device.choice.Device])
	}
}

// Close releases the devices.
func (b *Batch) Close() error {
	var errs []error
	for _, s := range b.sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Rest gives back what the last plans hold on the devices and in locked memory of the host. Networks and contexts stay
// ready for the next Run. No run may be under way.
func (b *Batch) Rest() error {
	var errs []error
	for _, s := range b.sessions {
		errs = append(errs, s.runner.closeEngine())
	}
	return errors.Join(errs...)
}

// Leave is Close for a process that is about to end. What the driver of a GPU holds for it is left to
// the system, which takes it back in less time: on an H200 a context takes 60 ms to close. Drivers of
// CPUs remove files of theirs. No run may be under way.
func (b *Batch) Leave() error {
	var errs []error
	for _, s := range b.sessions {
		if i := s.device.info; i == nil || i.Type != clrt.GPU {
			errs = append(errs, s.Close())
		} else if s.set.Compiler != nil {
			s.set.Compiler.Rest(true)
		}
	}
	return errors.Join(errs...)
}

// Abandon is [Session.Abandon] for all devices.
func (b *Batch) Abandon() {
	for _, s := range b.sessions {
		s.Abandon()
	}
}

// Note says what the reader should know about the devices together, "" for nothing.
func (b *Batch) Note() string {
	first := b.sessions[0].device.deviceFacts()
	for _, s := range b.sessions[1:] {
		d := s.device.deviceFacts()
		same := (first.Info == nil) == (d.Info == nil)
		if same && d.Info != nil {
			same = first.Info.Name == d.Info.Name && first.Info.DriverVersion == d.Info.DriverVersion
		}
		if !same {
			return fmt.Sprintf("%s and %s differ: which of them makes a photo depends on time, and so may the last bits of its samples", first.Name, d.Name)
		}
	}
	return ""
}

// Run makes n pictures: job gives photo i's order, or false to pass over it, and
// done is told what became of it (nil and nil of one passed over); done's calls
// come one at a time and in order, job's likewise. Photos whose
// turn had not come when ctx was done are not begun, and done is not called for
// them. The callbacks of several jobs may be called at the same time.
func (b *Batch) Run(ctx context.Context, n int, job func(i int) (j Job, ok bool), done func(i int, r *Report, err error)) {
	w := b.newWalk(n, done)
	for i := range n {
		j, ok := job(i)
		if !ok {
			w.deliver(i, outcome{})
		} else if !w.begin(ctx, i, n-i, j) {
			break
		}
	}
	w.running.Wait()
}

// Each is Run for photos that come one by one: next waits for photo i's order, and
// returns false after the last. done is called as each photo is done, in any order.
func (b *Batch) Each(ctx context.Context, next func(i int) (j Job, more bool), done func(i int, r *Report, err error)) {
	w := b.newWalk(math.MaxInt, done)
	w.anyOrder = true
	for i := 0; ctx.Err() == nil; i++ {
		j, more := next(i)
		if !more || !w.begin(ctx, i, math.MaxInt, j) {
			break
		}
	}
	w.running.Wait()
}

func (b *Batch) newWalk(n int, done func(int, *Report, error)) *walk {
	w := &walk{Batch: b, photos: n, done: done, times: b.deviceTimes(), results: map[int]outcome{}}
	w.free = sync.NewCond(&w.mu)
	w.limiter = newMemoryLimiter(b.bound(), !b.asked.Limited())
	return w
}

// begin starts photo i, of left that are left, when a device has room for it. It reports
// whether ctx had not ended before.
func (w *walk) begin(ctx context.Context, i, left int, j Job) bool {
	s := w.slot(ctx, left)
	if ctx.Err() != nil {
		return false
	}
	r, bytes, err := w.admit(ctx, w.sessions[s], j)
	if err != nil {
		w.release(s, false)
		w.deliver(i, outcome{err: err})
		return true
	}
	w.running.Go(func() {
		rep, err := r.finish()
		w.limiter.release(bytes)
		w.release(s, err == nil)
		w.deliver(i, outcome{rep, err})
	})
	return true
}

// bound is how many bytes the photos under way may hold together: what was asked
// for, else a quarter of what the host can spare.
func (b *Batch) bound() int64 {
	if b.asked.Limited() {
		return b.asked.Bytes()
	}
	if avail, ok := hostmemory.Available(); ok {
		return max(1, avail/4)
	}
	return 2 << 30
}

// walk is one Run.
type walk struct {
	*Batch
	photos  int
	done    func(int, *Report, error)
	limiter *memoryLimiter
	running sync.WaitGroup
	// anyOrder has done called as photos are done.
	anyOrder bool

	mu    sync.Mutex
	free  *sync.Cond
	times []*deviceTimes // by session

	telling sync.Mutex // held while done is called
	results map[int]outcome
	next    int
}

type outcome struct {
	report *Report
	err    error
}

// slot waits for a session that is to make the next of left photos.
func (w *walk) slot(ctx context.Context, left int) int {
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.free.Broadcast()
	})
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for ctx.Err() == nil {
		now := time.Now()
		if i := giveTo(loads(w.times, now, w.depth), left); i >= 0 {
			w.times[i].gave(now)
			return i
		}
		w.free.Wait()
	}
	return -1
}

// release notes that a session's oldest photo is done, or failed.
func (w *walk) release(i int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times[i].finished(time.Now(), ok)
	w.free.Broadcast()
}

// admit opens a photo and waits for the host's memory to have room for it. It lets
// a photo hold all that is decoded and developed, so that neither waits for the
// device nor the device for the encoder, where that leaves room for others.
func (w *walk) admit(ctx context.Context, s *Session, j Job) (*run, int64, error) {
	r, err := s.begin(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	r.holds.limiter = w.limiter
	// A single photo is decoded while its device is opened, of many the next ones while the device
	// is at work; a dry run needs a sample alone.
	r.holds.blocks, r.holds.batches, r.holds.whole = blocksOf(r.geo.region), 4*outBatches, w.photos > 1 || !j.DryRun
	if w.photos > 1 { // the device is for others as soon as possible
		r.holds.batches = max(outBatches, batchesOf(r.geo))
	}
	if !w.limiter.affords(r.photoBytes()) {
		r.holds.blocks, r.holds.batches, r.holds.whole = 0, outBatches, false
	}
	bytes := r.photoBytes()
	if err := w.limiter.acquire(ctx, bytes); err != nil {
		r.photo.Close()
		r.turn.leave()
		return nil, 0, err
	}
	return r, bytes, nil
}

// deliver tells of photo i and of those behind it that waited for it.
func (w *walk) deliver(i int, o outcome) {
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.anyOrder {
		w.done(i, o.report, o.err)
		return
	}
	w.results[i] = o
	for {
		o, ok := w.results[w.next]
		if !ok {
			return
		}
		delete(w.results, w.next)
		w.done(w.next, o.report, o.err)
		w.next++
	}
}
