package clrt_test

import (
	"slices"
	"testing"
	"unsafe"

	"enhance/clrt"
)

// TestNap: where waits nap, the device is asked until the command has ended, the queue
// is flushed once, and only then the driver waits.
func TestNap(t *testing.T) {
	defer clrt.Nap()()
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 64, "b")
	ev, err := q.WriteAsync(b, 0, make([]byte, 64))
	must(t, err)
	const asks = 5
	var calls []string
	restore := clrt.Hook(ctx.Device(), func(name string, args []uintptr, next func() uintptr) uintptr {
		r := next()
		if calls = append(calls, name); name == "clGetEventInfo" && len(calls) <= asks {
			**(**int32)(unsafe.Pointer(&args[3])) = 1 // CL_RUNNING
		}
		return r
	})
	err = ev.Wait()
	restore()
	must(t, err)
	n := slices.Index(calls, "clWaitForEvents")
	if n < asks+1 || slices.Index(calls, "clFlush") != 1 || slices.Index(calls[2:], "clFlush") >= 0 {
		t.Errorf("calls %v: want one clFlush after the first clGetEventInfo, clWaitForEvents after the %dth", calls, asks+1)
	}
	must(t, ev.Wait()) // of what has ended
	must(t, ev.Close())
}

// TestNapFailed: a command that failed is not asked for forever.
func TestNapFailed(t *testing.T) {
	defer clrt.Nap()()
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 64, "b")
	for _, v := range []struct {
		what   string
		status int32
		r      uintptr
	}{{"failed", -5, 0}, {"not known", 1, 0xFFFFFFC6}} { // CL_INVALID_EVENT
		ev, err := q.WriteAsync(b, 0, make([]byte, 64))
		must(t, err)
		asked := 0
		restore := clrt.Hook(ctx.Device(), func(name string, args []uintptr, next func() uintptr) uintptr {
			r := next()
			if name == "clGetEventInfo" {
				asked++
				**(**int32)(unsafe.Pointer(&args[3])), r = v.status, v.r
			}
			return r
		})
		err = ev.Wait()
		restore()
		if err != nil || asked != 1 { // the driver's own wait finds nothing wrong
			t.Errorf("%s: asked %d times, error %v", v.what, asked, err)
		}
		must(t, ev.Close())
	}
}
