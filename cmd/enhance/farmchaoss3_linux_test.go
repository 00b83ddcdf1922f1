package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"enhance/internal/farm/s3test"
)

// TestFarmChaosS3 runs a farm whose results go to an object store that fails one request in
// twenty, drops as many connections before and after it has done what was asked, and is away
// for eight seconds, while workers are killed. Then every result is there once.
func TestFarmChaosS3(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of killing")
	}
	server := s3test.Start(t)
	var troubled, away atomic.Bool
	var failed, lost atomic.Int64
	type again struct{}
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		n := rand.IntN(100)
		switch {
		case away.Load(), troubled.Load() && n < 5:
			failed.Add(1)
			s3test.Fail(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		case !troubled.Load() || n >= 15 || r.Context().Value(again{}) != nil:
			return false
		case n < 10:
			server.ServeHTTP(&deaf{http.Header{}}, r.WithContext(context.WithValue(r.Context(), again{}, true)))
		}
		lost.Add(1)
		panic(http.ErrAbortHandler)
	}
	c := newChaos(t, 60)
	c.results = "s3://bucket/developed"
	c.serve()
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for i := range chaosWorkers {
		workers.Go(func() { c.keepWorker(ctx, i) })
	}
	troubled.Store(true)
	c.submit()
	for i := range 6 {
		time.Sleep(2 * time.Second)
		if i == 1 {
			c.log("the store is away for 8 s")
			away.Store(true)
			time.AfterFunc(8*time.Second, func() { away.Store(false) })
			continue
		}
		if c.signal(i, syscall.SIGKILL) {
			c.log("worker %d is killed", i)
			c.kills++
		}
	}
	c.await()
	stop()
	workers.Wait()
	troubled.Store(false)
	if out, err := exec.Command(c.program, "farm", "fetch", "--results", c.results, "-o", c.out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.check("after the trouble")
	c.log("%d requests failed, %d answers were lost", failed.Load(), lost.Load())
	if failed.Load() == 0 || lost.Load() == 0 {
		t.Error("the store had no trouble")
	}
}

// deaf is a connection whose other end is gone.
type deaf struct{ h http.Header }

func (d *deaf) Header() http.Header         { return d.h }
func (d *deaf) Write(b []byte) (int, error) { return len(b), nil }
func (d *deaf) WriteHeader(int)             {}
