package queue

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBrokenDisk: a server whose queue could not be written says that it has to end, for JetStream does not go on by
// itself; one that is started anew has what was submitted.
func TestBrokenDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("no small disk can be made here:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	serve := func() (*Server, *Queue) {
		s, err := Serve(t.Context(), ServerOptions{Dir: filepath.Join(dir, "queue"), Policy: testPolicy()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s, join(t, Options{Server: s})
	}
	s, q := serve()
	ctx, o := t.Context(), putOrder(t, q)
	if _, err := q.Submit(ctx, o.ID(), photos(o.ID(), 3, 0), nil); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	l := take(t, worker(t, Options{Server: s}), 0)
	if _, err := l.Begin(ctx, "w"); err == nil {
		t.Fatal("a photo is begun on a full disk")
	}
	select {
	case err := <-s.Lost():
		if !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "make room") {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not notice")
	}
	q.Close()
	s.Close()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s, _ = serve()
	w := worker(t, Options{Server: s})
	for range 3 {
		if err := done(t, w, take(t, w, 0)); err != nil {
			t.Error(err)
		}
	}
}
