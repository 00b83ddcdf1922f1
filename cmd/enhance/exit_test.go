package main

import (
	"strings"
	"testing"

	"enhance/pipeline"
)

// TestHostMemoryMessage: who did not ask for a bound on the host's memory is told how
// to go ahead without; who did is not.
func TestHostMemoryMessage(t *testing.T) {
	const hint = "--host-mem 0"
	planned := []pipeline.HostUse{{Purpose: "of activations", Bytes: 3 << 30}}
	for _, c := range []struct {
		err  *pipeline.HostMemoryError
		want string
		hint bool
	}{
		{&pipeline.HostMemoryError{Budget: 2 << 30, Available: 1 << 30, Need: 3 << 30, Planned: planned},
			"enhance: a.dng: this run needs about 3.0 GiB of host memory (3.0 GiB of activations), but only 2.0 GiB are available, 1.0 GiB of which the process holds", true},
		{&pipeline.HostMemoryError{Budget: 2 << 30, Need: 3 << 30, Planned: planned},
			"enhance: a.dng: 2.0 GiB of host memory are too few: this run needs about 3.0 GiB (3.0 GiB of activations)", false},
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
