package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/store"
)

func TestSuccess(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a", "b", "c")
	m := &fakeMaker{}
	told := f.worker("w", m, nil)()
	f.check(0, "a", "b", "c")
	for _, name := range f.photoNames {
		e := told[name]
		if e == nil || e.failure != nil || e.found || e.receipt == nil || e.receipt.Source != name || e.receipt.Worker != "w" || m.made(name) != 1 {
			t.Errorf("%s: %+v, made %d times", name, e, m.made(name))
		}
	}
	// Submitted again, the results are found, and nothing is made.
	f.submit(0)
	told = f.worker("w", m, nil)()
	f.check(0, "a", "b", "c")
	for _, name := range f.photoNames {
		if e := told[name]; e == nil || !e.found || m.made(name) != 1 {
			t.Errorf("%s: %+v, made %d times", name, e, m.made(name))
		}
	}
}

// TestFound: a result that is there under its key gets the output's name, though nobody
// named it.
func TestFound(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	f.worker("w", &fakeMaker{}, nil)()
	if err := errors.Join(os.Remove(filepath.Join(f.to, "a.png")), os.RemoveAll(filepath.Join(f.to, farm.Folder, "names"))); err != nil {
		t.Fatal(err)
	}
	f.submit(0)
	m := &fakeMaker{}
	if told := f.worker("w", m, nil)(); told["a"] == nil || !told["a"].found || m.made("a") != 0 {
		t.Errorf("%+v, made %d times", told["a"], m.made("a"))
	}
	f.check(0, "a")
}

// TestFailures: what each kind of failure does to the photo, and that another photo is made
// all the same.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		failure farm.Failure
		made    int // how often it is tried
		dead    bool
	}{
		{farm.Failure{Kind: farm.Hopeless, Class: farm.Input, Reason: "no photo"}, 1, true},
		{farm.Failure{Kind: farm.Passing, Class: farm.Device, Reason: "busy"}, 2, true},
		{farm.Failure{Kind: farm.Crashed, Class: farm.Device, Reason: "signal: killed", Log: "last words"}, 2, true},
		{farm.Failure{Kind: farm.Passing, Class: farm.Memory, Reason: "too small"}, 2, true},
	} {
		t.Run(string(c.failure.Kind)+" "+string(c.failure.Class), func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, "bad", "good")
			m := &fakeMaker{make: func(_ context.Context, r *Request) error {
				if r.Photo == "bad" {
					failure := c.failure
					return &failure
				}
				return nil
			}}
			told := f.worker("w", m, nil)()
			f.check(1, "good")
			e := told["bad"]
			if m.made("bad") != c.made || e == nil || e.failure == nil || e.failure.Class != c.failure.Class || !strings.Contains(e.failure.Reason, c.failure.Reason) {
				t.Errorf("made %d times, %+v", m.made("bad"), e)
			}
		})
	}
}

// TestFull: while the store is full a photo is not to blame; later it is made.
func TestFull(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	m := &fakeMaker{}
	m.make = func(context.Context, *Request) error {
		if m.made("a") <= 1 {
			return &farm.Failure{Kind: farm.Full, Class: farm.IO, Reason: "no space left on device"}
		}
		return nil
	}
	f.worker("w", m, nil)()
	f.check(0, "a")
}

// TestSlow: a maker that needs longer than the lease keeps its photo.
func TestSlow(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	slow := &fakeMaker{make: func(context.Context, *Request) error { time.Sleep(3500 * time.Millisecond); return nil }}
	other := &fakeMaker{}
	end := f.worker("slow", slow, nil)
	for slow.made("a") == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	f.worker("other", other, nil)()
	end()
	f.check(0, "a")
	if slow.made("a") != 1 || other.made("a") != 0 {
		t.Errorf("made %d and %d times", slow.made("a"), other.made("a"))
	}
}

// TestTwice: a worker that is cut off goes on computing, and another computes the same photo
// meanwhile. The result is there once.
func TestTwice(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	began, goOn := make(chan struct{}), make(chan struct{})
	first := &fakeMaker{make: func(context.Context, *Request) error { close(began); <-goOn; return nil }}
	var connection *queue.Client
	endFirst := f.worker("first", first, func(o *Options) { connection, o.UntilIdle = o.Queue, false })
	<-began
	connection.Close()
	second := &fakeMaker{}
	told := f.worker("second", second, nil)()
	if second.made("a") != 1 || told["a"] == nil || told["a"].failure != nil {
		t.Fatalf("made %d times by the second: %+v", second.made("a"), told["a"])
	}
	close(goOn)
	for first.made("a") == 1 { // until it has published, or given up
		if entries, err := os.ReadDir(filepath.Join(f.to, farm.Folder, "making")); err == nil && len(entries) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	endFirst()
	f.check(0, "a")
	results := 0
	if _, err := f.store.Receipts(t.Context(), func(r *farm.Receipt) bool { results++; return r.Worker == "second" }); err != nil || results != 1 {
		t.Errorf("%d results, %v", results, err)
	}
}

// TestConflict: a second result with other bytes is refused and named.
func TestConflict(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	began, goOn := make(chan struct{}), make(chan struct{})
	lost := &fakeMaker{make: func(context.Context, *Request) error { close(began); <-goOn; return nil }}
	told := make(chan *ended, 1)
	end := f.worker("first", lost, func(o *Options) {
		o.Done = func(_ *farm.Task, _ *farm.Receipt, _ bool, err error) {
			e := &ended{}
			errors.As(err, &e.failure)
			told <- e
		}
	})
	<-began
	// Another worker publishes other bytes under the same key.
	path, err := f.store.Scratch(".png")
	if err == nil {
		err = os.WriteFile(path, []byte("other"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &farm.Receipt{Photo: sumOf(t, "a"), Picture: sumOf(t, "other"), Bytes: 5, Extension: ".png", Source: "a", Order: *f.order, Model: farm.Hash("model"),
		Generation: "g", Class: "c", Device: "d", Program: "p", Worker: "second", Made: "2026-11-22T09:00:00Z"}
	r.Complete()
	if first, err := f.store.Publish(t.Context(), path, r); !first || err != nil {
		t.Fatal(first, err)
	}
	close(goOn)
	if e := <-told; e.failure == nil || e.failure.Class != farm.Result || e.failure.Kind != farm.Hopeless {
		t.Errorf("%+v", e.failure)
	}
	end()
	f.check(1)
}

func sumOf(t *testing.T, text string) string {
	t.Helper()
	sum, _, err := store.SumOf(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestTaken: an output whose name another file has is named, and the file stays.
func TestTaken(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	name := filepath.Join(f.to, "a.png")
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := f.worker("w", &fakeMaker{}, nil)()
	if e := told["a"]; e == nil || e.failure == nil || e.failure.Class != farm.Exists {
		t.Errorf("%+v", e)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q, %v", data, err)
	}
}

// TestGone: a photo that is not there is given up at once; one that changes while it is
// read is tried again.
func TestGone(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "gone", "changes")
	if err := os.Remove(filepath.Join(f.photos, "gone")); err != nil {
		t.Fatal(err)
	}
	m := &fakeMaker{}
	m.make = func(context.Context, *Request) error {
		if m.made("changes") > 1 {
			return nil
		}
		return os.WriteFile(filepath.Join(f.photos, "changes"), []byte("changes while it is read"), 0o600)
	}
	told := f.worker("w", m, nil)()
	if e := told["gone"]; e == nil || e.failure == nil || e.failure.Class != farm.IO || m.made("gone") != 0 {
		t.Errorf("%+v, made %d times", e, m.made("gone"))
	}
	if e := told["changes"]; e == nil || e.failure != nil || e.receipt.Photo != sumOf(t, "changes while it is read") {
		t.Errorf("%+v", e)
	}
}

// TestLockedOut: a worker whose connection does not come back ends and says why. What it made is published.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	var q *queue.Client
	m := &fakeMaker{make: func(context.Context, *Request) error { q.Close(); return nil }}
	f.worker("w", m, func(o *Options) { q = o.Queue })()
	if !errors.As(f.last, new(*queue.Error)) {
		t.Errorf("the worker ends with %v", f.last)
	}
	m = &fakeMaker{}
	if told := f.worker("x", m, nil)(); told["a"] == nil || !told["a"].found || m.made("a") != 0 {
		t.Errorf("%+v, made %d times", told["a"], m.made("a"))
	}
	f.check(0, "a")
}

// TestCancelled: what an order that is cancelled has in work is finished, and nothing else is
// begun.
func TestCancelled(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a", "b", "c", "d", "e", "f")
	began, goOn := make(chan struct{}, 9), make(chan struct{})
	m := &fakeMaker{make: func(context.Context, *Request) error { began <- struct{}{}; <-goOn; return nil }}
	end := f.worker("w", m, nil)
	<-began
	<-began
	if n, err := f.queue.Cancel(t.Context(), f.order.ID()); n == 0 || err != nil {
		t.Errorf("%d cancelled, %v", n, err)
	}
	close(goOn)
	end()
	m.mu.Lock()
	f.check(0, m.calls...)
	if len(m.calls) != 2 {
		t.Errorf("%q were made", m.calls)
	}
	m.mu.Unlock()
}

// TestStopped: what a worker has in work when it is told to end goes to another at once, and
// the photo is not to blame.
func TestStopped(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a", "b", "c")
	began := make(chan struct{}, 9)
	stopped := &fakeMaker{make: func(ctx context.Context, _ *Request) error {
		began <- struct{}{}
		<-ctx.Done()
		return &farm.Failure{Kind: farm.Stopped, Reason: "stopped"}
	}}
	end := f.worker("stopped", stopped, func(o *Options) { o.UntilIdle = false })
	<-began
	if told := end(); len(told) != 0 {
		t.Errorf("%+v", told)
	}
	l, err := f.client().TakeNow(t.Context(), func(queue.Offer) bool { return true })
	if err != nil || l == nil || l.Suspected {
		t.Fatalf("%+v, %v", l, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	f.worker("w", &fakeMaker{}, nil)()
	f.check(0, "a", "b", "c")
}

// TestRefusedOrder: a worker that cannot work for an order says so once and takes none of its
// photos.
func TestRefusedOrder(t *testing.T) {
	for name, c := range map[string]struct {
		maker *fakeMaker
		check error
		want  string
	}{
		"maker":   {&fakeMaker{open: func([]string) error { return errors.New("no such model") }}, nil, "no such model"},
		"setting": {&fakeMaker{}, errors.New("no such setting"), "no such setting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, "a")
			var refusals []error
			f.worker("w", c.maker, func(o *Options) {
				o.Check = func(*farm.Setting) error { return c.check }
				o.Refused = func(err error) { refusals = append(refusals, err) }
			})()
			if len(refusals) != 1 || refusals[0].Error() != c.want || c.maker.made("a") != 0 {
				t.Errorf("%v, made %d times", refusals, c.maker.made("a"))
			}
			if e := (*RefusalError)(nil); !errors.As(f.last, &e) || e.Err.Error() != c.want {
				t.Errorf("the worker ends with %v", f.last)
			}
		})
	}
}

// TestTooLarge: a worker takes no photos that it has no room for, says so, and reports what
// they need; as the last resort it tries, and what it says is final.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	f := newFarm(t)
	f.photoNames = []string{"a"}
	if err := os.WriteFile(filepath.Join(f.photos, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.submit(4)
	side := farm.Sides[4]
	room := queue.Room{Largest: farm.Sides[3], Least: map[int]int64{side: 3 << 30}}
	m := &fakeMaker{room: room}
	var told []string
	var mu sync.Mutex
	end := f.worker("small", m, func(o *Options) {
		o.UntilIdle = false
		o.Tell = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
		}
	})
	var s *queue.Status
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var err error
		if s, err = f.queue.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.TooLarge) > 0 {
			break
		}
	}
	if want := (queue.TooLarge{Order: f.order.ID(), Side: side, Photos: 1, Least: 3 << 30}); !slices.Equal(s.TooLarge, []queue.TooLarge{want}) {
		t.Errorf("too large are %+v, want %+v", s.TooLarge, want)
	}
	end()
	f.worker("idle", m, nil)()
	if e := (*farm.Failure)(nil); !errors.As(f.last, &e) || e.Class != farm.Memory {
		t.Errorf("a worker with nothing to do ends with %v", f.last)
	}
	mu.Lock()
	if len(told) != 1 || !strings.Contains(told[0], fmt.Sprint("--mem ", 3<<30)) {
		t.Errorf("told %q", told)
	}
	mu.Unlock()
	m.make = func(context.Context, *Request) error {
		return &farm.Failure{Kind: farm.Passing, Class: farm.Memory, Reason: "it needs 3 GiB"}
	}
	ends := f.worker("last", m, func(o *Options) { o.Accepts = func(*queue.Room, int) bool { return true } })()
	if e := ends["a"]; e == nil || e.failure == nil || e.failure.Class != farm.Memory || m.made("a") != 1 {
		t.Errorf("%+v, made %d times", e, m.made("a"))
	}
	if errors.As(f.last, new(*RefusalError)) {
		t.Errorf("a worker that tried ends with %v", f.last)
	}
	f.check(1)
}
