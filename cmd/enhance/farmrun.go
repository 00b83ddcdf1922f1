package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"enhance/internal/atomicfile"
	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/work"
	"enhance/internal/printable"
	"enhance/internal/tempdir"
)

var farmRunCommand = &command{name: "farm run", summary: "develop an archive on this machine",
	usage: []string{"farm run DIR -o OUT [-g DEVICES] [SETTINGS]"}, run: runFarmRun, files: true,
	about: `Develops the photos in a folder and below on the devices of this machine: a farm of one
machine, whose queue is in this process. It makes OUT. What a crash or an interrupt left
undone, the next run makes; what is done it finds by its contents. A photo that kills its
process three times is given up and named, and the others are developed.`}

func runFarmRun(c *call) error {
	switch {
	case c.output == "":
		return usagef("farm run: give -o, the directory for the pictures")
	case len(c.args) != 1 || s3.IsURL(c.args[0]):
		return c.wants("one folder of photos")
	}
	if info, err := os.Stat(c.args[0]); err != nil {
		return folderError(c.args[0], err)
	} else if !info.IsDir() {
		return c.wants(fmt.Sprintf("one folder of photos, and %s is a file", c.args[0]))
	}
	p, err := c.policy()
	if err != nil {
		return err
	}
	devices, err := c.workerDevices()
	if err != nil {
		return err
	}
	f, err := c.newSubmission()
	if err != nil {
		return err
	}
	defer f.close()
	if err := atomicfile.MakeDir(c.output, false); err != nil {
		return err
	}
	results, err := openStore(c.output)
	if err != nil {
		return err
	}
	defer results.Close()
	f.store = results
	if _, err := results.Clean(); err != nil {
		return err
	}
	photos, err := work.OpenFolder(f.path)
	if err != nil {
		return err
	}
	return c.asFarm(p, func(ctx context.Context, s *queue.Server, q *queue.Queue, client *queue.Client) error {
		r := &farmRun{call: c, submission: f, queue: q, client: client, lost: s.Lost(), start: time.Now(), progress: c.newMeter(),
			done: make(chan struct{}, 1), largest: map[string]int{}}
		return r.run(ctx, devices, func(o *work.Options) {
			o.Store, o.Photos, o.Done = results, photos, r.photo
			o.Tell = func(text string) { r.tell("note", text) }
			name := o.Name
			o.Accepts = func(room *queue.Room, side int) bool { return r.accepts(name, len(devices), room, side) }
			var once sync.Once
			o.Refused = func(err error) { once.Do(func() { r.refuse(err, len(devices)) }) }
		})
	})
}

// asFarm serves a farm in this process, joins it as who submits and as workers, and ends it after do.
func (c *call) asFarm(p farm.Policy, do func(ctx context.Context, s *queue.Server, q *queue.Queue, client *queue.Client) error) error {
	dir, err := tempdir.New("queue")
	if err != nil {
		return err
	}
	defer tempdir.Remove(dir)
	ctx, stop := interruptible(c.env, func() { tempdir.Remove(dir) })
	defer stop()
	s, q, err := c.serve(ctx, queue.ServerOptions{Dir: dir, Policy: p})
	if err != nil {
		return err
	}
	defer s.Close()
	defer q.Close()
	client, err := queue.Join(ctx, queue.Options{Server: s, Name: c.cmd.name})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := c.serveMetrics(ctx, q); err != nil {
		return err
	}
	return do(ctx, s, q, client)
}

// farmRun is a farm of one machine.
type farmRun struct {
	*call
	submission *submission
	queue      *queue.Queue
	client     *queue.Client // of the workers
	lost       <-chan error  // why the queue's server has to end
	start      time.Time

	mu       sync.Mutex
	progress meter
	figures  farmFigures
	tooLarge int64 // of the dead: those that the memory is too small for
	all      int64 // photos that were submitted; -1: not known yet
	done     chan struct{}
	refusals int            // workers that do not take the order
	largest  map[string]int // the longest side that a worker has room for
	refused  error          // why none does, or why the queue cannot be used
}

// farmFigures are what became of photos.
type farmFigures struct {
	submitted
	Made    int64      `json:"made"`
	Found   int64      `json:"found"` // whose results were there
	Dead    int64      `json:"dead"`
	Failed  []deadFact `json:"failed,omitempty"`
	Seconds float64    `json:"seconds"`
}

// deadFact is a photo that was given up.
type deadFact struct {
	Photo  string     `json:"photo"`
	Kind   farm.Kind  `json:"kind"`
	Class  farm.Class `json:"class,omitempty"`
	Reason string     `json:"reason"`
	Log    string     `json:"log,omitempty"`
}

// maxFailed is how many photos that were given up a run holds to report.
const maxFailed = 10_000

func (r *farmRun) run(ctx context.Context, devices []string, complete func(o *work.Options)) error {
	working, end := context.WithCancel(ctx)
	defer end()
	r.all = -1
	var submitting error
	var both sync.WaitGroup
	both.Go(func() {
		if submitting = r.submission.submit(working, r.queue); submitting != nil {
			end()
		}
		r.mu.Lock()
		r.all = r.submission.result.Photos - r.submission.result.Skipped
		r.mu.Unlock()
		r.check()
	})
	both.Go(func() {
		select {
		case <-r.done:
		case err := <-r.lost:
			r.mu.Lock()
			r.refused = err
			r.mu.Unlock()
		case <-working.Done():
		}
		end()
	})
	err := r.runWorkers(working, newWorkerName(""), devices, r.client, complete)
	end()
	both.Wait()
	r.progress.end()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.refused != nil:
		return r.refused
	case submitting != nil && !errors.Is(submitting, context.Canceled): // that a worker failed cancels it
		return submitting
	case err != nil && !errors.Is(err, context.Canceled): // all was done before the workers began
		return err
	case submitting != nil:
		return submitting
	}
	return r.finish()
}

// photo takes what became of a photo.
func (r *farmRun) photo(t *farm.Task, _ *farm.Receipt, found bool, err error) {
	r.mu.Lock()
	var f *farm.Failure
	switch {
	case errors.As(err, &f):
		r.figures.Dead++
		if f.Class == farm.Memory {
			r.tooLarge++
		}
		if len(r.figures.Failed) < maxFailed {
			r.figures.Failed = append(r.figures.Failed, deadFact{t.Photo, f.Kind, f.Class, f.Reason, f.Log})
		}
	case found:
		r.figures.Found++
	default:
		r.figures.Made++
	}
	if r.all > 0 {
		r.progress.set(r.ended(), r.all)
	}
	r.mu.Unlock()
	r.check()
}

func (r *farmRun) ended() int64 { return r.figures.Made + r.figures.Found + r.figures.Dead }

// check ends the run when every photo has.
func (r *farmRun) check() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all >= 0 && r.ended() >= r.all {
		select {
		case r.done <- struct{}{}:
		default:
		}
	}
}

// refuse ends the run when no worker takes its order: nobody else would make the photos.
func (r *farmRun) refuse(err error, workers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusals++; r.refusals < workers {
		return
	}
	r.refused = err
	select {
	case r.done <- struct{}{}:
	default:
	}
}

// accepts gives a photo to a worker that has room for one of that size. One for which none
// has room goes to the worker with the most, once all have said what they have: the size is
// that of a square, and if the photo itself does not fit, the worker says what it needs.
func (r *farmRun) accepts(name string, workers int, room *queue.Room, side int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.largest[name] = room.Largest
	if side <= room.Largest {
		return true
	}
	if len(r.largest)+r.refusals < workers {
		return false
	}
	for _, other := range r.largest {
		if other > room.Largest {
			return false
		}
	}
	return true
}

// tell prints a line above the progress.
func (r *farmRun) tell(name, text string) {
	if r.quiet {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.clear()
	item(r.stderr, name, "%s", printable.Line(text))
}

// finish prints what became of the photos.
func (r *farmRun) finish() error {
	r.figures.submitted, r.figures.Seconds = r.submission.result, time.Since(r.start).Seconds()
	for _, d := range r.figures.Failed {
		fmt.Fprintf(r.stderr, "enhance: %s: %s\n", printable.Line(d.Photo), printable.Line(d.Reason))
	}
	if r.json {
		if err := r.writeJSON(&r.figures); err != nil {
			return err
		}
	} else if !r.quiet {
		if err := r.writeFigures(r.stderr); err != nil {
			return err
		}
	}
	switch failed := r.figures.Dead + r.figures.Refused; {
	case failed > 0 && failed == r.tooLarge:
		return ended(exitBudget)
	case failed > 0:
		return ended(exitFailed)
	}
	return nil
}

func (r *farmRun) writeFigures(w io.Writer) error {
	f := &r.figures
	_, err := fmt.Fprintf(w, "%-8s%s in %.1f s: %d made, %d found, %d skipped, %d failed\n", "farm", photos(int(f.Photos)), f.Seconds,
		f.Made, f.Found, f.Skipped, f.Dead+f.Refused)
	return err
}
