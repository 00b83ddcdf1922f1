package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/internal/farm"
)

// serve starts a server in this process and joins it.
func serve(t testing.TB, p farm.Policy) (*Server, *Queue) {
	t.Helper()
	s, err := Serve(t.Context(), ServerOptions{Dir: t.TempDir(), Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, join(t, Options{Server: s})
}

func join(t testing.TB, o Options) *Queue {
	t.Helper()
	q, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// worker joins as a worker.
func worker(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := Join(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// receiptOf is a receipt of a lease's result.
func receiptOf(t testing.TB, c *Client, l *Lease) *farm.Receipt {
	t.Helper()
	o, err := c.Order(t.Context(), l.Order)
	if err != nil {
		t.Fatal(err)
	}
	h := farm.Hash
	r := &farm.Receipt{Photo: h("photo"), Picture: h("picture"), Bytes: 7, Extension: o.Extension, Source: l.Photo, Order: *o, Model: h("model"),
		Generation: "g", Class: "c", Device: "d", Program: "p", Worker: "w", Made: "2026-11-22T09:00:00Z"}
	r.Complete()
	return r
}

// done ends a lease with a receipt.
func done(t testing.TB, c *Client, l *Lease) error {
	t.Helper()
	return l.Done(t.Context(), receiptOf(t, c, l))
}

func putOrder(t testing.TB, q *Queue) *farm.Order {
	t.Helper()
	o, err := farm.NewOrder([]farm.Setting{{Name: "tone", Value: "linear"}}, ".png", false)
	if err == nil {
		err = q.PutOrder(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// photos are n tasks of a size class.
func photos(order string, n, class int) iter.Seq[Sized] {
	return func(yield func(Sized) bool) {
		for i := range n {
			task, err := farm.NewTask(order, fmt.Sprintf("%d/%d.dng", class, i), fmt.Sprintf("%d/%d.png", class, i))
			if err != nil || !yield(Sized{task, class}) {
				return
			}
		}
	}
}

func take(t testing.TB, q *Client, classes ...int) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := q.Take(ctx, of(classes), false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// of accepts the offers of some size classes.
func of(classes []int) func(Offer) bool {
	return func(o Offer) bool { return slices.Contains(classes, o.Class) }
}

func none(t testing.TB, q *Client, classes ...int) {
	t.Helper()
	if l, err := q.TakeNow(t.Context(), of(classes)); l != nil || err != nil {
		t.Errorf("there is %+v, %v", l, err)
	}
}

func testPolicy() farm.Policy {
	p := farm.DefaultPolicy()
	p.Lease = 2 * time.Second
	return p
}

// TestQueue: tasks are submitted twice and worked off once; workers are given no photos of
// other size classes.
func TestQueue(t *testing.T) {
	s, q := serve(t, testPolicy())
	w := worker(t, Options{Server: s})
	ctx, o := t.Context(), putOrder(t, q)
	for try, want := range []Submitted{{Accepted: 7}, {Duplicates: 7}} {
		got, err := q.Submit(ctx, o.ID(), photos(o.ID(), 7, 1), nil)
		if err != nil || got != want {
			t.Errorf("submission %d: %+v, %v", try, got, err)
		}
		if err := q.SetTotal(ctx, o.ID(), 7); err != nil {
			t.Fatal(err)
		}
	}
	none(t, w, 0)
	seen := map[string]bool{}
	for range 7 {
		l := take(t, w, 0, 1)
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if got, err := w.Order(ctx, l.Order); err != nil || got.ID() != o.ID() {
			t.Fatalf("%+v, %v", got, err)
		}
		if seen[l.Photo] {
			t.Errorf("%s was leased twice", l.Photo)
		}
		seen[l.Photo] = true
		if err := done(t, w, l); err != nil {
			t.Error(err)
		}
	}
	none(t, w, 0, 1)
	now, err := q.Status(ctx)
	if err != nil || len(now.Orders) != 1 || now.Orders[0] != (OrderStatus{ID: o.ID(), Photos: 7, Done: 7}) || now.Running != 0 {
		t.Errorf("%+v, %v", now, err)
	}
	if left, err := q.begun.ListKeys(ctx); err != nil {
		t.Error(err)
	} else {
		for key := range left.Keys() {
			t.Errorf("the attempts of %s are still noted", key)
		}
	}
}

// TestLease: a lease that is renewed lasts; one that is not goes to another worker, and
// what the first says afterwards does no harm.
func TestLease(t *testing.T) {
	s, q := serve(t, testPolicy())
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	w := worker(t, Options{Server: s})
	first := take(t, w, 0)
	if f, err := first.Begin(ctx, "first"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	time.Sleep(5 * time.Second)
	none(t, w, 0)
	first.stop() // as a worker that was stopped
	other := worker(t, Options{Server: s})
	second := take(t, other, 0)
	if !second.Suspected || second.Deliveries != 2 {
		t.Errorf("suspected %v after %d deliveries", second.Suspected, second.Deliveries)
	}
	if f, err := second.Begin(ctx, "second"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if err := done(t, w, first); err != nil {
		t.Logf("the late worker is told: %v", err)
	}
	if err := done(t, other, second); err != nil {
		t.Logf("the other worker is told: %v", err)
	}
	none(t, w, 0)
}

// TestDead: a photo that three workers began and did not finish is given up with reasons
// and log; one that is hopeless at once; retry gives them a clean record.
func TestDead(t *testing.T) {
	p := testPolicy()
	s, q := serve(t, p)
	w := worker(t, Options{Server: s})
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 2, 0), nil); err != nil {
		t.Fatal(err)
	}
	for range p.Attempts {
		l := take(t, w, 0)
		for l.Photo != "0/0.dng" {
			if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
				t.Fatal(f, err)
			}
			if dead, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Hopeless, Reason: "no photo"}); !dead || err != nil {
				t.Error(dead, err)
			}
			l = take(t, w, 0)
		}
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if _, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Crashed, Reason: "signal: killed", Log: "last words"}); err != nil {
			t.Error(err)
		}
	}
	none(t, w, 0)
	reasons := map[string]farm.Failure{}
	collect := func() int {
		clear(reasons)
		if err := q.DeadOf(ctx, o.ID(), func(_ uint64, d *Dead) bool { reasons[d.Task.Photo] = d.Failure; return true }); err != nil {
			t.Fatal(err)
		}
		return len(reasons)
	}
	if collect() != 2 || reasons["0/1.dng"].Reason != "no photo" || reasons["0/0.dng"].Kind != farm.Crashed || !strings.Contains(reasons["0/0.dng"].Log, "last words") {
		t.Errorf("the dead are %+v", reasons)
	}
	if n, err := q.Retry(ctx, o.ID()); n != 2 || err != nil || collect() != 0 {
		t.Errorf("%d again, %v, and %d are dead", n, err, len(reasons))
	}
	for range 2 {
		l := take(t, w, 0)
		if l.Suspected {
			t.Errorf("%s: suspected", l.Photo)
		}
		// A full disk and an end of the worker are no fault of the photo's.
		for range 2 * p.Attempts {
			if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
				t.Fatal(f, err)
			}
			if dead, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Stopped, Reason: "interrupted"}); dead || err != nil {
				t.Fatal(dead, err)
			}
			l = take(t, w, 0)
		}
		if err := done(t, w, l); err != nil {
			t.Error(err)
		}
	}
	none(t, w, 0)
}

// TestUnlist: a photo that is given up once more while it is submitted again stays on the list, and the others are
// submitted.
func TestUnlist(t *testing.T) {
	_, q := serve(t, testPolicy())
	ctx, o := t.Context(), putOrder(t, q)
	dead, err := q.js.Stream(ctx, deadStream)
	if err != nil {
		t.Fatal(err)
	}
	var entries []uint64
	for one := range photos(o.ID(), 1, 0) {
		list := func() (n int) {
			if err := q.DeadOf(ctx, "", func(entry uint64, _ *Dead) bool { entries = append(entries, entry); n++; return true }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for range 2 {
			if err := q.bury(ctx, o.ID(), one.ID(), &Dead{Task: one.Task}); err != nil {
				t.Fatal(err)
			}
			list()
		}
		for i, want := range []int{1, 0, 0} {
			if err := unlist(ctx, dead, entries[min(i, 1)], one.Task); err != nil {
				t.Error(err)
			}
			if n := list(); n != want {
				t.Errorf("%d are given up, want %d", n, want)
			}
		}
	}
}

// TestFullQueue: a submitter waits where the queue is full, and goes on.
func TestFullQueue(t *testing.T) {
	p := testPolicy()
	p.Queue = 5
	s, q := serve(t, p)
	w := worker(t, Options{Server: s})
	ctx, o := t.Context(), putOrder(t, q)
	type end struct {
		Submitted
		error
	}
	ended := make(chan end, 1)
	go func() {
		s, err := q.Submit(ctx, o.ID(), photos(o.ID(), 12, 0), nil)
		ended <- end{s, err}
	}()
	for range 12 {
		if info, err := q.tasks.Info(ctx); err != nil || info.State.Msgs > 5 {
			t.Errorf("%+v, %v", info, err)
		}
		if err := done(t, w, take(t, w, 0)); err != nil {
			t.Error(err)
		}
	}
	if s := <-ended; s.error != nil || s.Accepted != 12 || !s.Waited {
		t.Errorf("%+v", s)
	}
}

// TestStray: what is no task is named and blocks nothing.
func TestStray(t *testing.T) {
	s, q := serve(t, testPolicy())
	w := worker(t, Options{Server: s})
	ctx, o := t.Context(), putOrder(t, q)
	if err := q.offer(ctx, Offer{o.ID(), 0}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hello", `{"version":1,"order":"x"}`, ""} {
		if _, err := q.js.Publish(ctx, taskSubject(0, o.ID()), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	if err := done(t, w, take(t, w, 0)); err != nil {
		t.Error(err)
	}
	if s, err := q.Status(ctx); err != nil || s.Strays != 3 || s.Running != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCancel(t *testing.T) {
	s, q := serve(t, testPolicy())
	w := worker(t, Options{Server: s})
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 9, 2), nil); err != nil {
		t.Fatal(err)
	}
	l := take(t, w, 2)
	if n, err := q.Cancel(ctx, o.ID()); n != 9 || err != nil {
		t.Errorf("%d cancelled, %v", n, err)
	}
	none(t, w, 0, 1, 2)
	done(t, w, l)
	if s, err := q.Status(ctx); err != nil || len(s.Orders) != 1 || s.Orders[0] != (OrderStatus{ID: o.ID(), Photos: 9, Taken: 9, Cancelled: true}) {
		t.Errorf("cancelled: %+v, %v", s, err)
	}
	// An order of which some are done says so though it is cancelled, and though that is said twice.
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 9, 2), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.PutOrder(ctx, o), q.SetTotal(ctx, o.ID(), 9)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := done(t, w, take(t, w, 2)); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []int64{7, 0} {
		if n, err := q.Cancel(ctx, o.ID()); n != want || err != nil {
			t.Errorf("%d cancelled, %v", n, err)
		}
		if s, err := q.Status(ctx); err != nil || len(s.Orders) != 1 || s.Orders[0] != (OrderStatus{ID: o.ID(), Photos: 9, Done: 2, Taken: 7, Cancelled: true}) {
			t.Errorf("2 done, 7 cancelled: %+v, %v", s, err)
		}
	}
	if _, err := q.Cancel(ctx, farm.Hash("x")[:32]); !errors.As(err, new(*UnknownOrderError)) {
		t.Errorf("an order that is not there: %v", err)
	}
}
