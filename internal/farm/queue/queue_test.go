package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
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
	if _, err := q.Cancel(ctx, farm.Hash("x")[:32]); !errors.As(err, new(*UnknownOrderError)) {
		t.Errorf("an order that is not there: %v", err)
	}
}

// TestWorkers: workers are listed while they speak; the fastest gives the pace.
func TestWorkers(t *testing.T) {
	s, q := serve(t, testPolicy())
	w := worker(t, Options{Server: s})
	ctx, o := t.Context(), putOrder(t, q)
	for _, c := range []struct{ own, want float64 }{{0, 0}, {4, 4}, {9, 4}, {2, 2}, {4, 2}} {
		got, err := w.Report(ctx, &Worker{Name: fmt.Sprint("w", c.own), Seconds: c.own, State: "working", Rooms: map[string]Room{o.ID(): {Largest: 2048, Least: map[int]int64{3072: int64(5e9 - 1e8*c.own)}}}})
		if err != nil || got != c.want {
			t.Errorf("own %v: %v, %v; want %v", c.own, got, err, c.want)
		}
	}
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 3, 1), nil); err != nil {
		t.Fatal(err)
	}
	now, err := q.Status(ctx)
	if err != nil || len(now.Workers) != 4 || now.Rate < 0.86 || now.Rate > 0.87 || len(now.TooLarge) != 1 || now.TooLarge[0] != (TooLarge{Order: o.ID(), Side: 3072, Photos: 3, Least: 4.1e9}) {
		t.Errorf("%+v, %v", now, err)
	}
	if err := w.Leave(ctx, "w9"); err != nil {
		t.Error(err)
	}
	if all, err := q.Workers(ctx); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestFiles(t *testing.T) {
	s, q := serve(t, testPolicy())
	w := worker(t, Options{Server: s})
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	data := strings.Repeat("weights ", 1<<16)
	if err := os.WriteFile(from, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, n, _ := store.SumOf(strings.NewReader(data))
	f := &farm.File{SHA256: sum, Bytes: n}
	for range 2 {
		if err := q.PutFile(t.Context(), from, &farm.File{SHA256: farm.Hash("x"), Bytes: maxFileBytes + 1}); !errors.As(err, new(*OptionError)) {
			t.Errorf("a file that is too large: %v", err)
		}
		if err := q.PutFile(t.Context(), from, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.GetFile(t.Context(), f, to); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(to); string(got) != data {
		t.Errorf("%d bytes came back", len(got))
	}
	os.Remove(to)
	f.SHA256 = farm.Hash("another")
	if err := w.GetFile(t.Context(), f, to); err == nil {
		t.Error("a file that nobody sent is there")
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("it is left there")
	}
}

// TestServeRefuses: what would let strangers in, a second server on the port or in the
// folder.
func TestServeRefuses(t *testing.T) {
	for _, address := range []string{":4222", "0.0.0.0:4222", "[::]:4222", "example.org:4222", "192.0.2.1:1", "x"} {
		var o *OptionError
		if _, err := Serve(t.Context(), ServerOptions{Dir: t.TempDir(), Policy: testPolicy(), Address: address}); !errors.As(err, &o) {
			t.Errorf("%s: %v", address, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	if _, err := Serve(t.Context(), ServerOptions{Dir: dir, Policy: testPolicy(), Address: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a port that is taken: %v", err)
	}
	s, err := Serve(t.Context(), ServerOptions{Dir: dir, Policy: testPolicy()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Serve(t.Context(), ServerOptions{Dir: dir, Policy: testPolicy()}); err == nil || !strings.Contains(err.Error(), "belongs to a server") {
		t.Errorf("a folder that is taken: %v", err)
	}
}

// freePort is a loopback address that nobody listens on.
func freePort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestParseUsers(t *testing.T) {
	_, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	_, other, _ := NewKey()
	_, third, _ := NewKey()
	got, err := ParseUsers([]byte("# farm\nadmin " + public + "\n\nworker " + other + " # one for all\nworker " + third + " lab-2"))
	if err != nil || !slices.Equal(got, []User{{Role: Admin, Key: public}, {Role: Computing, Key: other}, {Computing, third, "lab-2"}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "# none", "root " + public, "admin", "admin x", "admin " + public + " more", "worker " + public + " a.b", "worker " + public + " a b", "worker " + public + "\nadmin " + public, "worker " + public + " a\nworker " + other + " a"} {
		if got, err := ParseUsers([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzParseUsers(f *testing.F) {
	_, public, _ := NewKey()
	f.Add([]byte("admin " + public))
	f.Fuzz(func(t *testing.T, data []byte) {
		users, err := ParseUsers(data)
		if (err == nil) != (len(users) > 0) {
			t.Errorf("%q: %v, %v", data, users, err)
		}
	})
}
