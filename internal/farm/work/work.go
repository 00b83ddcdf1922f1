// Package work is a worker of a farm: it leases tasks, has pictures made, publishes them
// once, and says what went wrong.
//
// [Run] is the worker. What computes is a [Maker], so that a driver that takes its process
// with it does not take the worker: the maker's process is another.
//
// A task goes through these stations: lease; look for the result under its key; note the
// attempt; make the picture; publish it with its receipt; name it; acknowledge twice. A
// worker may die between any two: the lease runs out, and the next worker finds what is
// there.
package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/store"
)

// Maker makes pictures on one device.
type Maker interface {
	// Open readies the maker for photos of an order, whose settings are flags such as
	// --tone=linear, and says what it makes them with. Whatever it cannot do for any photo is
	// its error.
	Open(ctx context.Context, flags []string) (*Ability, error)
	// Make makes a picture. Several calls may be under way. Errors are *farm.Failure.
	Make(ctx context.Context, r *Request) (*Made, error)
	Close() error
}

// Ability is what a maker is for an order.
type Ability struct {
	Model      string `json:"model"` // SHA-256
	Generation string `json:"generation"`
	Class      string `json:"class"`
	Device     string `json:"device"`
	Program    string `json:"program"`
	queue.Room
}

// Request is a picture to make.
type Request struct {
	Flags   []string `json:"flags"`
	Root    string   `json:"root"`    // a folder
	Photo   string   `json:"photo"`   // below it; links that lead out of it are refused
	Picture string   `json:"picture"` // path of a file that is not there yet
}

// Made is how a picture was made.
type Made struct {
	Seconds    float64 `json:"seconds"`
	PeakDevice int64   `json:"peak_device_bytes"`
	PeakHost   int64   `json:"peak_host_bytes"`
}

// Options say what a worker has.
type Options struct {
	Name   string
	Queue  *queue.Client
	Store  store.Store
	Photos Photos
	Maker  Maker
	// Files is a folder for files that settings name. It belongs to the worker.
	Files string
	// Check refuses settings that no order may have.
	Check func(s *farm.Setting) error
	// Accepts, if not nil, decides whether the worker takes photos with sides up to side, of an
	// order for which it has this room. By default it takes those that it has room for.
	Accepts func(room *queue.Room, side int) bool
	// UntilIdle ends the worker when nothing that it could do waits or is in work elsewhere. If
	// it did nothing at all although photos wait, Run returns a *RefusalError.
	UntilIdle bool
	// Tell is told of everything that a person would want to know, on one line.
	Tell func(text string)
	// Done is told what became of each photo; nil: nobody. err is a *farm.Failure.
	Done func(t *farm.Task, r *farm.Receipt, found bool, err error)
	// Refused is told why the worker does not work for an order; nil: nobody.
	Refused func(err error)
	// Ended is told the worker's last state when it ends; nil: nobody.
	Ended func(s *queue.Worker)
}

// Photos are the sources.
type Photos interface {
	// Fetch gives the folder and the name below it where the task's photo is, its SHA-256, and what
	// to do after use. changed reports whether the photo is another than Fetch saw.
	Fetch(ctx context.Context, t *farm.Task) (p *Photo, err error)
}

// Photo is a photo that a maker can open.
type Photo struct {
	Root, Name string
	SHA256     string
	Changed    func() bool
	Done       func()
}

// worker is one Run.
type worker struct {
	Options
	// alone is held for writing while a photo that is suspected of killing workers is
	// made, for reading while another is.
	alone sync.RWMutex

	mu      sync.Mutex
	orders  map[string]*order
	state   queue.Worker
	fastest float64
	now     map[string]bool // photos in work
	making  map[farm.Key]chan struct{}
	worked  bool          // it has had a photo
	gone    error         // why the queue is out of reach for good
	left    *RefusalError // of what it looked at last: what it leaves to others; nil: nothing
	full    time.Time     // when the store was last found full or away; zero: it is neither
	why     string        // which of the two
	changed chan struct{} // something to report
}

// Run works until ctx ends, or the queue lets the worker in no longer, or as UntilIdle says. What is being made
// when ctx ends is given back.
func Run(ctx context.Context, o Options) error {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	w := &worker{Options: o, orders: map[string]*order{}, now: map[string]bool{}, making: map[farm.Key]chan struct{}{}, changed: make(chan struct{}, 1)}
	w.state = queue.Worker{Name: o.Name, State: "waiting"}
	if _, err := o.Queue.Report(ctx, &w.state); errors.As(err, new(*queue.RefusedError)) { // its name
		return errors.Join(err, o.Maker.Close())
	}
	reporting, stop := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { w.report(reporting) })
	w.lease(ctx)
	stop()
	all.Wait()
	if o.Ended != nil {
		o.Ended(&w.state)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if w.gone != nil && ctx.Err() == nil {
		return errors.Join(w.gone, o.Maker.Close())
	}
	err := errors.Join(o.Queue.Leave(last, o.Name), o.Maker.Close())
	if ctx.Err() == nil && !w.worked && w.left != nil {
		err = errors.Join(w.left, err)
	}
	return err
}

// RefusalError says that a worker had no photo although some wait: they are of orders that it
// refuses, or too large for it.
type RefusalError struct {
	Order string
	Err   error // why, for one of the orders
}

func (e *RefusalError) Error() string {
	return fmt.Sprintf("no photo that waits is for this worker: order %.8s: %v", e.Order, e.Err)
}

func (e *RefusalError) Unwrap() error { return e.Err }

// lease takes tasks while there is room for them. It returns when ctx ends and all are
// given back.
func (w *worker) lease(ctx context.Context) {
	slots := make(chan struct{}, 1+farm.Ahead)
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		l := w.take(ctx, len(slots)-1)
		if l == nil {
			if w.gone = w.Queue.Gone(); w.gone != nil {
				return
			}
			if w.UntilIdle && len(slots) == 1 && w.idle(ctx) {
				return
			}
			<-slots
			continue
		}
		w.worked = true
		running.Go(func() {
			defer func() { <-slots }()
			w.work(ctx, l)
		})
	}
}

// take waits for a task that this worker should have.
func (w *worker) take(ctx context.Context, held int) *queue.Lease {
	if wait := w.fullFor(); wait > 0 {
		pause(ctx, wait)
		return nil
	}
	l, err := w.Queue.Take(ctx, func(o queue.Offer) bool { return w.accepts(ctx, o) }, w.UntilIdle)
	if err != nil || l == nil {
		return nil
	}
	w.mu.Lock()
	own, fastest := w.state.Seconds, w.fastest
	w.mu.Unlock()
	if !farm.Take(own, fastest, held, l.Waiting+1) {
		l.Release(ctx)
		pause(ctx, time.Duration(min(own, 10)*float64(time.Second)))
		return nil
	}
	return l
}

// idle reports whether the queue has nothing for this worker, after a while of waiting. It notes what the queue has
// for others.
func (w *worker) idle(ctx context.Context) bool {
	unknown := false // whether it could work for an order
	w.left = nil
	left, err := w.Queue.Left(ctx, func(o queue.Offer) bool {
		takes := w.accepts(ctx, o)
		if why := w.refusal(ctx, o); !takes && why != nil {
			w.left = &RefusalError{o.Order, why}
			unknown = unknown || errors.As(why, new(*queue.Error))
		}
		return takes
	})
	if unknown || err == nil && left > 0 {
		pause(ctx, time.Second)
	}
	return err == nil && left == 0 && !unknown
}

// refusal is why the worker leaves an offer to others.
func (w *worker) refusal(ctx context.Context, offer queue.Offer) error {
	o := w.order(ctx, offer.Order)
	if o.refused != nil {
		return o.refused
	}
	return &farm.Failure{Kind: farm.Passing, Class: farm.Memory, Reason: o.tooLargeText(farm.Sides[offer.Class])}
}

// fullDelay is how long a worker waits before it tries again whether the store has room.
const fullDelay = 5 * time.Second

// fullFor is how long the store is still taken for full.
func (w *worker) fullFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full.IsZero() {
		return 0
	}
	return time.Until(w.full.Add(fullDelay))
}

// pause waits, but not beyond the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// report says how the worker is, every few seconds and when that changes.
func (w *worker) report(ctx context.Context) {
	tick := time.NewTicker(queue.StatePeriod)
	defer tick.Stop()
	for {
		w.mu.Lock()
		s := w.state
		s.Photos, s.Rooms = nil, w.rooms()
		for name := range w.now {
			s.Photos = append(s.Photos, name)
		}
		w.mu.Unlock()
		fastest, err := w.Queue.Report(ctx, &s)
		if err == nil {
			w.mu.Lock()
			w.fastest = fastest
			w.mu.Unlock()
		}
		pause(ctx, time.Second) // no more often than that
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.changed:
		}
	}
}

// note changes the state that is reported.
func (w *worker) note(change func(s *queue.Worker)) {
	w.mu.Lock()
	change(&w.state)
	switch {
	case !w.full.IsZero():
		w.state.State = "standing still: " + w.why
	case len(w.now) > 0:
		w.state.State = "working"
	default:
		w.state.State = "waiting"
	}
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}
