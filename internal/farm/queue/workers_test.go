package queue

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

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

// TestPublic: whatever file a worker's key is in, its requests go to the subjects of that key.
func TestPublic(t *testing.T) {
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key":   seed + "\n",
		"creds": "-----BEGIN NATS USER JWT-----\ne30.e30.x\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------\n",
		"none":  "nothing\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		o    Options
		want string // "": it is refused
	}{
		{Options{}, anyone}, {Options{KeyFile: filepath.Join(dir, "key")}, public}, {Options{Creds: filepath.Join(dir, "creds")}, public},
		{Options{KeyFile: filepath.Join(dir, "none")}, ""}, {Options{Creds: filepath.Join(dir, "none")}, ""}, {Options{Creds: filepath.Join(dir, "absent")}, ""},
	} {
		got, err := c.o.public()
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.As(err, new(*OptionError)) {
			t.Errorf("%+v: %q, %v", c.o, got, err)
		}
	}
}
