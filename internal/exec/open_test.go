package exec_test

import (
	"sync"
	"testing"

	"enhance/clrt"
	"enhance/internal/convtest"
	"enhance/internal/exec"
)

// tests is the context that tests take in turn, as PoCL takes longer to find programs that it
// has compiled than small networks take to run, and contexts hold what was built in them.
var tests struct {
	sync.Mutex // held while a test has it
	ctx        *clrt.Context
}

// testContext gives out a context in which nothing is live: that of all tests, or, while a
// test has that, one of its own. done gives it back, or closes it, and reports what is live.
func testContext(t testing.TB) (ctx *clrt.Context, done func()) {
	t.Helper()
	fresh := func() *clrt.Context {
		ctx, err := clrt.NewContext(convtest.Device(t))
		if err != nil {
			t.Fatal(err)
		}
		return ctx
	}
	shared := tests.TryLock()
	switch {
	case !shared:
		ctx = fresh()
	case tests.ctx == nil || tests.ctx.Live() != 0: // a test that failed left something
		tests.ctx = fresh()
		fallthrough
	default:
		ctx = tests.ctx
	}
	ctx.ResetPeak()
	return ctx, func() {
		t.Helper()
		if n := ctx.Live(); n != 0 {
			t.Errorf("%d bytes are live after Close", n)
		}
		if shared {
			tests.Unlock()
		} else if err := ctx.Close(); err != nil {
			t.Errorf("closing the context: %v", err)
		}
	}
}

// open opens a job on the tests' device; done closes it and checks that no byte is left.
func open(t testing.TB, job *exec.Job) (e *exec.Engine, done func()) {
	t.Helper()
	ctx, back := testContext(t)
	e, err := job.Open(ctx)
	if err != nil {
		back()
		t.Fatal(err)
	}
	return e, func() {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
		back()
	}
}

// openJob opens a job until the test ends.
func openJob(t testing.TB, job *exec.Job) *exec.Engine {
	t.Helper()
	e, done := open(t, job)
	t.Cleanup(done)
	return e
}
