package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"enhance/internal/farm"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/s3test"
)

func openS3(t *testing.T, url string) *S3 {
	t.Helper()
	b, err := s3.Open(t.Context(), url, s3.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := OpenS3(b, t.TempDir())
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestS3(t *testing.T) {
	server := s3test.Start(t)
	server.Page = 2
	s := openS3(t, "s3://bucket/developed")
	contract(t, s, func(output string) string { return string(server.Get("developed/" + output)) })
	outputs := map[string]bool{}
	if damaged, err := s.Outputs(t.Context(), func(output string, _ *farm.Named) bool { outputs[output] = true; return true }); damaged != 0 || err != nil || len(outputs) != 2 || !outputs["q/twin.png"] {
		t.Errorf("outputs %v, %d damaged, %v", outputs, damaged, err)
	}
	if left, _ := filepath.Glob(s.dir + "/*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestS3Taken: an object that the farm did not make stays, unless the order says otherwise.
func TestS3Taken(t *testing.T) {
	server, ctx := s3test.Start(t), t.Context()
	s := openS3(t, "s3://bucket")
	task, r := testTask(t, "a.dng", "a.png", "picture", "c")
	if _, err := publish(t, s, r, "picture"); err != nil {
		t.Fatal(err)
	}
	server.Put("a.png", []byte("mine"))
	if err := s.Name(ctx, task, r, false); !errors.As(err, new(*TakenError)) || !strings.Contains(err.Error(), "s3://bucket/a.png") {
		t.Errorf("an object of somebody else: %v", err)
	}
	if got := server.Get("a.png"); string(got) != "mine" {
		t.Errorf("it has become %q", got)
	}
	if err := s.Name(ctx, task, r, true); err != nil || string(server.Get("a.png")) != "picture" {
		t.Errorf("with -y it is %q, %v", server.Get("a.png"), err)
	}
	server.Put("a.png", []byte("edited")) // after the farm made it
	if err := s.Name(ctx, task, r, false); !errors.As(err, new(*TakenError)) {
		t.Errorf("an output that somebody replaced: %v", err)
	}
	server.Delete("a.png")
	if n, err := s.Named(ctx, "a.png"); n != nil || err != nil {
		t.Errorf("an output that is gone is recorded as %+v, %v", n, err)
	}
	most, _ := testTask(t, "a.dng", strings.Repeat("a", maxName-4)+".png", "picture", "c")
	deep := openS3(t, "s3://bucket/"+strings.Repeat("p", 512))
	if _, err := publish(t, deep, r, "picture"); err != nil {
		t.Error(err)
	}
	if err := deep.Name(ctx, most, r, false); err != nil {
		t.Errorf("the longest name: %v", err)
	}
	long, _ := testTask(t, "a.dng", strings.Repeat("a/", 400)+"a.png", "picture", "c")
	if f := (*farm.Failure)(nil); !errors.As(s.Name(ctx, long, r, false), &f) || f.Kind != farm.Hopeless {
		t.Errorf("a name that the store has no room for: %v", f)
	}
	server.Delete(pictureName(r))
	if err := s.Name(ctx, task, r, false); err == nil || !strings.Contains(err.Error(), "is gone: remove its receipt") {
		t.Errorf("a picture that is gone: %v", err)
	}
}

// TestS3Together: of many that publish at a time one is first.
func TestS3Together(t *testing.T) {
	s3test.Start(t)
	s := openS3(t, "s3://bucket")
	task, r := testTask(t, "a.dng", "a.png", "picture", "c")
	var wg sync.WaitGroup
	var firsts atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			own := *r
			own.Worker = string(rune('a' + i))
			first, err := publish(t, s, &own, "picture")
			if err == nil {
				err = s.Name(context.Background(), task, &own, false)
			}
			if err != nil {
				t.Error(err)
			}
			if first {
				firsts.Add(1)
			}
		})
	}
	wg.Wait()
	if n := firsts.Load(); n != 1 {
		t.Errorf("%d were first", n)
	}
}

// TestS3LostAnswers: a write that took place and whose answer is lost, before each of the
// requests in turn. The store is as if nothing had been lost.
func TestS3LostAnswers(t *testing.T) {
	for lost := int64(1); ; lost++ {
		server := s3test.Start(t)
		s := openS3(t, "s3://bucket")
		var n atomic.Int64
		server.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1) == lost {
				quiet := &noAnswer{http.Header{}}
				before := server.Before
				server.Before = nil
				server.ServeHTTP(quiet, r)
				server.Before = before
				panic(http.ErrAbortHandler)
			}
			return false
		}
		task, r := testTask(t, "a.dng", "a.png", "picture", "c")
		if _, err := publish(t, s, r, "picture"); err != nil {
			t.Errorf("request %d: %v", lost, err)
		}
		if err := s.Name(t.Context(), task, r, false); err != nil {
			t.Errorf("request %d: %v", lost, err)
		}
		if got := server.Get("a.png"); string(got) != "picture" {
			t.Errorf("request %d: the output has %q", lost, got)
		}
		if got, err := s.Named(t.Context(), "a.png"); err != nil || got == nil || got.Key != r.Key {
			t.Errorf("request %d: %+v, %v", lost, got, err)
		}
		if n.Load() < lost {
			if lost < 5 {
				t.Errorf("%d requests only: nothing was lost", lost)
			}
			return
		}
	}
}

// noAnswer is a response that goes nowhere.
type noAnswer struct{ h http.Header }

func (w *noAnswer) Header() http.Header         { return w.h }
func (w *noAnswer) Write(b []byte) (int, error) { return len(b), nil }
func (w *noAnswer) WriteHeader(int)             {}

// TestS3Errors: what is the store's fault is no photo's.
func TestS3Errors(t *testing.T) {
	server := s3test.Start(t)
	s := openS3(t, "s3://bucket")
	for _, c := range []struct {
		status int
		code   string
		want   error
	}{{507, "XMinioStorageFull", ErrFull}, {403, "AccessDenied", ErrUnavailable}, {403, "ExpiredToken", ErrUnavailable}, {404, "NoSuchBucket", ErrUnavailable}} {
		server.Before = func(w http.ResponseWriter, _ *http.Request) bool { s3test.Fail(w, c.status, c.code); return true }
		task, r := testTask(t, "a.dng", "a.png", c.code, "c")
		_, err := publish(t, s, r, c.code)
		_, receipt := s.Receipt(t.Context(), r.Key)
		_, receipts := s.Receipts(t.Context(), func(*farm.Receipt) bool { return true })
		for i, err := range []error{err, receipt, receipts, s.Name(t.Context(), task, r, false)} {
			if c.want == ErrFull && i == 3 && errors.Is(err, ErrUnavailable) { // HEAD has no body with the code
				continue
			}
			if !errors.Is(err, c.want) && !(i == 3 && c.code == "NoSuchBucket" && err != nil) {
				t.Errorf("%s, %d: %v", c.code, i, err)
			}
		}
	}
}

// TestS3Damaged: receipts and pictures that are none.
func TestS3Damaged(t *testing.T) {
	server := s3test.Start(t)
	s := openS3(t, "s3://bucket")
	_, r := testTask(t, "a.dng", "a.png", "picture", "c")
	if _, err := publish(t, s, r, "picture"); err != nil {
		t.Fatal(err)
	}
	server.Put(pictureName(r), []byte("pictura"))
	if path, _, err := s.Fetch(t.Context(), r); !errors.As(err, new(*DamagedError)) {
		t.Errorf("other bytes than the receipt says: %v", err)
	} else if _, err := os.Stat(path); err == nil {
		t.Error("and they are left there")
	}
	server.Delete(pictureName(r))
	if _, _, err := s.Fetch(t.Context(), r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a picture that is gone: %v", err)
	}
	for _, text := range [][]byte{[]byte("{"), bytes.Repeat([]byte(" "), maxRecord+1)} {
		server.Put(placeOf(r.Key)+".json", text)
		if _, err := s.Receipt(t.Context(), r.Key); err == nil || !strings.Contains(err.Error(), "s3://bucket") {
			t.Errorf("a damaged receipt: %v", err)
		}
	}
	server.Put(placeOf(r.Key)+".json", []byte("{"))
	if damaged, err := s.Receipts(t.Context(), func(*farm.Receipt) bool { t.Error("it is listed"); return true }); damaged != 1 || err != nil {
		t.Errorf("%d damaged, %v", damaged, err)
	}
}

// FuzzS3Record: receipts and records of names come from a store that others can write to.
func FuzzS3Record(f *testing.F) {
	server := s3test.New()
	f.Cleanup(server.Close)
	f.Setenv("AWS_ENDPOINT_URL", server.URL)
	f.Setenv("AWS_REGION", s3test.Region)
	f.Setenv("AWS_ACCESS_KEY_ID", s3test.Access)
	f.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	o, _ := farm.NewOrder(nil, ".png", false)
	r := &farm.Receipt{Photo: farm.Hash("a"), Picture: farm.Hash("p"), Bytes: 1, Extension: ".png", Source: "a.dng", Order: *o, Model: farm.Hash("m"), Generation: "g", Class: "c"}
	r.Complete()
	f.Add(r.Encode())
	f.Add([]byte(`{"output":"../../etc/x","named":{"version":1}}`))
	b, err := s3.Open(context.Background(), "s3://bucket", s3.Options{})
	if err != nil {
		f.Fatal(err)
	}
	s := OpenS3(b, "")
	f.Fuzz(func(t *testing.T, data []byte) {
		server.Put(placeOf(r.Key)+".json", data)
		server.Put(recordName("a.png"), data)
		if got, err := s.Receipt(context.Background(), r.Key); err == nil && (got == nil || got.Key != r.Key || got.Facts().Key() != r.Key) {
			t.Errorf("%q is taken for the receipt", data)
		}
		s.Outputs(context.Background(), func(output string, n *farm.Named) bool {
			if farm.CheckName(output) != nil || n == nil || output != "a.png" {
				t.Errorf("%q names %q", data, output)
			}
			return true
		})
	})
}
