package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// cluster is a NATS server that is not enhance farm serve's.
func cluster(t *testing.T) Options {
	t.Helper()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(10 * time.Second) {
		t.Fatal("the cluster does not start")
	}
	return Options{URL: n.ClientURL()}
}

func setUp(t *testing.T, o Options) *Queue {
	t.Helper()
	q, err := SetUp(t.Context(), o, testPolicy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// TestOneService: a second service is refused before it changes anything, and may begin once the first has ended.
func TestOneService(t *testing.T) {
	o := cluster(t)
	first := setUp(t, o)
	if now, err := first.Serving(t.Context()); now != nil || err != nil {
		t.Errorf("before there is one: %v, %v", now, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lost, err := first.ServeWorkers(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := state(t, first)
	p := testPolicy()
	p.Attempts = 77
	var occupied *OccupiedError
	if _, err := SetUp(t.Context(), o, p); !errors.As(err, &occupied) || occupied.Other == nil || occupied.Other.PID == 0 {
		t.Errorf("the second: %v", err)
	}
	if after := state(t, first); after != before {
		t.Errorf("was\n%sis\n%s", before, after)
	}
	w := worker(t, o)
	if w.Policy().Attempts == 77 {
		t.Error("the second has changed the policy")
	}
	select {
	case err := <-lost:
		t.Errorf("the first ends: %v", err)
	default:
	}
	stop()
	first.Close()
	second := setUp(t, o)
	if lost, err = second.ServeWorkers(t.Context(), t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := worker(t, o).ask(t.Context(), "offers", &ask{}); err != nil {
		t.Error(err)
	}
	if len(lost) > 0 {
		t.Error(<-lost)
	}
}

// TestTwoServicesAtOnce: of services that begin at a time, none having heard of the other, the first stays.
func TestTwoServicesAtOnce(t *testing.T) {
	o := cluster(t)
	const n = 5
	var lost [n]<-chan error
	queues := [n]*Queue{}
	for i := range queues {
		queues[i] = setUp(t, o) // nobody serves yet
	}
	for i, q := range queues {
		var err error
		if lost[i], err = q.claim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range queues[1:] {
		select {
		case err := <-lost[i+1]:
			if e := (*OccupiedError)(nil); !errors.As(err, &e) || e.Other == nil {
				t.Errorf("service %d ends with %v", i+1, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("service %d does not end", i+1)
		}
	}
	if len(lost[0]) > 0 {
		t.Errorf("the first ends with %v", <-lost[0])
	}
}

// TestSilentService: one that is connected and does not answer is there.
func TestSilentService(t *testing.T) {
	o := cluster(t)
	q := setUp(t, o)
	if _, err := q.nc.SubscribeSync(serviceSubject); err != nil {
		t.Fatal(err)
	}
	if err := q.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	var occupied *OccupiedError
	if _, err := SetUp(t.Context(), o, testPolicy()); !errors.As(err, &occupied) || occupied.Other != nil {
		t.Errorf("%v", err)
	}
}
