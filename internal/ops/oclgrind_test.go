package ops_test

import (
	"os"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// TestOclgrind runs every kernel on tiny planes, for a device that checks each
// access (ENHANCE_OCLGRIND=1, see the Makefile).
func TestOclgrind(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("only for a checking device: ENHANCE_OCLGRIND=1")
	}
	eachLab(t, func(l *lab) {
		l.upsample(l.Random(2, 2, 3), true)
		l.upsample(l.Random(1, 1, 9), false)
		l.upsample(l.Random(1, 1, 8), false) // whole vectors: rims of another kind
		l.norm(l.Random(2, 3, 19))
		l.mergeStats(l.Random(3, 5, 19), conv.StatsTile{Rows: 2, Columns: 4})
		l.Release()
		pool := l.Random(2, 5, 7)
		l.sweep(2, 2, 3, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
			s := l.Source(pool, l.Anywhere(2, 2*(y1-y0), 5), 2*y0, 2*y1)
			l.Must(l.MaxPool(s.Ring, dst, y0, y1))
			return []*convtest.Ring{s}
		})
		quads := l.Random(8, 2, 3)
		l.sweep(2, 4, 6, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
			s := l.Source(quads, l.Anywhere(8, 2, 2), 0, 2)
			l.Must(l.Shuffle(s.Ring, dst, y0, y1))
			return []*convtest.Ring{s}
		})
		p := pointwise{lab: l, src: l.Random(2, 2, 5), res: l.Random(2, 2, 5), all: 7, first: 1, act: 2}
		for range 2 * p.all {
			p.scales = append(p.scales, l.Rng.Float32())
		}
		p.apart()
		p.inPlace()
	})
}
