package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/store"
)

// work takes a task to its end.
func (w *worker) work(ctx context.Context, l *queue.Lease) {
	w.mu.Lock()
	w.now[l.Photo] = true
	w.mu.Unlock()
	w.note(func(*queue.Worker) {})
	start := time.Now()
	r, found, err := w.result(ctx, l)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	dead, ended := false, errors.Is(err, queue.ErrEnded)
	var f *farm.Failure
	switch {
	case err == nil:
		if err := l.Done(last, r); err != nil && ctx.Err() == nil && !errors.Is(err, queue.ErrEnded) {
			w.Tell(fmt.Sprintf("%s: its result is published, but %v: another worker will find it", l.Photo, err))
		}
	case ended:
		f = &farm.Failure{Kind: farm.Cut, Class: farm.IO, Reason: err.Error()}
		l.Abandon()
		err = f
	case errors.As(err, &f) && f.Kind == given:
		dead, err = true, &farm.Failure{Kind: farm.Crashed, Class: f.Class, Reason: f.Reason, Log: f.Log}
	default:
		f = w.failure(ctx, l, err)
		var failed error
		if dead, failed = l.Fail(last, w.Name, f); failed != nil && ctx.Err() == nil && !errors.Is(failed, queue.ErrEnded) {
			w.Tell(fmt.Sprintf("%s: %v; and the queue does not know: %v", l.Photo, f, failed))
		}
		err = f
	}
	w.mu.Lock()
	delete(w.now, l.Photo)
	w.mu.Unlock()
	w.note(func(s *queue.Worker) { count(s, r, found, err, time.Since(start).Seconds()) })
	if w.Done != nil && (err == nil || dead) {
		w.Done(l.Task, r, found, err)
	}
	if err != nil && f != nil && f.Kind != farm.Stopped {
		after := "it is tried again"
		switch {
		case ended:
			after = "this worker leaves it"
		case dead:
			after = "it is given up"
		}
		w.Tell(fmt.Sprintf("%s: %v: %s", l.Photo, err, after))
	}
}

// given is the kind of a photo that was given up before it was begun.
const given farm.Kind = "given up"

// count takes the end of a task into the worker's figures.
func count(s *queue.Worker, r *farm.Receipt, found bool, err error, seconds float64) {
	switch {
	case err != nil:
		s.Failed++
	case found:
		s.Found++
	default:
		s.Made++
		if r.Seconds > 0 {
			seconds = r.Seconds
		}
		if s.Seconds == 0 {
			s.Seconds = seconds
		}
		s.Seconds += (seconds - s.Seconds) / 8
	}
}

// failure says what an error means for the photo.
func (w *worker) failure(ctx context.Context, l *queue.Lease, err error) *farm.Failure {
	var f *farm.Failure
	var unreached *queue.Error
	fail := func(kind farm.Kind, class farm.Class) *farm.Failure {
		return &farm.Failure{Kind: kind, Class: class, Reason: err.Error()}
	}
	switch {
	case ctx.Err() != nil:
		return &farm.Failure{Kind: farm.Stopped, Reason: "the worker was told to end"}
	case errors.Is(err, store.ErrFull):
		return w.noteFull(err.Error())
	case errors.Is(err, queue.ErrDisk):
		w.standStill("the queue's disk is full", err.Error()+": the worker waits")
		return fail(farm.Cut, farm.IO)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT): // of a copy on its way
		w.standStill("this worker's disk is full", err.Error()+": the worker waits for room on its own disk")
		return fail(farm.Full, farm.IO)
	case errors.Is(err, store.ErrUnavailable):
		w.standStill("the store cannot be used", err.Error()+": the worker waits")
		return fail(farm.Cut, farm.IO)
	case errors.As(err, &f):
		switch {
		case f.Kind == farm.Full:
			return w.noteFull(f.Reason)
		case f.Class == farm.Memory && w.beyond(l): // no other worker has more
			f.Kind = farm.Hopeless
		}
		return f
	case errors.As(err, &unreached):
		return fail(farm.Cut, farm.IO)
	case errors.As(err, new(*store.ConflictError)):
		return fail(farm.Hopeless, farm.Result)
	case errors.As(err, new(*store.TakenError)):
		return fail(farm.Hopeless, farm.Exists)
	}
	return fail(farm.Passing, farm.IO)
}

// beyond reports whether a photo is larger than the worker's planner has room for, so that it
// was taken as the last resort (Options.Accepts).
func (w *worker) beyond(l *queue.Lease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.orders[l.Order]
	return o != nil && o.refused == nil && l.Side > o.ability.Largest
}

// noteFull has the worker stand still for a while.
func (w *worker) noteFull(reason string) *farm.Failure {
	w.standStill("the store of results is full", reason+": the worker waits for room")
	return &farm.Failure{Kind: farm.Full, Class: farm.IO, Reason: reason}
}

// standStill has the worker take no photo for a while, and says so once.
func (w *worker) standStill(why, tell string) {
	w.mu.Lock()
	first := w.full.IsZero()
	w.full, w.why = time.Now(), why
	w.mu.Unlock()
	if first {
		w.Tell(tell)
	}
}

// noteRoom ends that.
func (w *worker) noteRoom() {
	w.mu.Lock()
	was := !w.full.IsZero()
	w.full = time.Time{}
	w.mu.Unlock()
	if was {
		w.Tell("the worker goes on")
	}
}

// result finds a task's result or makes it, and gives the output its name.
func (w *worker) result(ctx context.Context, l *queue.Lease) (r *farm.Receipt, found bool, err error) {
	o := w.order(ctx, l.Order)
	if o.refused != nil {
		return nil, false, o.refused
	}
	if n, err := w.Store.Named(ctx, l.Output); err == nil && n != nil && n.Of(l.Task, o.Order) {
		if r, err := w.Store.Receipt(ctx, n.Key); err == nil && r != nil { // the same submission, once more
			return r, true, nil
		}
	}
	if l.Suspected {
		w.alone.Lock()
		defer w.alone.Unlock()
	} else {
		w.alone.RLock()
		defer w.alone.RUnlock()
	}
	if f, err := l.Begin(ctx, w.Name); err != nil {
		return nil, false, err
	} else if f != nil {
		return nil, false, &farm.Failure{Kind: given, Class: f.Class, Reason: f.Reason, Log: f.Log}
	}
	p, err := w.Photos.Fetch(ctx, l.Task)
	if err != nil {
		return nil, false, photoFailure(err)
	}
	defer p.Done()
	facts := farm.Facts{Photo: p.SHA256, Model: o.ability.Model, Look: o.Look(), Generation: o.ability.Generation, Class: o.ability.Class}
	release, err := w.only(ctx, facts.Key())
	if err != nil {
		return nil, false, err
	}
	defer release()
	if r, err = w.Store.Receipt(ctx, facts.Key()); err != nil {
		return nil, false, err
	}
	if found = r != nil; !found {
		if r, err = w.make(ctx, l, o, p); err != nil {
			return nil, false, err
		}
	}
	if err := w.Store.Name(ctx, l.Task, r, o.Replace); err != nil {
		return nil, false, err
	}
	w.noteRoom()
	return r, found, nil
}

// only waits until this worker makes no other photo with the same result. Workers do not
// wait for each other: where two make it at a time it is published once.
func (w *worker) only(ctx context.Context, key farm.Key) (release func(), err error) {
	for {
		w.mu.Lock()
		other := w.making[key]
		if other == nil {
			done := make(chan struct{})
			w.making[key] = done
			w.mu.Unlock()
			return func() {
				w.mu.Lock()
				delete(w.making, key)
				w.mu.Unlock()
				close(done)
			}, nil
		}
		w.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// make makes a picture and publishes it.
func (w *worker) make(ctx context.Context, l *queue.Lease, o *order, p *Photo) (*farm.Receipt, error) {
	picture, err := w.Store.Scratch(o.Extension)
	if err != nil {
		return nil, err
	}
	defer os.Remove(picture)
	made, err := w.Maker.Make(ctx, &Request{Flags: o.flags, Root: p.Root, Photo: p.Name, Picture: picture})
	if err != nil {
		return nil, err
	}
	if p.Changed() {
		return nil, &farm.Failure{Kind: farm.Passing, Class: farm.IO, Reason: "the photo changed while it was read"}
	}
	f, err := os.Open(picture)
	if err != nil {
		return nil, err
	}
	sum, n, err := store.SumOf(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	r := &farm.Receipt{
		Photo: p.SHA256, Picture: sum, Bytes: n, Extension: o.Extension, Source: l.Photo, Order: *o.Order,
		Model: o.ability.Model, Generation: o.ability.Generation, Class: o.ability.Class, Device: o.ability.Device, Program: o.ability.Program,
		Worker: w.Name, Made: time.Now().UTC().Format(time.RFC3339), Seconds: made.Seconds, PeakDevice: made.PeakDevice, PeakHost: made.PeakHost,
	}
	r.Complete()
	first, err := w.Store.Publish(ctx, picture, r)
	if err != nil {
		return nil, err
	}
	if !first {
		w.note(func(s *queue.Worker) { s.Twice++ })
		return w.Store.Receipt(ctx, r.Key)
	}
	return r, nil
}

// photoFailure says whether a photo that cannot be read may be readable later.
func photoFailure(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errNotRegular) {
		return &farm.Failure{Kind: farm.Hopeless, Class: farm.IO, Reason: err.Error()}
	}
	return err
}

// Flags are an order's settings as flags. file gives the path of a file that a setting
// names.
func Flags(o *farm.Order, check func(*farm.Setting) error, file func(*farm.File) (string, error)) (flags []string, err error) {
	for i := range o.Settings {
		s := &o.Settings[i]
		if err := check(s); err != nil {
			return nil, &farm.Failure{Kind: farm.Hopeless, Class: farm.Option, Reason: err.Error()}
		}
		value := s.Value
		if s.File != nil {
			if value, err = file(s.File); err != nil {
				return nil, err
			}
		}
		flags = append(flags, "--"+s.Name+"="+value)
	}
	return flags, nil
}

// flags are those of an order, with its files fetched.
func (w *worker) flags(ctx context.Context, o *farm.Order) ([]string, error) {
	return Flags(o, w.Check, func(f *farm.File) (string, error) {
		path := FileName(w.Files, f)
		if f.Beside == nil {
			return path, w.fetch(ctx, f, path)
		}
		return path, errors.Join(w.fetch(ctx, f.Beside, path+".json"), w.fetch(ctx, f, path))
	})
}

// FileName is where in a folder a file that a setting names is kept. The same file may have
// another description in another order.
func FileName(dir string, f *farm.File) string {
	name := f.SHA256
	if f.Beside != nil {
		name = farm.Hash(f.SHA256, f.Beside.SHA256)
	}
	return filepath.Join(dir, name+f.Extension)
}

// fetch gets a file that a setting names, unless it is there.
func (w *worker) fetch(ctx context.Context, f *farm.File, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := filepath.Join(w.Files, "part")
	os.Remove(part)
	if err := w.Queue.GetFile(ctx, f, part); err != nil {
		return err
	}
	return os.Rename(part, path)
}
