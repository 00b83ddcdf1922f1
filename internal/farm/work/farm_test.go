package work

import (
	"context"
	"errors"
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

// fakeMaker makes a picture of a photo's bytes in capital letters, unless make says otherwise.
type fakeMaker struct {
	room queue.Room
	open func(flags []string) error
	make func(ctx context.Context, r *Request) error

	mu    sync.Mutex
	calls []string // photos
}

func (m *fakeMaker) Open(_ context.Context, flags []string) (*Ability, error) {
	if m.open != nil {
		if err := m.open(flags); err != nil {
			return nil, err
		}
	}
	a := &Ability{Model: farm.Hash("model"), Generation: "g", Class: "c", Device: "d", Program: "p", Room: m.room}
	if a.Largest == 0 {
		a.Largest = farm.Sides[len(farm.Sides)-1]
	}
	return a, nil
}

func (m *fakeMaker) Make(ctx context.Context, r *Request) (*Made, error) {
	m.mu.Lock()
	m.calls = append(m.calls, r.Photo)
	m.mu.Unlock()
	if m.make != nil {
		if err := m.make(ctx, r); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(filepath.Join(r.Root, r.Photo))
	if err == nil {
		err = os.WriteFile(r.Picture, []byte(strings.ToUpper(string(data))), 0o600)
	}
	return &Made{Seconds: 0.01}, err
}

func (m *fakeMaker) Close() error { return nil }

// made is how often the maker was asked for a photo.
func (m *fakeMaker) made(photo string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.calls {
		if p == photo {
			n++
		}
	}
	return n
}

// testFarm is a farm in this process.
type testFarm struct {
	*testing.T
	server     *queue.Server
	queue      *queue.Queue
	store      *store.Dir
	order      *farm.Order
	photos, to string
	photoNames []string
	last       error // what the last worker ended with
}

// newFarm has photos submitted, each of which contains its name.
func newFarm(t *testing.T, photos ...string) *testFarm {
	t.Helper()
	s, err := queue.Serve(t.Context(), queue.ServerOptions{Dir: t.TempDir(), Policy: farm.Policy{Lease: time.Second, Attempts: 2, Queue: 100}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := &testFarm{T: t, server: s, photos: t.TempDir(), to: t.TempDir(), photoNames: photos}
	if f.queue, err = queue.Connect(t.Context(), queue.Options{Server: s}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.queue.Close)
	if f.store, err = store.OpenDir(f.to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.store.Close() })
	if f.order, err = farm.NewOrder([]farm.Setting{{Name: "tone", Value: "linear"}}, ".png", false); err != nil {
		t.Fatal(err)
	}
	for _, name := range photos {
		if err := os.WriteFile(filepath.Join(f.photos, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.submit(0)
	return f
}

func (f *testFarm) submit(class int) {
	f.Helper()
	err := f.queue.PutOrder(f.Context(), f.order)
	if err == nil {
		_, err = f.queue.Submit(f.Context(), f.order.ID(), func(yield func(queue.Sized) bool) {
			for _, name := range f.photoNames {
				t, err := farm.NewTask(f.order.ID(), name, name+".png")
				if err != nil || !yield(queue.Sized{Task: t, Class: class}) {
					return
				}
			}
		}, nil)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// client joins the farm.
func (f *testFarm) client() *queue.Client {
	f.Helper()
	c, err := queue.Join(f.Context(), queue.Options{Server: f.server})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	return c
}

// worker runs a worker. end ends it and gives what it told of each photo.
func (f *testFarm) worker(name string, m Maker, change func(o *Options)) (end func() map[string]*ended) {
	f.Helper()
	photos, err := OpenFolder(f.photos)
	if err != nil {
		f.Fatal(err)
	}
	told := map[string]*ended{}
	var mu sync.Mutex
	o := Options{
		Name: name, Queue: f.client(), Store: f.store, Photos: photos, Maker: m, Files: f.TempDir(), UntilIdle: true,
		Check: func(s *farm.Setting) error { return nil },
		Tell:  func(text string) { f.Logf("%s: %s", name, text) },
		Done: func(t *farm.Task, r *farm.Receipt, found bool, err error) {
			mu.Lock()
			defer mu.Unlock()
			e := &ended{receipt: r, found: found}
			errors.As(err, &e.failure)
			told[t.Photo] = e
		},
	}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithTimeout(f.Context(), 30*time.Second)
	gone := make(chan error, 1)
	go func() { gone <- Run(ctx, o) }()
	return func() map[string]*ended {
		if !o.UntilIdle {
			stop()
		}
		err := <-gone
		if err != nil {
			f.Logf("%s ends with %v", name, err)
		}
		if ctx.Err() != nil && o.UntilIdle {
			f.Errorf("%s did not end", name)
		}
		stop()
		mu.Lock()
		defer mu.Unlock()
		f.last = err
		return told
	}
}

// ended is what became of a photo.
type ended struct {
	receipt *farm.Receipt
	found   bool
	failure *farm.Failure
}

// check wants pictures of photos and of no others, and so many photos given up, and an empty
// queue.
func (f *testFarm) check(dead int64, photos ...string) {
	f.Helper()
	for _, name := range f.photoNames {
		data, err := os.ReadFile(filepath.Join(f.to, name+".png"))
		switch {
		case !slices.Contains(photos, name):
			if err == nil {
				f.Errorf("%s has a picture", name)
			}
		case err != nil || string(data) != strings.ToUpper(name):
			f.Errorf("%s is %q, %v", name, data, err)
		}
	}
	s, err := f.queue.Status(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	var left, gone int64
	for _, o := range s.Orders {
		left, gone = left+o.Waiting+o.Running, gone+o.Dead
	}
	if left != 0 || gone != dead {
		f.Errorf("%d are left and %d given up, want 0 and %d", left, gone, dead)
	}
}
