// Package sim is a discrete simulation of a farm, to learn what saturates first before
// there are 10^7 photos and 1,000 workers. It decides as the farm does: by the functions of
// package farm. What it assumes is how long things take: a photo on a worker, bytes to and
// from the store, a message at the queue's server.
//
// [Run] simulates. Time is in seconds and nothing is drawn from a clock, so that a run
// depends on its [Config] alone.
package sim

import (
	"container/heap"
	"math"
	"math/rand/v2"

	"enhance/internal/farm"
)

// Config is a farm and its work.
type Config struct {
	Photos  int
	Workers []Kind // kinds of workers and how many there are of each
	Policy  farm.Policy
	Seed    uint64

	// PhotoBytes are read from the store for a photo, ResultBytes written.
	PhotoBytes, ResultBytes float64
	// StoreRate is bytes a second of the store to all workers together; PublishTime is what
	// publishing takes a worker besides, for flushes to the disk.
	StoreRate, PublishTime float64
	// MessageTime is what the queue's server needs for a message.
	MessageTime float64
	// SubmitRate is photos a second that a submitter finds and opens.
	SubmitRate float64

	// Poison is the share of photos that kill whoever computes them; KillTime is how long
	// a worker lives on average for other reasons, 0 for ever; Restart is how long it
	// takes to come back.
	Poison, KillTime, Restart float64
}

// Kind is a kind of worker.
type Kind struct {
	Name    string
	Count   int
	Seconds float64 // a photo, on average; times vary by a quarter either way
}

// Result is what happened.
type Result struct {
	Seconds    float64 // until the last photo ended
	Done, Dead int
	Again      int // photos that were computed more than once
	Refused    int // tasks that a slow worker left to others
	MaxQueue   int
	MeanQueue  float64
	Events     int
	Messages   float64 // in all
	// ServerBusy, StoreBusy and WorkersBusy are shares of the time.
	ServerBusy, StoreBusy, WorkersBusy float64
	SubmitterBytes                     int       // that a submitter holds at most, of tasks
	ByKind                             []float64 // photos a second of each kind's workers together
}

// Messages of the queue's protocol, requests and answers, by what they are for: those between a worker and the service,
// and those between the service and JetStream.
const (
	messagesSubmit    = 2  // task, answer
	messagesTake      = 8  // offers, request, task, attempts
	messagesPhoto     = 18 // begun: request, task, attempts read and written; done: request, task, acknowledgement, attempts forgotten, the dead
	messagesHeartbeat = 2
	messagesReport    = 8   // request, state, pace read and written
	reportPeriod      = 5.0 // seconds
	window            = 256 // of a submitter
	taskBytes         = 512 // with its bookkeeping
)

// what an event is about.
type what uint8

const (
	submit   what = iota // the submitter has the next photo
	ready                // a worker may take another task
	computed             // a worker's photo is computed
	publish              // a worker's result is published and acknowledged
	die                  // a worker is killed
	restart              // a worker is back
	requeue              // a lease has run out, or a delay is over
)

// event is something that happens at a time.
type event struct {
	at     float64
	what   what
	worker int32
	life   int32 // of the worker; of another life: nothing happens
	photo  int32
	length float32 // of what has happened, for computed
}

// worker is a worker's state.
type worker struct {
	kind    int
	life    int32
	alive   bool
	waiting bool    // for the queue to have a task
	free    float64 // when the device is
	held    []int32 // photos
	average float64 // seconds a photo, as it says itself
}

// farmState is a run.
type farmState struct {
	Config
	Result
	rng     *rand.Rand
	now     float64
	events  events
	workers []worker
	idle    []int32
	queue   fifo
	next    int32 // photo to submit
	stalled bool  // the submitter waits for room
	server  resource
	store   resource
	busy    float64
	fastest float64
	tries   map[int32]int // of photos that were begun and not finished
	area    float64       // under the queue's depth
	since   float64
	made    []float64
}

// resource does one thing after the other.
type resource struct{ free, busy float64 }

// use has it work for some seconds from now on, and returns when that is done.
func (r *resource) use(now, seconds float64) float64 {
	r.busy += seconds
	r.free = max(r.free, now) + seconds
	return r.free
}

// Run simulates a farm until every photo is done or given up.
func Run(c Config) Result {
	f := &farmState{Config: c, rng: rand.New(rand.NewPCG(c.Seed, 0)), tries: map[int32]int{}, made: make([]float64, len(c.Workers))}
	for kind, k := range c.Workers {
		for range k.Count {
			f.workers = append(f.workers, worker{kind: kind})
		}
	}
	f.at(0, event{what: submit})
	for i := range f.workers {
		f.at(f.rng.Float64(), event{what: restart, worker: int32(i)})
	}
	for f.Done+f.Dead < c.Photos {
		e := heap.Pop(&f.events).(event)
		f.now = e.at
		f.Events++
		f.do(e)
	}
	f.Seconds = f.now
	f.message(messagesReport * float64(len(f.workers)) * f.now / reportPeriod)
	f.ServerBusy, f.StoreBusy, f.WorkersBusy = f.server.busy/f.now, f.store.busy/f.now, f.busy/f.now/float64(len(f.workers))
	f.count(0)
	f.MeanQueue = f.area / f.now
	f.SubmitterBytes = window * taskBytes
	for i := range f.made {
		f.ByKind = append(f.ByKind, f.made[i]/f.now)
	}
	return f.Result
}

func (f *farmState) at(t float64, e event) {
	e.at = t
	heap.Push(&f.events, e)
}

// message has the server handle some, and returns when it has.
func (f *farmState) message(n float64) float64 {
	f.Messages += n
	return f.server.use(f.now, n*f.MessageTime)
}

// count notes that the queue's depth changes.
func (f *farmState) count(by int) {
	f.area += float64(f.queue.len()-by) * (f.now - f.since)
	f.since = f.now
	f.MaxQueue = max(f.MaxQueue, f.queue.len())
}

func (f *farmState) do(e event) {
	switch e.what {
	case submit:
		f.submit()
		return
	case requeue:
		f.enqueue(e.photo)
		return
	case restart:
		w := &f.workers[e.worker]
		w.alive, w.free = true, f.now
		if f.KillTime > 0 {
			f.at(f.now+f.rng.ExpFloat64()*f.KillTime, event{what: die, worker: e.worker, life: w.life})
		}
		f.take(e.worker)
		return
	}
	w := &f.workers[e.worker]
	if e.life != w.life || !w.alive {
		return
	}
	switch e.what {
	case ready:
		f.take(e.worker)
	case computed:
		f.busy += float64(e.length)
		done := f.store.use(f.now, f.ResultBytes/f.StoreRate) + f.PublishTime
		e.what = publish
		f.at(done, e)
	case publish:
		f.finish(e)
	case die:
		f.kill(e.worker)
	}
}

// submit puts the next photo into the queue, or waits for room.
func (f *farmState) submit() {
	if int(f.next) == f.Photos {
		return
	}
	if int64(f.queue.len()) >= f.Policy.Queue {
		f.stalled = true
		return
	}
	f.enqueue(f.next)
	f.next++
	f.at(max(f.now+1/f.SubmitRate, f.message(messagesSubmit)), event{what: submit})
}

// enqueue puts a photo into the queue and wakes a worker that waits.
func (f *farmState) enqueue(photo int32) {
	f.queue.push(photo)
	f.count(1)
	f.wake()
}

// wake has a worker that waits look for a task.
func (f *farmState) wake() {
	for len(f.idle) > 0 {
		w := f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		if f.workers[w].waiting {
			f.workers[w].waiting = false
			f.at(f.now, event{what: ready, worker: w, life: f.workers[w].life})
			return
		}
	}
}

// take gives a worker tasks while it has room for them.
func (f *farmState) take(i int32) {
	w := &f.workers[i]
	for w.alive && len(w.held) <= farm.Ahead {
		if f.queue.len() == 0 {
			if !w.waiting {
				w.waiting = true
				f.idle = append(f.idle, i)
			}
			return
		}
		if !farm.Take(w.average, f.fastest, len(w.held), int64(f.queue.len())) {
			f.Refused++
			f.message(2 * messagesTake)
			f.at(f.now+min(w.average, 10), event{what: ready, worker: i, life: w.life})
			f.wake()
			return
		}
		photo := f.queue.pop()
		f.count(-1)
		if f.stalled {
			f.stalled = false
			f.at(f.now, event{what: submit})
		}
		w.held = append(w.held, photo)
		f.begin(i, photo)
	}
}

// begin has a worker fetch and compute a photo.
func (f *farmState) begin(i, photo int32) {
	w := &f.workers[i]
	taken := f.message(messagesTake)
	fetched := max(taken, f.store.use(f.now, f.PhotoBytes/f.StoreRate))
	if f.poisonous(photo) {
		f.at(max(fetched, w.free), event{what: die, worker: i, life: w.life, photo: photo})
		w.free = math.Inf(1)
		return
	}
	if math.IsInf(w.free, 1) { // behind a photo that is about to kill it
		return
	}
	length := f.Workers[w.kind].Seconds * (0.75 + 0.5*f.rng.Float64())
	w.free = max(fetched, w.free) + length
	f.message(messagesHeartbeat * math.Floor((w.free-f.now)/f.Policy.Heartbeat().Seconds()))
	f.at(w.free, event{what: computed, worker: i, life: w.life, photo: photo, length: float32(length)})
}

// poisonous photos are spread evenly.
func (f *farmState) poisonous(photo int32) bool {
	return math.Floor(float64(photo+1)*f.Poison) > math.Floor(float64(photo)*f.Poison)
}

// finish ends a worker's photo.
func (f *farmState) finish(e event) {
	w := &f.workers[e.worker]
	w.held = drop(w.held, e.photo)
	f.message(messagesPhoto)
	f.Done++
	f.made[w.kind]++
	delete(f.tries, e.photo)
	if w.average == 0 {
		w.average = float64(e.length)
	}
	w.average += (float64(e.length) - w.average) / 8
	if f.fastest == 0 || w.average < f.fastest {
		f.fastest = w.average
	}
	f.take(e.worker)
}

// kill ends a worker: what it held comes back when the leases have run out, or is given up.
func (f *farmState) kill(i int32) {
	w := &f.workers[i]
	for _, photo := range w.held {
		f.tries[photo]++
		f.Again++
		attempts := make(farm.Attempts, f.tries[photo])
		if attempts.Dead(&f.Policy) != nil {
			f.Dead++
			delete(f.tries, photo)
			continue
		}
		f.at(f.now+f.Policy.Lease.Seconds(), event{what: requeue, photo: photo})
	}
	w.held, w.alive, w.waiting = w.held[:0], false, false
	w.life++
	if f.queue.len() > 0 { // that it may have been woken for
		f.wake()
	}
	f.at(f.now+f.Restart, event{what: restart, worker: i})
}

func drop(held []int32, photo int32) []int32 {
	for i, p := range held {
		if p == photo {
			return append(held[:i], held[i+1:]...)
		}
	}
	return held
}

// events are in the order of time.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// fifo is a queue of photos.
type fifo struct {
	photos []int32
	first  int
}

func (q *fifo) len() int     { return len(q.photos) - q.first }
func (q *fifo) push(p int32) { q.photos = append(q.photos, p) }
func (q *fifo) pop() int32 {
	p := q.photos[q.first]
	if q.first++; q.first > 1024 && q.first > len(q.photos)/2 {
		q.photos = append(q.photos[:0], q.photos[q.first:]...)
		q.first = 0
	}
	return p
}
