package clrt_test

import (
	"testing"

	"enhance/clrt"
)

// The work of these launches is next to nothing, so the time is the overhead.
func BenchmarkLaunch(b *testing.B) {
	ctx := openContext(b)
	q := newQueue(b, ctx)
	k := kernel(b, ctx, addSource, "add")
	buf := newBuffer(b, ctx, 64, "b")
	must(b, k.SetArgs(buf, buf, buf, int32(16)))
	g, l := []int{16}, []int{16}
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				must(b, f())
				if i%1000 == 999 { // no driver likes an endless queue
					must(b, q.Finish())
				}
			}
			must(b, q.Finish())
		})
	}
	run("quiet", func() error { return q.LaunchQuiet(k, g, l) })
	run("event", func() error {
		ev, err := q.Launch(k, g, l)
		if err != nil {
			return err
		}
		return ev.Close()
	})
	run("finish", func() error {
		if err := q.LaunchQuiet(k, g, l); err != nil {
			return err
		}
		return q.Finish()
	})
	b.Run("setargs", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(b, k.SetArgs(buf, buf, buf, int32(16)))
		}
	})
}

func BenchmarkTransfer(b *testing.B) {
	ctx := openContext(b)
	q := newQueue(b, ctx)
	const size = 16 << 20
	buf := newBuffer(b, ctx, size, "b")
	p := make([]byte, size)
	for name, f := range map[string]func(*clrt.Buffer, int64, []byte) error{"write": q.Write, "read": q.Read} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				must(b, f(buf, 0, p))
			}
		})
	}
}

// A build from source, which on PoCL still meets PoCL's own cache, and one
// from the cache on disk.
func BenchmarkBuild(b *testing.B) {
	ctx := openContext(b)
	build := func(b *testing.B) {
		for b.Loop() {
			p, err := ctx.Build(addSource, "")
			must(b, err)
			must(b, p.Close())
		}
	}
	b.Run("source", func(b *testing.B) {
		b.Setenv("ENHANCE_CACHE_DIR", "off")
		build(b)
	})
	b.Run("cache", func(b *testing.B) {
		b.Setenv("ENHANCE_CACHE_DIR", b.TempDir())
		build(b)
	})
}
