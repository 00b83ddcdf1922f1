package arrivals

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func put(t *testing.T, path, text string, changed time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}

// TestLook goes through a folder at times of a clock of its own.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(dir, Options{Recursive: true, Poll: 5 * time.Second, Ignore: func(d string) bool { return filepath.Base(d) == "out" }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := time.Now().Add(-time.Hour)
	at := func(seconds float64, want ...string) time.Duration {
		t.Helper()
		f.ready = nil
		wait, err := f.look(start.Add(time.Duration(seconds * float64(time.Second))))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, file := range f.ready {
			got = append(got, file.Name)
			if file.Path != filepath.Join(dir, file.Name) {
				t.Errorf("%s has the path %s", file.Name, file.Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %g s: %q, want %q", seconds, got, want)
		}
		return wait
	}
	at(0)
	put(t, filepath.Join(dir, "b.dng"), "1", start)
	put(t, filepath.Join(dir, "sub", "a.dng"), "1", start)
	put(t, filepath.Join(dir, "empty.dng"), "", start)
	for _, name := range []string{".hidden.dng", "c.dng.part", "d.DNG.TMP", "e.dng~", "out/f.dng", ".cache/g.dng"} {
		put(t, filepath.Join(dir, name), "1", start)
	}
	if wait := at(1); wait != 2*time.Second {
		t.Errorf("a new file waits %v, want the time to settle", wait)
	}
	put(t, filepath.Join(dir, "b.dng"), "12", start.Add(2*time.Second)) // it grows
	at(2.5)
	put(t, filepath.Join(dir, "b.dng"), "21", start.Add(3*time.Second)) // it is written within its size
	at(3.1, filepath.Join("sub", "a.dng"))
	if wait := at(5); wait > 200*time.Millisecond {
		t.Errorf("with 0.1 s left it waits %v", wait)
	}
	at(5.2, "b.dng")
	if wait := at(6); wait != 5*time.Second {
		t.Errorf("with nothing to come it waits %v", wait)
	}
	put(t, filepath.Join(dir, "b.dng"), "another", start.Add(7*time.Second))
	at(7)
	at(9.5, "b.dng")
	os.Remove(filepath.Join(dir, "b.dng"))
	at(10)
	if len(f.known) != 2 { // a.dng and the empty file
		t.Errorf("%d files are known", len(f.known))
	}
	os.Rename(filepath.Join(dir, "c.dng.part"), filepath.Join(dir, "c.dng"))
	at(11)
	at(13.5, "c.dng")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.look(start); err == nil {
		t.Error("a folder that is gone is no error")
	}
}

// TestNext: the system tells of files, those that are there before come first and at once, and
// the context ends the waiting.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	put(t, filepath.Join(dir, "2.dng"), "x", old)
	put(t, filepath.Join(dir, "1.dng"), "x", old)
	f, err := Open(dir, Options{Recursive: true, Settle: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	next := func(want string) {
		t.Helper()
		got, err := f.Next(ctx)
		if err != nil || got.Name != want {
			t.Fatalf("%q, %v, want %q", got.Name, err, want)
		}
	}
	next("1.dng")
	next("2.dng")
	put(t, filepath.Join(dir, "new", "3.dng"), "x", time.Now())
	next(filepath.Join("new", "3.dng"))
	put(t, filepath.Join(dir, "new", "4.dng"), "x", time.Now())
	next(filepath.Join("new", "4.dng"))
	cancel()
	if _, err := f.Next(ctx); err != context.Canceled {
		t.Errorf("after the end: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "missing"), Options{}); err == nil {
		t.Error("a folder that is not there was opened")
	}
}
