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
	if err == nil {
		err = q.Follow(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
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

func take(t testing.TB, q *Queue, classes ...int) *Lease {
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

func none(t testing.TB, q *Queue, classes ...int) {
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
	_, q := serve(t, testPolicy())
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
	none(t, q, 0)
	seen := map[string]bool{}
	for range 7 {
		l := take(t, q, 0, 1)
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if got, err := q.Order(ctx, l.Order); err != nil || got.ID() != o.ID() {
			t.Fatalf("%+v, %v", got, err)
		}
		if seen[l.Photo] {
			t.Errorf("%s was leased twice", l.Photo)
		}
		seen[l.Photo] = true
		if err := l.Done(ctx); err != nil {
			t.Error(err)
		}
	}
	none(t, q, 0, 1)
	s, err := q.Status(ctx)
	if err != nil || len(s.Orders) != 1 || s.Orders[0] != (OrderStatus{ID: o.ID(), Photos: 7, Done: 7}) || s.Running != 0 {
		t.Errorf("%+v, %v", s, err)
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
	first := take(t, q, 0)
	if f, err := first.Begin(ctx, "first"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	time.Sleep(5 * time.Second)
	none(t, q, 0)
	first.stop() // as a worker that was stopped
	other := join(t, Options{Server: s})
	second := take(t, other, 0)
	if suspected, err := second.Suspected(ctx); !suspected || err != nil || second.Deliveries != 2 {
		t.Errorf("suspected %v after %d deliveries, %v", suspected, second.Deliveries, err)
	}
	if f, err := second.Begin(ctx, "second"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if err := first.Done(ctx); err != nil {
		t.Logf("the late worker is told: %v", err)
	}
	if err := second.Done(ctx); err != nil {
		t.Logf("the other worker is told: %v", err)
	}
	none(t, q, 0)
}

// TestDead: a photo that three workers began and did not finish is given up with reasons
// and log; one that is hopeless at once; retry gives them a clean record.
func TestDead(t *testing.T) {
	p := testPolicy()
	_, q := serve(t, p)
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 2, 0), nil); err != nil {
		t.Fatal(err)
	}
	for range p.Attempts {
		l := take(t, q, 0)
		for l.Photo != "0/0.dng" {
			if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
				t.Fatal(f, err)
			}
			if dead, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Hopeless, Reason: "no photo"}); !dead || err != nil {
				t.Error(dead, err)
			}
			l = take(t, q, 0)
		}
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if _, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Crashed, Reason: "signal: killed", Log: "last words"}); err != nil {
			t.Error(err)
		}
	}
	none(t, q, 0)
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
		l := take(t, q, 0)
		if suspected, err := l.Suspected(ctx); suspected || err != nil {
			t.Errorf("%s: suspected, %v", l.Photo, err)
		}
		// A full disk and an end of the worker are no fault of the photo's.
		for range 2 * p.Attempts {
			if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
				t.Fatal(f, err)
			}
			if dead, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Stopped, Reason: "interrupted"}); dead || err != nil {
				t.Fatal(dead, err)
			}
			l = take(t, q, 0)
		}
		if err := l.Done(ctx); err != nil {
			t.Error(err)
		}
	}
	none(t, q, 0)
}

// TestFullQueue: a submitter waits where the queue is full, and goes on.
func TestFullQueue(t *testing.T) {
	p := testPolicy()
	p.Queue = 5
	_, q := serve(t, p)
	ctx, o := t.Context(), putOrder(t, q)
	type end struct {
		Submitted
		error
	}
	done := make(chan end, 1)
	go func() {
		s, err := q.Submit(ctx, o.ID(), photos(o.ID(), 12, 0), nil)
		done <- end{s, err}
	}()
	for range 12 {
		if info, err := q.tasks.Info(ctx); err != nil || info.State.Msgs > 5 {
			t.Errorf("%+v, %v", info, err)
		}
		if err := take(t, q, 0).Done(ctx); err != nil {
			t.Error(err)
		}
	}
	if s := <-done; s.error != nil || s.Accepted != 12 || !s.Waited {
		t.Errorf("%+v", s)
	}
}

// TestStray: what is no task is named and blocks nothing.
func TestStray(t *testing.T) {
	_, q := serve(t, testPolicy())
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
	if err := take(t, q, 0).Done(ctx); err != nil {
		t.Error(err)
	}
	if s, err := q.Status(ctx); err != nil || s.Strays != 3 || s.Running != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCancel(t *testing.T) {
	_, q := serve(t, testPolicy())
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 9, 2), nil); err != nil {
		t.Fatal(err)
	}
	l := take(t, q, 2)
	if n, err := q.Cancel(ctx, o.ID()); n != 9 || err != nil {
		t.Errorf("%d cancelled, %v", n, err)
	}
	none(t, q, 0, 1, 2)
	l.Done(ctx)
	if _, err := q.Cancel(ctx, farm.Hash("x")[:32]); !errors.As(err, new(*UnknownOrderError)) {
		t.Errorf("an order that is not there: %v", err)
	}
}

// TestWorkers: workers are listed while they speak; the fastest gives the pace.
func TestWorkers(t *testing.T) {
	_, q := serve(t, testPolicy())
	ctx := t.Context()
	for _, c := range []struct{ own, want float64 }{{0, 0}, {4, 4}, {9, 4}, {2, 2}, {4, 2}} {
		got, err := q.Report(ctx, &Worker{Name: fmt.Sprint("w", c.own), Seconds: c.own, State: "working", Largest: 2048})
		if err != nil || got != c.want {
			t.Errorf("own %v: %v, %v; want %v", c.own, got, err, c.want)
		}
	}
	o := putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 3, 1), nil); err != nil {
		t.Fatal(err)
	}
	s, err := q.Status(ctx)
	if err != nil || len(s.Workers) != 4 || s.Rate < 0.86 || s.Rate > 0.87 || s.Homeless[3072] != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := q.Leave(ctx, "w9"); err != nil {
		t.Error(err)
	}
	if all, err := q.Workers(ctx); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestFiles(t *testing.T) {
	_, q := serve(t, testPolicy())
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	data := strings.Repeat("weights ", 1<<16)
	if err := os.WriteFile(from, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, n, _ := store.SumOf(strings.NewReader(data))
	f := &farm.File{SHA256: sum, Bytes: n}
	for range 2 {
		if err := q.PutFile(t.Context(), from, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.GetFile(t.Context(), f, to); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(to); string(got) != data {
		t.Errorf("%d bytes came back", len(got))
	}
	os.Remove(to)
	f.SHA256 = farm.Hash("another")
	if err := q.GetFile(t.Context(), f, to); err == nil {
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

// TestKeys: a worker's key does a worker's work and nothing else; others do nothing.
func TestKeys(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	var users []User
	file := map[Role]string{}
	for _, role := range []Role{Admin, Computing, "stranger"} {
		seed, public, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		file[role] = filepath.Join(dir, string(role)+".nk")
		if err := os.WriteFile(file[role], []byte(seed), 0o600); err != nil {
			t.Fatal(err)
		}
		if role != "stranger" {
			users = append(users, User{role, public})
		}
	}
	s, err := Serve(ctx, ServerOptions{Dir: filepath.Join(dir, "q"), Policy: testPolicy(), Address: freePort(t), Users: users})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url := "nats://" + s.Address()
	for _, o := range []Options{{URL: url}, {URL: url, KeyFile: file["stranger"]}, {URL: url, KeyFile: filepath.Join(dir, "none")}} {
		q, err := Connect(ctx, o)
		if err == nil {
			q.Close()
			t.Errorf("%+v is let in", o)
		}
		if Away(err) {
			t.Errorf("a refusal is taken for a server that is away: %v", err)
		}
	}
	if _, err := Connect(ctx, Options{URL: "nats://" + freePort(t)}); !Away(err) {
		t.Errorf("where no server is: %v", err)
	}
	admin := join(t, Options{URL: url, KeyFile: file[Admin], Role: Admin})
	o := putOrder(t, admin)
	if _, err := admin.Submit(ctx, o.ID(), photos(o.ID(), 3, 0), nil); err != nil {
		t.Fatal(err)
	}
	complaints := make(chan string, 100)
	w := join(t, Options{URL: url, KeyFile: file[Computing], Role: Computing, Say: func(text string) { complaints <- text }})
	for i := range 2 { // all that a worker does
		l := take(t, w, 0)
		if _, err := w.Order(ctx, l.Order); err != nil {
			t.Fatal(err)
		}
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if i == 0 {
			if dead, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Hopeless, Reason: "x"}); !dead || err != nil {
				t.Error(dead, err)
			}
		} else if err := l.Done(ctx); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.Report(ctx, &Worker{Name: "w", Seconds: 1}); err != nil {
		t.Error(err)
	}
	if len(complaints) > 0 {
		t.Errorf("the worker lacks permissions: %q", <-complaints)
	}
	// What it may not.
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := w.js.Publish(short, taskSubject(0, o.ID()), []byte("x")); err == nil {
		t.Error("a worker may submit")
	}
	if err := w.tasks.Purge(short); err == nil {
		t.Error("a worker may empty the queue")
	}
	if _, err := w.orders.Put(short, "order."+o.ID(), []byte("x")); err == nil {
		t.Error("a worker may change orders")
	}
	if err := w.js.DeleteStream(short, deadStream); err == nil {
		t.Error("a worker may remove streams")
	}
	sub, err := w.nc.SubscribeSync("_INBOX_admin.>")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Status(ctx); err != nil {
		t.Error(err)
	}
	if m, err := sub.NextMsg(500 * time.Millisecond); err == nil {
		t.Errorf("a worker may listen to answers of others: %q", m.Data)
	}
	if info, err := admin.tasks.Info(ctx); err != nil || info.State.Msgs != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestParseUsers(t *testing.T) {
	_, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseUsers([]byte("# farm\nadmin " + public + "\n\nworker " + public + " # one for all\n"))
	if err != nil || !slices.Equal(got, []User{{Admin, public}, {Computing, public}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "# none", "root " + public, "admin", "admin x", "admin " + public + " more"} {
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
