package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"enhance/internal/farm"
)

// TestLeaseOutlivesServer: what proves a lease is kept with the queue.
func TestLeaseOutlivesServer(t *testing.T) {
	dir, address, ctx := t.TempDir(), freePort(t), t.Context()
	options := ServerOptions{Dir: dir, Policy: testPolicy(), Address: address}
	s, err := Serve(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	q := join(t, Options{URL: "nats://" + address})
	o := putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	w := worker(t, Options{URL: "nats://" + address})
	l := take(t, w, 0)
	r := receiptOf(t, w, l)
	s.Close()
	if s, err = Serve(ctx, options); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := l.Done(ctx, r); err != nil {
		t.Error(err)
	}
	if info, err := s.queue.tasks.Info(ctx); err != nil || info.State.Msgs != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestProofsEnd: a lease proves nothing once another has followed it, or its task is done, given up or cancelled, though
// the same photo be submitted again.
func TestProofsEnd(t *testing.T) {
	p := testPolicy()
	p.Lease = time.Second
	s, q := serve(t, p)
	ctx, o := t.Context(), putOrder(t, q)
	w := worker(t, Options{Server: s})
	submit := func() {
		t.Helper()
		if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 1, 0), nil); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte("picture"))
	refuses := func(when string, l *Lease) {
		t.Helper()
		r := receiptOf(t, w, l)
		r.Picture = hex.EncodeToString(sum[:])
		before := state(t, q)
		for op, r := range map[string]ask{
			"begin": {Worker: "w"}, "fail": {Worker: "w", Failure: &farm.Failure{Kind: farm.Hopeless}}, "put": {Name: farm.Hash("u")[:32], body: []byte("picture")},
			"publish": {Name: farm.Hash("u")[:32], Receipt: r}, "name": {Receipt: r}, "done": {Receipt: r},
		} {
			r.Held = &l.held
			if _, err := w.ask(ctx, op, &r); !errors.Is(err, ErrEnded) {
				t.Errorf("%s: %s: %v", when, op, err)
			}
		}
		w.nc.Publish(w.subject("renew"), encodeMessage(&ask{Held: &l.held}, nil))
		if after := state(t, q); after != before {
			t.Errorf("%s: was\n%sis\n%s", when, before, after)
		}
	}
	submit()
	first := take(t, w, 0)
	first.stop() // as a worker that is stopped
	second := take(t, w, 0)
	refuses("another worker has the photo", first)
	if err := done(t, w, second); err != nil {
		t.Fatal(err)
	}
	refuses("the photo is done", first)
	refuses("the photo is done", second)
	submit()
	third := take(t, w, 0)
	refuses("the photo is submitted again", second)
	if dead, err := third.Fail(ctx, "w", &farm.Failure{Kind: farm.Hopeless, Reason: "x"}); !dead || err != nil {
		t.Fatal(dead, err)
	}
	if _, err := q.Retry(ctx, ""); err != nil {
		t.Fatal(err)
	}
	refuses("the photo is tried again", third)
	fourth := take(t, w, 0)
	if _, err := q.Cancel(ctx, o.ID()); err != nil {
		t.Fatal(err)
	}
	refuses("the order is cancelled", fourth)
}

// TestLateResult: a photo that was given up is no longer once a late worker has its result.
func TestLateResult(t *testing.T) {
	p := testPolicy()
	p.Attempts = 1
	s, q := serve(t, p)
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	late, other := worker(t, Options{Server: s}), worker(t, Options{Server: s})
	first := take(t, late, 0)
	first.stop() // as a worker that is stopped
	second := take(t, other, 0)
	if f, err := second.Begin(ctx, "other"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if dead, err := second.Fail(ctx, "other", &farm.Failure{Kind: farm.Crashed, Reason: "x"}); !dead || err != nil {
		t.Fatal(dead, err)
	}
	count := func() (n int64) {
		now, err := q.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range now.Orders {
			n += one.Dead
		}
		return n
	}
	if n := count(); n != 1 {
		t.Fatalf("%d are given up", n)
	}
	if err := done(t, late, first); err != nil {
		t.Logf("the late worker is told: %v", err)
	}
	if n := count(); n != 0 {
		t.Errorf("%d are given up although the result is there", n)
	}
}
