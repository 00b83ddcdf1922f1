package boundtest_test

import (
	"runtime"
	"testing"

	"enhance/internal/boundtest"
)

var sink []byte

// recorder takes the place of a test that fails.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return "recorder" }
func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	runtime.Goexit()
}

// fails reports whether an input of 1000 bytes, for which so much is allocated, is reported.
func fails(bytes, pieces int) bool {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		boundtest.Run(r, 1000, 1<<20, 1000, func() {
			for range pieces {
				sink = make([]byte, bytes/pieces)
			}
		})
	}()
	<-done
	return r.failed
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		bytes, pieces int
		want          bool
	}{{0, 1, false}, {1 << 20, 1, false}, {4 << 20, 1, true}, {4 << 20, 64, true}} {
		if got := fails(c.bytes, c.pieces); got != c.want {
			t.Errorf("%d bytes in %d pieces: reported %v, want %v", c.bytes, c.pieces, got, c.want)
		}
	}
}
