package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"enhance/internal/farm/s3test"
)

// TestErrors: each failure has its kind, and no message has a secret.
func TestErrors(t *testing.T) {
	var answer func(w http.ResponseWriter, r *http.Request) bool
	s := s3test.Start(t)
	s.Before = func(w http.ResponseWriter, r *http.Request) bool { return answer != nil && answer(w, r) }
	fails := func(status int, code string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { s3test.Fail(w, status, code); return true }
	}
	silent := func(http.ResponseWriter, *http.Request) bool { time.Sleep(300 * time.Millisecond); return true }
	cut := func(w http.ResponseWriter, r *http.Request) bool { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name, url, access, secret string
		answer                    func(http.ResponseWriter, *http.Request) bool
		kind                      Kind
	}{
		{"wrong secret", "s3://bucket", s3test.Access, "topsecret", nil, Unknown},
		{"unknown key", "s3://bucket", "nobody", "topsecret", nil, Unknown},
		{"no such bucket", "s3://nosuchbucket", s3test.Access, s3test.Secret, nil, NoBucket},
		{"denied", "s3://bucket", s3test.Access, s3test.Secret, fails(403, "AccessDenied"), Denied},
		{"clock", "s3://bucket", s3test.Access, s3test.Secret, fails(403, "RequestTimeTooSkewed"), Unknown},
		{"full", "s3://bucket", s3test.Access, s3test.Secret, fails(507, "XMinioStorageFull"), Full},
		{"quota", "s3://bucket", s3test.Access, s3test.Secret, fails(400, "QuotaExceeded"), Full},
		{"no conditions", "s3://bucket", s3test.Access, s3test.Secret, fails(501, "NotImplemented"), Unusable},
		{"503 for ever", "s3://bucket", s3test.Access, s3test.Secret, fails(503, "SlowDown"), Unreachable},
		{"silent", "s3://bucket", s3test.Access, s3test.Secret, silent, Unreachable},
		{"cut", "s3://bucket", s3test.Access, s3test.Secret, cut, Unreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", c.access)
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			answer = c.answer
			b := openWith(t, c.url, Options{stall: 100 * time.Millisecond, attempts: 2})
			_, err := b.CreateText(t.Context(), "x", []byte("x"))
			_, _, read := b.Download(t.Context(), "x", filepath.Join(t.TempDir(), "x"))
			_, list := b.Walk(t.Context(), "", func(*Object) bool { return true })
			for _, err := range []error{err, read, list} {
				e := (*Error)(nil)
				if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.url) {
					t.Errorf("%v", err)
				}
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "topsecret") || strings.Contains(text, s3test.Secret) {
					t.Errorf("a secret is told: %s", text)
				}
			}
		})
	}
	answer = silent
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := open(t, "s3://bucket").CreateText(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestPassingTroubles: 503s, cuts in the middle of a body and another write at the same
// time are got over.
func TestPassingTroubles(t *testing.T) {
	s := s3test.Start(t)
	var n atomic.Int64
	data := make([]byte, 3<<20+5)
	rand.NewChaCha8([32]byte{2}).Read(data)
	s.Put("large", data)
	s.Before = func(w http.ResponseWriter, r *http.Request) bool {
		i := n.Add(1)
		switch {
		case r.Method == http.MethodPut && i%2 == 1:
			s3test.Fail(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		case r.Method == http.MethodPut && i%4 == 0:
			s3test.Fail(w, http.StatusConflict, "ConditionalRequestConflict")
			return true
		case r.Method == http.MethodGet: // a third of the rest, then the connection breaks
			from := 0
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			rest := data[from:]
			if len(rest) < 100 {
				return false
			}
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Length", strconv.Itoa(len(rest)))
			if from > 0 {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write(rest[:len(rest)/3+50])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		return false
	}
	b := open(t, "s3://bucket")
	for i := range 4 {
		if first, err := b.CreateText(t.Context(), fmt.Sprint("small", i), []byte("x")); !first || err != nil {
			t.Errorf("%v, %v", first, err)
		}
	}
	s.Put("large", data[:len(data)-1]) // its ETag is another than the one that was read
	file := filepath.Join(t.TempDir(), "f")
	if _, _, err := b.Download(t.Context(), "large", file); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("an object that changed: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a part of it is left")
	}
}

// TestResume: a download that is cut again and again, each time a little later, arrives.
func TestResume(t *testing.T) {
	s := s3test.Start(t)
	data := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{3}).Read(data)
	s.Put("large", data)
	s.Before = func(w http.ResponseWriter, r *http.Request) bool { return false }
	cuts := 0
	b := open(t, "s3://bucket")
	b2, err := Open(t.Context(), "s3://bucket", Options{attempts: 3, via: cutting(func(r *http.Request, a *http.Response) {
		if r.Method == http.MethodGet && cuts < 12 {
			cuts++
			a.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(a.Body, 70_000), broken{}), a.Body}
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Bucket{b, b2} {
		file := filepath.Join(t.TempDir(), "f")
		if _, n, err := b.Download(t.Context(), "large", file); err != nil || n != int64(len(data)) {
			t.Error(n, err)
		}
		if got, _ := os.ReadFile(file); !bytes.Equal(got, data) {
			t.Error("other bytes arrived")
		}
	}
	if cuts != 12 {
		t.Errorf("%d cuts", cuts)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// cutting changes answers on their way.
type cutting func(*http.Request, *http.Response)

func (c cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		c(r, a)
	}
	return a, err
}
