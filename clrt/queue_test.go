package clrt_test

import (
	"bytes"
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unsafe"

	"enhance/clrt"
)

// Transfers from and to memory that only the queue still knows, while the
// collector runs at every turn and the heap is overwritten.
func TestAsyncUnderCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	ctx := openContext(t)
	q := newQueue(t, ctx)
	const size, rounds = 64 << 10, 200
	b := newBuffer(t, ctx, size*rounds, "blocks")
	for i := range rounds {
		p := bytes.Repeat([]byte{byte(i + 1)}, size)
		ev, err := q.WriteAsync(b, int64(i)*size, p)
		must(t, err)
		switch i % 3 {
		case 0:
			must(t, ev.Close()) // giving the event up unpins nothing
		case 1:
			ev = nil //nolint // as does dropping it
		}
		overwriteHeap(size)
	}
	back := make([][]byte, rounds)
	for i := range back {
		back[i] = make([]byte, size)
		_, err := q.ReadAsync(b, int64(i)*size, back[i])
		must(t, err)
		overwriteHeap(size)
	}
	must(t, q.Finish())
	if n := clrt.PendingTransfers(q); n != 0 {
		t.Errorf("%d transfers still pinned after Finish", n)
	}
	for i, p := range back {
		if want := bytes.Repeat([]byte{byte(i + 1)}, size); !bytes.Equal(p, want) {
			t.Fatalf("block %d differs", i)
		}
	}
}

var sink []byte

// overwriteHeap makes garbage of the size of the blocks, so that memory that
// was wrongly freed is soon used again.
func overwriteHeap(size int) {
	for range 4 {
		sink = bytes.Repeat([]byte{0xEE}, size)
	}
}

func TestTransfersRetire(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 4096, "b")
	p := make([]byte, 4096)
	write := func() *clrt.Event {
		t.Helper()
		ev, err := q.WriteAsync(b, 0, p)
		must(t, err)
		return ev
	}
	expect := func(after string, want int) {
		t.Helper()
		if n := clrt.PendingTransfers(q); n != want {
			t.Errorf("after %s %d transfers are pinned, want %d", after, n, want)
		}
	}
	first, second := write(), write()
	expect("two writes", 2)
	must(t, first.Wait())
	expect("waiting for the first", 1)
	must(t, second.Wait())
	expect("waiting for the second", 0)
	write()
	must(t, q.Read(b, 0, make([]byte, 16)))
	expect("a blocking read", 0)
	write()
	m, err := q.Map(b, false, 0, 16)
	must(t, err)
	expect("a map", 0)
	must(t, q.Unmap(b, m))
	write()
	mark, err := q.Marker()
	must(t, err)
	must(t, mark.Wait())
	expect("waiting for a marker", 0)
	// A caller that only ever writes: the queue itself asks what has ended.
	for start := time.Now(); ; {
		for range 200 {
			must(t, write().Close())
		}
		if n := clrt.PendingTransfers(q); n < 200 {
			break
		} else if time.Since(start) > 20*time.Second {
			t.Fatalf("%d transfers are pinned and nothing unpins them", n)
		}
		time.Sleep(time.Millisecond)
	}
	must(t, q.Close())
	expect("closing the queue", 0)
}

func TestTransfers(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	a, b := newBuffer(t, ctx, 256, "a"), newBuffer(t, ctx, 256, "b")
	src := make([]byte, 256)
	for i := range src {
		src[i] = byte(i)
	}
	must(t, q.Write(a, 0, src))
	must(t, q.Fill(b, 0, 256, []byte{0xAA, 0xBB, 0xCC, 0xDD}))
	must(t, q.Copy(b, 100, a, 10, 20))
	got, want := make([]byte, 256), bytes.Repeat([]byte{0xAA, 0xBB, 0xCC, 0xDD}, 64)
	copy(want[100:120], src[10:30])
	must(t, q.Read(b, 0, got))
	if !bytes.Equal(got, want) {
		t.Errorf("after Fill and Copy: %x", got)
	}
}

func TestMap(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 64, "mapped")
	must(t, q.Fill(b, 0, 64, []byte{7}))
	p, err := q.Map(b, true, 8, 16)
	must(t, err)
	if !bytes.Equal(p, bytes.Repeat([]byte{7}, 16)) {
		t.Errorf("mapped bytes are %x", p)
	}
	p[0], p[15] = 1, 2
	if err := b.Close(); err == nil || !strings.Contains(err.Error(), "mapped") {
		t.Errorf("closing a mapped buffer: %v", err)
	}
	if err := q.Unmap(b, p[1:]); err == nil {
		t.Error("unmapping a part succeeded")
	}
	must(t, q.Unmap(b, p))
	if err := q.Unmap(b, p); err == nil {
		t.Error("unmapping twice succeeded")
	}
	got := make([]byte, 64)
	must(t, q.Read(b, 0, got))
	want := bytes.Repeat([]byte{7}, 64)
	want[8], want[23] = 1, 2
	if !bytes.Equal(got, want) {
		t.Errorf("after Unmap: %x", got)
	}
	_, err = q.Map(b, false, 0, 64) // left to the context's Close
	must(t, err)
}

func TestRangeMistakes(t *testing.T) {
	ctx, other := openContext(t), openContext(t)
	q := newQueue(t, ctx)
	b, foreign := newBuffer(t, ctx, 64, "b"), newBuffer(t, other, 64, "foreign")
	p := make([]byte, 64)
	const big = 1<<63 - 1
	for name, f := range map[string]func() error{
		"write beyond":    func() error { return q.Write(b, 1, p) },
		"read before":     func() error { return q.Read(b, -1, p[:1]) },
		"read far":        func() error { return q.Read(b, big, p[:1]) },
		"write no buffer": func() error { return q.Write(nil, 0, p) },
		"write foreign":   func() error { return q.Write(foreign, 0, p) },
		"async beyond":    func() error { _, err := q.WriteAsync(b, 64, p[:1]); return err },
		"copy beyond":     func() error { return q.Copy(b, 60, b, 0, 8) },
		"copy negative":   func() error { return q.Copy(b, 0, b, 0, -1) },
		"copy overlap":    func() error { return q.Copy(b, 4, b, 0, 8) },
		"fill beyond":     func() error { return q.Fill(b, 32, 64, []byte{0}) },
		"fill 3":          func() error { return q.Fill(b, 0, 6, []byte{0, 1, 2}) },
		"fill nothing":    func() error { return q.Fill(b, 0, 6, nil) },
		"fill odd":        func() error { return q.Fill(b, 2, 4, []byte{0, 1, 2, 3}) },
		"map beyond":      func() error { _, err := q.Map(b, false, 0, 65); return err },
		"map nothing":     func() error { _, err := q.Map(b, false, 0, 0); return err },
		"empty buffer":    func() error { _, err := ctx.NewBuffer(0, "x"); return err },
		"negative buffer": func() error { _, err := ctx.NewBuffer(-1, "x"); return err },
		"empty view":      func() error { _, err := b.Sub(0, 0); return err },
		"view beyond":     func() error { _, err := b.Sub(0, 65); return err },
	} {
		if err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// No bytes are no mistake.
	must(t, q.Write(b, 64, nil))
	must(t, q.Read(b, 0, []byte{}))
	must(t, q.Copy(b, 0, b, 0, 0))
	must(t, q.Fill(b, 64, 0, []byte{1}))
	ev, err := q.WriteAsync(b, 0, nil)
	must(t, err)
	must(t, ev.Wait())
}

func TestClosed(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	ctx := openContext(t)
	q, spare := newQueue(t, ctx), newQueue(t, ctx)
	b, root := newBuffer(t, ctx, 64, "b"), newBuffer(t, ctx, 4096, "root")
	view, err := root.Sub(0, 64)
	must(t, err)
	prog, err := ctx.Build(addSource, "")
	must(t, err)
	k, err := prog.Kernel("add")
	must(t, err)
	ev, err := q.Marker()
	must(t, err)
	p := make([]byte, 8)
	must(t, ev.Close())
	must(t, prog.Close())
	must(t, k.SetArg(3, int32(1))) // outlives its program
	must(t, k.Close())
	must(t, root.Close())
	must(t, q.Close())
	must(t, b.Close())
	calls := map[string]func() error{
		"Event.Wait":            ev.Wait,
		"Event.Times":           func() error { _, _, _, _, err := ev.Times(); return err },
		"Program.Kernel":        func() error { _, err := prog.Kernel("add"); return err },
		"Program.Binary":        func() error { _, err := prog.Binary(); return err },
		"Kernel.SetArg":         func() error { return k.SetArg(0, nil) },
		"Kernel.SetArgs":        func() error { return k.SetArgs() },
		"Kernel.WorkGroupInfo":  func() error { _, err := k.WorkGroupInfo(); return err },
		"Buffer.Sub":            func() error { _, err := b.Sub(0, 8); return err },
		"Buffer.Touch":          func() error { return b.Touch(spare) },
		"Queue.Write to closed": func() error { return spare.Write(b, 0, p) },
		"Queue.Write to view":   func() error { return spare.Write(view, 0, p) },
		"Queue.Barrier closed":  func() error { return spare.Barrier(ev) },
		"Queue.Launch closed":   func() error { _, err := spare.Launch(k, []int{1}, nil); return err },
		"Queue.Finish":          q.Finish,
		"Queue.Flush":           q.Flush,
		"Queue.Marker":          func() error { _, err := q.Marker(); return err },
		"Queue.Launch":          func() error { _, err := q.Launch(k, []int{1}, nil); return err },
	}
	for name, f := range calls {
		if err := f(); !errors.Is(err, clrt.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, ctx.Close())
	for name, f := range map[string]func() error{
		"NewBuffer":   func() error { _, err := ctx.NewBuffer(1, "x"); return err },
		"NewQueue":    func() error { _, err := ctx.NewQueue(); return err },
		"Build":       func() error { _, err := ctx.Build(addSource, ""); return err },
		"HalfStorage": func() error { _, err := ctx.HalfStorage(); return err },
		"spare":       func() error { return spare.Finish() },
	} {
		if err := f(); !errors.Is(err, clrt.ErrClosed) {
			t.Errorf("after Context.Close, %s: %v", name, err)
		}
	}
	for _, c := range []interface{ Close() error }{ctx, q, spare, b, root, view, prog, k, ev} {
		if err := c.Close(); err != nil {
			t.Errorf("second Close of a %T: %v", c, err)
		}
	}
}

func TestEventTimes(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 1<<20, "b")
	k := kernel(t, ctx, addSource, "add")
	must(t, k.SetArgs(b, b, b, int32(1<<18)))
	var before uint64
	for i := range 5 {
		ev, err := q.Launch(k, []int{1 << 18}, []int{64})
		must(t, err)
		queued, submitted, started, ended, err := ev.Times()
		must(t, err)
		if !(queued <= submitted && submitted <= started && started < ended) {
			t.Errorf("launch %d: queued %d, submitted %d, started %d, ended %d", i, queued, submitted, started, ended)
		}
		if started < before {
			t.Errorf("launch %d started at %d, before the one before ended at %d", i, started, before)
		}
		before = ended
		must(t, ev.Close())
	}
	if n := clrt.OpenEvents(q); n != 0 {
		t.Errorf("%d events open", n)
	}
}

// Two queues, one reading what the other writes, ordered by Barrier alone.
func TestBarrierAcrossQueues(t *testing.T) {
	ctx := openContext(t)
	q1, q2 := newQueue(t, ctx), newQueue(t, ctx)
	const size = 4 << 20
	b := newBuffer(t, ctx, size, "b")
	got := make([]byte, size)
	for i := range 8 {
		_, err := q1.WriteAsync(b, 0, bytes.Repeat([]byte{byte(i + 1)}, size))
		must(t, err)
		ev, err := q1.Marker()
		must(t, err)
		must(t, q1.Flush())
		must(t, q2.Barrier(ev))
		must(t, q2.Read(b, 0, got))
		if want := bytes.Repeat([]byte{byte(i + 1)}, size); !bytes.Equal(got, want) {
			t.Fatalf("round %d: the second queue did not wait", i)
		}
	}
	must(t, q2.Barrier()) // a barrier without events is legal
	must(t, q2.Finish())
}

// A command that fails on the device: Wait says how, and memory that the
// device may still use is never unpinned.
func TestFailureOnDevice(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 64, "unlucky")
	ev, err := q.WriteAsync(b, 0, make([]byte, 64))
	must(t, err)
	restore := clrt.Hook(ctx.Device(), func(name string, args []uintptr, next func() uintptr) uintptr {
		switch r := next(); {
		case name == "clWaitForEvents":
			return uintptr(0xFFFFFFF2) // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
		case name == "clFinish":
			return uintptr(0xFFFFFFDC) // CL_INVALID_COMMAND_QUEUE
		case name == "clGetEventInfo" && args[3] != 0:
			**(**int32)(unsafe.Pointer(&args[3])) = -5
			return r
		default:
			return r
		}
	})
	defer restore()
	err = ev.Wait()
	if !clrt.OutOfMemory(err) || !strings.Contains(err.Error(), "write of buffer unlucky failed on the device") {
		t.Errorf("Wait: %v", err)
	}
	if err := q.Finish(); !errors.Is(err, &clrt.Error{Call: "clFinish", Code: -36}) {
		t.Errorf("Finish: %v", err)
	}
	if err := q.Close(); !errors.Is(err, &clrt.Error{Call: "clFinish", Code: -36}) {
		t.Errorf("Close: %v", err)
	}
	if n := clrt.PendingTransfers(q); n != 1 {
		t.Errorf("%d transfers pinned, want 1", n)
	}
}
