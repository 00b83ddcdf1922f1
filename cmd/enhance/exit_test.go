package main

import (
	"errors"
	"strings"
	"testing"

	"enhance/internal/atomicfile"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// TestHostMemoryMessage: who did not ask for a bound on the host's memory is told how
// to go ahead without; who did, which bound is enough.
func TestHostMemoryMessage(t *testing.T) {
	const hint = "--host-mem 0"
	planned := []facts.HostUse{{Purpose: "of activations", Bytes: 3 << 30}}
	for _, c := range []struct {
		err  *pipeline.HostMemoryError
		want string
		hint bool
	}{
		{&pipeline.HostMemoryError{Budget: 2 << 30, Available: 1 << 30, Need: 3 << 30, Planned: planned},
			"enhance: a.dng: this run needs about 3.0 GiB of host memory (3.0 GiB of activations), but only 2.0 GiB are available, 1.0 GiB of which the process holds", true},
		{&pipeline.HostMemoryError{Budget: 2 << 30, Need: 3 << 30, Planned: planned},
			"enhance: a.dng: 2.0 GiB of host memory is too little: this run needs about 3.0 GiB (3.0 GiB of activations); try --host-mem 3300M", false},
		{&pipeline.HostMemoryError{Budget: 100 << 20, Need: 123 << 20, Planned: planned[:0]},
			"enhance: a.dng: 100.0 MiB of host memory is too little: this run needs about 123.0 MiB (); try --host-mem 140M", false},
	} {
		got := message(c.err, "a.dng")
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, hint) != c.hint || strings.Contains(got, "\n") {
			t.Errorf("%q, want %q, then %q: %t", got, c.want, hint, c.hint)
		}
		if code := status(c.err); code != exitBudget {
			t.Errorf("status %d, want %d", code, exitBudget)
		}
	}
}

// TestMessageOfNames: a line break in a name is an escape, and the message stays one line.
func TestMessageOfNames(t *testing.T) {
	cause := errors.New("damaged\nbeyond repair")
	for _, c := range []struct {
		err         error
		photo, want string
	}{
		{&pipeline.FileError{Path: "a\nb.dng", Err: cause}, "c.dng", `enhance: a\nb.dng: damaged; beyond repair`},
		{cause, "a\nb.dng", `enhance: a\nb.dng: damaged; beyond repair`},
		{&atomicfile.Error{Op: "write", Path: "a\nb.png", Err: cause}, "a\nb.dng", `enhance: cannot write a\nb.png: damaged; beyond repair`},
		{&atomicfile.Error{Op: "create", Path: "a\nb.png", Err: atomicfile.ErrExists}, "c.dng", `enhance: a\nb.png: exists already` + existsAdvice},
		{cause, "", "enhance: damaged; beyond repair"},
	} {
		if got := message(c.err, c.photo); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
