package queue

import (
	"fmt"
	"testing"

	"enhance/internal/farm"
)

// BenchmarkSubmit streams tasks into a queue in this process, with and without flushing every write to the disk.
func BenchmarkSubmit(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprint("sync=", sync), func(b *testing.B) {
			p := farm.DefaultPolicy()
			p.Queue = 1 << 30
			s, err := Serve(b.Context(), ServerOptions{Dir: b.TempDir(), Policy: p, Sync: sync})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			q := join(b, Options{Server: s})
			o := putOrder(b, q)
			b.ResetTimer()
			if _, err := q.Submit(b.Context(), o.ID(), photos(o.ID(), b.N, 0), nil); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "photos/s")
		})
	}
}

// BenchmarkPhoto is all that the queue is asked about a photo that goes well. The time is the server's and the
// worker's together.
func BenchmarkPhoto(b *testing.B) {
	p := farm.DefaultPolicy()
	p.Queue = 1 << 30
	s, q := serve(b, p)
	w := worker(b, Options{Server: s})
	o := putOrder(b, q)
	if _, err := q.Submit(b.Context(), o.ID(), photos(o.ID(), b.N, 0), nil); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		l, err := w.TakeNow(b.Context(), of([]int{0}))
		if err != nil || l == nil {
			b.Fatal(l, err)
		}
		if f, err := l.Begin(b.Context(), "w"); f != nil || err != nil {
			b.Fatal(f, err)
		}
		if err := done(b, w, l); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "photos/s")
}
