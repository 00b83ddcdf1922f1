package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/internal/farm"
)

// serveSmall starts a server that may have so many bytes on its disk, and joins it.
func serveSmall(t *testing.T, bytes int64, say func(string)) (*Server, *Queue) {
	t.Helper()
	s, err := Serve(t.Context(), ServerOptions{Dir: t.TempDir(), Policy: testPolicy(), MaxDisk: bytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, join(t, Options{Server: s, Say: say})
}

// TestSmallDisk: a submission of more tasks than the disk takes says what it waits for, once, and goes on as photos are
// made; no worker is kept from its work.
func TestSmallDisk(t *testing.T) {
	var mu sync.Mutex
	var told []string
	s, q := serveSmall(t, 64<<10, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	})
	ctx, o := t.Context(), putOrder(t, q)
	const n = 400
	ended := make(chan error, 1)
	go func() {
		got, err := q.Submit(ctx, o.ID(), photos(o.ID(), n, 0), nil)
		if err == nil && (!got.Waited || got.Accepted != n) {
			t.Errorf("%+v", got)
		}
		ended <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		mu.Lock()
		waits := len(told) > 0
		mu.Unlock()
		if waits {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is said")
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it does not wait: %v", err)
	default:
	}
	w := worker(t, Options{Server: s})
	for range n {
		l := take(t, w, 0)
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if err := done(t, w, l); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0], "waits until workers have made some") {
		t.Errorf("told %q", told)
	}
}

// TestFullDisk: where files have filled the disk, everybody who needs room is told, and status says so.
func TestFullDisk(t *testing.T) {
	s, q := serveSmall(t, 1<<20, nil)
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 2, 0), nil); err != nil {
		t.Fatal(err)
	}
	w := worker(t, Options{Server: s})
	l := take(t, w, 0)
	var full error
	for i := 0; full == nil && i < 1000; i++ {
		full = q.bury(ctx, o.ID(), farm.Hash(fmt.Sprint(i))[:32], &Dead{Failure: farm.Failure{Log: strings.Repeat("x", 8<<10)}})
	}
	if !errors.Is(full, ErrDisk) {
		t.Fatal(full)
	}
	path := filepath.Join(t.TempDir(), "photo")
	if err := os.WriteFile(path, []byte("photo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := q.PutPhoto(ctx, path); !errors.Is(err, ErrDisk) {
		t.Errorf("a photo that does not fit: %v", err)
	}
	if err := q.PutOrder(ctx, o); !errors.Is(err, ErrDisk) {
		t.Errorf("an order: %v", err)
	}
	if _, err := l.Begin(ctx, "w"); !errors.Is(err, ErrDisk) {
		t.Errorf("a photo is begun: %v", err)
	}
	if _, err := w.Report(ctx, &Worker{Name: "w", State: "standing still"}); err != nil {
		t.Errorf("a worker cannot say so: %v", err)
	}
	now, err := q.Status(ctx)
	if err != nil || now.Serving == nil || now.Serving.DiskBound != 1<<20 || now.Serving.Disk < now.Serving.DiskBound || len(now.Workers) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}
