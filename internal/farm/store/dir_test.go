package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"enhance/internal/farm"
)

func openDir(t testing.TB, dir string) *Dir {
	t.Helper()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// testTask is a task and the receipt of its result with some contents.
func testTask(t testing.TB, photo, output, contents, class string) (*farm.Task, *farm.Receipt) {
	t.Helper()
	o, err := farm.NewOrder(nil, ".png", false)
	if err != nil {
		t.Fatal(err)
	}
	task, err := farm.NewTask(o.ID(), photo, output)
	if err != nil {
		t.Fatal(err)
	}
	sum, n, _ := SumOf(strings.NewReader(contents))
	r := &farm.Receipt{Photo: farm.Hash(photo), Picture: sum, Bytes: n, Extension: ".png", Source: photo, Order: *o, Model: farm.Hash("m"), Generation: "g", Class: class}
	r.Complete()
	return task, r
}

// publish makes a picture and publishes it.
func publish(t testing.TB, s Store, r *farm.Receipt, contents string) (bool, error) {
	t.Helper()
	file, err := s.Scratch(".png")
	if err == nil {
		err = os.WriteFile(file, []byte(contents), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Publish(context.Background(), file, r)
}

// contract is what every store does.
func contract(t *testing.T, s Store, read func(output string) string) {
	ctx := context.Background()
	task, r := testTask(t, "p/a.dng", "p/a.png", "picture", "c")
	if got, err := s.Receipt(ctx, r.Key); got != nil || err != nil {
		t.Fatalf("an empty store has %+v, %v", got, err)
	}
	if n, err := s.Named(ctx, task.Output); n != nil || err != nil {
		t.Fatalf("an empty store names %+v, %v", n, err)
	}
	if first, err := publish(t, s, r, "picture"); !first || err != nil {
		t.Fatalf("published: %v, %v", first, err)
	}
	if first, err := publish(t, s, r, "picture"); first || err != nil {
		t.Errorf("published again: %v, %v", first, err)
	}
	_, other := testTask(t, "p/a.dng", "p/a.png", "another", "c")
	if first, err := publish(t, s, other, "another"); first || !errors.As(err, new(*ConflictError)) {
		t.Errorf("other bytes of one key: %v, %v", first, err)
	}
	got, err := s.Receipt(ctx, r.Key)
	if err != nil || got == nil || !bytes.Equal(got.Encode(), r.Encode()) {
		t.Errorf("receipt %+v, %v", got, err)
	}
	twin, _ := testTask(t, "p/copy of a.dng", "q/twin.png", "picture", "c")
	for range 2 {
		for _, to := range []*farm.Task{task, twin} {
			if err := s.Name(ctx, to, r, false); err != nil {
				t.Error(err)
			}
			if got := read(to.Output); got != "picture" {
				t.Errorf("%s has %q", to.Output, got)
			}
			if n, err := s.Named(ctx, to.Output); err != nil || n == nil || n.Key != r.Key || !n.Of(to, &r.Order) {
				t.Errorf("%s is recorded as %+v, %v", to.Output, n, err)
			}
		}
	}
	_, newer := testTask(t, "p/a.dng", "p/a.png", "newer picture", "d")
	if first, err := publish(t, s, newer, "newer picture"); !first || err != nil {
		t.Errorf("%v, %v", first, err)
	}
	if err := s.Name(ctx, task, newer, false); err != nil {
		t.Errorf("what the farm named itself it may name again: %v", err)
	}
	if a, b := read(task.Output), read(twin.Output); a != "newer picture" || b != "picture" {
		t.Errorf("outputs have %q and %q", a, b)
	}
	n := 0
	if damaged, err := s.Receipts(ctx, func(*farm.Receipt) bool { n++; return true }); err != nil || damaged != 0 || n != 2 {
		t.Errorf("%d receipts, %d damaged, %v", n, damaged, err)
	}
	path, done, err := s.Fetch(ctx, newer)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if data, err := os.ReadFile(path); err != nil || string(data) != "newer picture" {
		t.Errorf("fetched %q, %v", data, err)
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	contract(t, openDir(t, dir), func(output string) string {
		data, err := os.ReadFile(filepath.Join(dir, output))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	})
}

func TestDirTaken(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	d := openDir(t, dir)
	task, r := testTask(t, "a.dng", "a.png", "picture", "c")
	if _, err := publish(t, d, r, "picture"); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "a.png")
	if err := os.WriteFile(out, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := d.Name(ctx, task, r, false); !errors.As(err, new(*TakenError)) {
		t.Errorf("a file of somebody else: %v", err)
	}
	if data, _ := os.ReadFile(out); string(data) != "mine" {
		t.Errorf("it has become %q", data)
	}
	if err := d.Name(ctx, task, r, true); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(out); string(data) != "picture" {
		t.Errorf("with -y it is %q", data)
	}
	os.Remove(out)
	if n, err := d.Named(ctx, "a.png"); n != nil || err != nil {
		t.Errorf("an output that is gone is recorded as %+v, %v", n, err)
	}
	for _, bad := range []string{"../a.png", "/etc/passwd", ".enhance/names"} {
		if _, err := d.Named(ctx, bad); err == nil {
			t.Errorf("%q is looked up", bad)
		}
	}
}

// TestDirLinks: links in the output directory that lead out of it are not followed.
func TestDirLinks(t *testing.T) {
	dir, outside, ctx := t.TempDir(), t.TempDir(), context.Background()
	d := openDir(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Skip(err)
	}
	task, r := testTask(t, "a.dng", "sub/a.png", "picture", "c")
	if _, err := publish(t, d, r, "picture"); err != nil {
		t.Fatal(err)
	}
	f := (*farm.Failure)(nil)
	if err := d.Name(ctx, task, r, true); !errors.As(err, &f) || f.Kind != farm.Hopeless {
		t.Errorf("a link that leads out of the root: %v", err)
	}
	if err := os.Symlink(filepath.Join(outside, "b.png"), filepath.Join(dir, "b.png")); err != nil {
		t.Fatal(err)
	}
	task.Output = "b.png"
	if err := d.Name(ctx, task, r, true); !errors.As(err, &f) || f.Kind != farm.Hopeless {
		t.Errorf("an output that is such a link: %v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%v were made outside", entries)
	}
}

func TestDamagedReceipt(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	d := openDir(t, dir)
	_, r := testTask(t, "a.dng", "a.png", "picture", "c")
	if _, err := publish(t, d, r, "picture"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, placeOf(r.Key)+".json")
	if err := os.WriteFile(name, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Receipt(ctx, r.Key); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a damaged receipt: %v", err)
	}
	if damaged, err := d.Receipts(ctx, func(*farm.Receipt) bool { t.Error("it is listed"); return true }); damaged != 1 || err != nil {
		t.Errorf("%d damaged, %v", damaged, err)
	}
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	old, err := d.Scratch(".png")
	if err != nil {
		t.Fatal(err)
	}
	fresh, _ := d.Scratch(".png")
	for _, name := range []string{old, fresh} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	info, _ := os.Stat(old)
	before := info.ModTime().Add(-2 * oldScratch)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Clean(); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("what may be in work is gone: %v", err)
	}
}

// TestPublishTogether: of many that publish at a time one is first.
func TestPublishTogether(t *testing.T) {
	d := openDir(t, t.TempDir())
	task, r := testTask(t, "a.dng", "a.png", "picture", "c")
	var wg sync.WaitGroup
	firsts := make(chan bool, 16)
	for range cap(firsts) {
		wg.Go(func() {
			first, err := publish(t, d, r, "picture")
			if err == nil {
				err = d.Name(context.Background(), task, r, false)
			}
			if err != nil {
				t.Error(err)
			}
			firsts <- first
		})
	}
	wg.Wait()
	close(firsts)
	n := 0
	for first := range firsts {
		if first {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d were first", n)
	}
}
