package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"enhance/internal/farm"
)

// TestKeyTakenOut: whoever has a key that the server knows no longer is told so, and waits no more.
func TestKeyTakenOut(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	o := ServerOptions{Dir: filepath.Join(dir, "q"), Policy: testPolicy(), Address: freePort(t)}
	newUser := func(role Role) (file string) {
		seed, public, err := NewKey()
		file = filepath.Join(dir, public+".key")
		if err = errors.Join(err, os.WriteFile(file, []byte(seed), 0o600)); err != nil {
			t.Fatal(err)
		}
		o.Users = append(o.Users, User{Role: role, Key: public})
		return file
	}
	admin, computing := newUser(Admin), newUser(Computing)
	s, err := Serve(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	q := join(t, Options{URL: "nats://" + o.Address, KeyFile: admin})
	w := worker(t, Options{URL: "nats://" + o.Address, KeyFile: computing})
	order := putOrder(t, q)
	waiting, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	begun, again, submitted := make(chan bool, 2), make(chan bool), make(chan error, 1)
	go func() {
		_, err := q.Submit(waiting, order.ID(), func(yield func(Sized) bool) {
			for one := range photos(order.ID(), 2, 0) {
				if yield(one) {
					begun <- true
					<-again
				}
			}
		}, nil)
		submitted <- err
	}()
	<-begun
	s.Close()
	o.Users = nil
	newUser(Computing)
	if s, err = Serve(ctx, o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	close(again)
	for what, do := range map[string]func() error{
		"take":   func() error { _, err := w.Take(waiting, of([]int{0}), false); return err },
		"submit": func() error { return <-submitted },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "does not know this key") || waiting.Err() != nil || Away(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLeaseChanges: a server that is started anew with another time of leases has it for what waits in its queue and for
// workers that were there before.
func TestLeaseChanges(t *testing.T) {
	for _, c := range []struct{ before, after time.Duration }{{2 * time.Second, time.Hour}, {time.Hour, 2 * time.Second}} {
		ctx := t.Context()
		o := ServerOptions{Dir: t.TempDir(), Policy: farm.DefaultPolicy(), Address: freePort(t)}
		o.Policy.Lease = c.before
		s, err := Serve(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		q := join(t, Options{URL: "nats://" + o.Address})
		order := putOrder(t, q)
		if _, err := q.Submit(ctx, order.ID(), photos(order.ID(), 1, 0), nil); err != nil {
			t.Fatal(err)
		}
		w, other := worker(t, Options{URL: "nats://" + o.Address}), worker(t, Options{URL: "nats://" + o.Address})
		s.Close()
		o.Policy.Lease = c.after
		if s, err = Serve(ctx, o); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		l := take(t, w, 0)
		if c.after > c.before {
			l.Abandon() // renewed no more, and still a lease
		}
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
			none(t, other, 0)
		}
		if err := done(t, w, l); err != nil {
			t.Errorf("%v after %v: %v", c.after, c.before, err)
		}
	}
}
