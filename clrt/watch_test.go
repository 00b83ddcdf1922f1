package clrt_test

import (
	"testing"
	"time"

	"enhance/clrt"
)

// Every command of every kind is told once, in order, with its tag and times that
// follow one another, and the clocks can be related.
func TestWatch(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	k := kernel(t, ctx, addSource, "add")
	a, b := newBuffer(t, ctx, 64, "a"), newBuffer(t, ctx, 64, "b")
	must(t, k.SetArgs(a, a, b, int32(16)))
	must(t, q.Fill(a, 0, 64, []byte{1, 0, 0, 0})) // not watched yet

	var got []clrt.Command
	w, err := q.Watch(func(c *clrt.Command) { got = append(got, *c) })
	must(t, err)
	if _, err := q.Watch(func(*clrt.Command) {}); err == nil {
		t.Error("a second watch was accepted")
	}
	before := time.Now()
	p := make([]byte, 64)
	must(t, q.Fill(a, 0, 64, []byte{0, 0, 128, 63}))
	w.Tag(7)
	must(t, q.LaunchQuiet(k, []int{16}, []int{16}))
	ev, err := q.Launch(k, []int{16}, []int{16})
	must(t, err)
	w.Tag(8)
	must(t, q.Copy(a, 0, b, 0, 32))
	wr, err := q.WriteAsync(a, 32, p[:16])
	must(t, err)
	must(t, q.Write(a, 48, p[:4]))
	must(t, q.Read(b, 0, p))
	m, err := q.Marker()
	must(t, err)
	must(t, q.Barrier(m))
	must(t, w.Settle())
	if w.Queued() != 7 {
		t.Errorf("%d commands queued, want 7", w.Queued())
	}
	must(t, w.Close())
	must(t, q.Fill(a, 0, 64, []byte{1, 0, 0, 0})) // not watched any more
	must(t, q.Finish())
	after := time.Now()
	must(t, ev.Close())
	must(t, wr.Close())

	want := []clrt.Command{
		{Kind: clrt.FillCommand, Name: "a", Bytes: 64},
		{Kind: clrt.KernelCommand, Name: "add", Tag: 7}, {Kind: clrt.KernelCommand, Name: "add", Tag: 7},
		{Kind: clrt.CopyCommand, Name: "a", Tag: 8, Bytes: 32},
		{Kind: clrt.WriteCommand, Name: "a", Tag: 8, Bytes: 16}, {Kind: clrt.WriteCommand, Name: "a", Tag: 8, Bytes: 4},
		{Kind: clrt.ReadCommand, Name: "b", Tag: 8, Bytes: 64},
	}
	if len(got) != len(want) {
		t.Fatalf("told of %d commands, want %d: %+v", len(got), len(want), got)
	}
	last := uint64(0)
	for i, c := range got {
		w := want[i]
		if c.Kind != w.Kind || c.Name != w.Name || c.Tag != w.Tag || c.Bytes != w.Bytes {
			t.Errorf("command %d is %s %s, tag %d, %d bytes; want %s %s, %d, %d", i, c.Kind, c.Name, c.Tag, c.Bytes, w.Kind, w.Name, w.Tag, w.Bytes)
		}
		if c.Queued == 0 || c.Submitted < c.Queued || c.Started < c.Submitted || c.Ended < c.Started || c.Started < last {
			t.Errorf("command %d (%s): queued %d, submitted %d, started %d, ended %d after %d", i, c.Kind, c.Queued, c.Submitted, c.Started, c.Ended, last)
		}
		if c.Host.Before(before) || c.Host.After(after) {
			t.Errorf("command %d was queued at %v, not between %v and %v", i, c.Host, before, after)
		}
		last = c.Ended
	}
}

// A caller that never waits is told all the same, and little is kept.
func TestWatchLong(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	a := newBuffer(t, ctx, 64, "a")
	n := 0
	w, err := q.Watch(func(*clrt.Command) { n++ })
	must(t, err)
	const total = 10000
	for range total {
		must(t, q.Fill(a, 0, 64, []byte{1, 0, 0, 0}))
	}
	if n < total-4096-1024 { // what may be under way without a wait, and what is queued between two looks
		t.Errorf("told of %d of %d commands before the end", n, total)
	}
	must(t, w.Close())
	if n != total {
		t.Errorf("told of %d of %d commands", n, total)
	}
}

// TestWatchUntimed: a queue that keeps no times says so.
func TestWatchUntimed(t *testing.T) {
	ctx := openContext(t)
	q, err := ctx.NewUntimedQueue()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if w, err := q.Watch(func(*clrt.Command) {}); err == nil {
		w.Close()
		t.Error("it is watched")
	}
	ev, err := q.Marker()
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	if _, _, _, _, err := ev.Times(); err == nil {
		t.Error("its events have times")
	}
}
