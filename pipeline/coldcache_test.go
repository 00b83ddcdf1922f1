package pipeline_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"enhance/pipeline"
)

// TestColdCache: where kernels are not in the cache the driver's compiler is among what the
// host holds, in the run that compiles them, later photos of its session and a bound that has no
// room for it; a later session, which finds them, does without.
func TestColdCache(t *testing.T) {
	needOpenCL(t)
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	photo := nikon(t).crop(100, 100, 200, 144)
	order := func() pipeline.Job {
		j := photo.job(0, 0, new(bytes.Buffer))
		j.Look = pipeline.Look{} // the network's pictures have their own
		return j
	}
	session := func() *pipeline.Session {
		s, err := pipeline.NewSession(pipeline.Settings{Model: "pynet-random:cold,width=2,level=3"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	compiler := func(s *pipeline.Session, dry bool) (share, need int64) {
		t.Helper()
		j := order()
		j.DryRun = dry
		r, err := s.Enhance(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range r.Host.Planned {
			if strings.Contains(u.Purpose, "compiling") {
				share = u.Bytes
			}
		}
		return share, r.Host.Need
	}
	cold := session()
	share, need := compiler(cold, true)
	if share == 0 || need <= share {
		t.Fatalf("with an empty cache %d of %d bytes are for the compiler", share, need)
	}
	pipeline.BoundHost(cold, need-share+share/2)
	if _, err := cold.Enhance(context.Background(), order()); err == nil || !strings.Contains(err.Error(), "compiling kernels") {
		t.Errorf("half of the compiler's share: %v", err)
	}
	pipeline.BoundHost(cold, need+64<<20)
	for _, what := range []string{"the run that compiles", "the next"} {
		if got, _ := compiler(cold, false); got != share {
			t.Errorf("%s: %d bytes for the compiler, want %d", what, got, share)
		}
	}
	if got, _ := compiler(session(), true); got != 0 {
		t.Errorf("%d bytes for the compiler with all kernels in the cache", got)
	}
}
