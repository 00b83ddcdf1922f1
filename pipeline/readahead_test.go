package pipeline

import (
	"runtime"
	"testing"
)

// TestBlocksTogether: calls are for all cores, of a few blocks where memory is scarce, and of about one size, since
// each takes the memory of the largest.
func TestBlocksTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range []struct {
		cores, most, scarce int
	}{{1, 2, 1}, {2, 4, 1}, {16, 32, 8}, {64, 32, 8}} {
		runtime.GOMAXPROCS(c.cores)
		for total := range 300 {
			for _, scarce := range []bool{false, true} {
				most := c.most
				if scarce {
					most = c.scarce
				}
				n := blocksTogether(total, total, scarce)
				if n < 1 || n > most {
					t.Fatalf("%d cores, %d blocks, scarce %v: %d together, want 1 to %d", c.cores, total, scarce, n, most)
				}
				calls := (total + n - 1) / n
				if calls != (total+most-1)/most || calls*n-total > max(calls-1, 0) {
					t.Errorf("%d cores, %d blocks, scarce %v: %d calls of %d", c.cores, total, scarce, calls, n)
				}
			}
		}
		if n := blocksTogether(8, 9, false); n != 1 {
			t.Errorf("%d together where not all are held", n)
		}
	}
}
