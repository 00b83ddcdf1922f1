package exec

import (
	"sync/atomic"
	"testing"
)

// TestCrew: every row is done once, of several jobs at a time, and a job's end comes
// after its rows and before done.
func TestCrew(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		c := newCrew(workers)
		const jobs, rows = 5, 33
		var times [jobs][rows]atomic.Int32
		var ended [jobs]atomic.Bool
		var done []<-chan struct{}
		for k := range jobs {
			done = append(done, c.start(k, rows, func(worker, y int) {
				if worker < 0 || worker >= workers || ended[k].Load() {
					t.Errorf("worker %d of %d does row %d, end called: %v", worker, workers, y, ended[k].Load())
				}
				times[k][y].Add(1)
			}, func() { ended[k].Store(true) }))
		}
		for k := range jobs {
			<-done[k]
			if !ended[k].Load() {
				t.Errorf("job %d is done and was not ended", k)
			}
			for y := range rows {
				want := int32(1)
				if y < k {
					want = 0
				}
				if n := times[k][y].Load(); n != want {
					t.Errorf("%d workers, job %d: row %d was done %d times", workers, k, y, n)
				}
			}
		}
		c.close()
	}
}
