package workers

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		for _, workers := range []int{1, 2, 7, 200} {
			times := make([]atomic.Int32, n)
			busy := make([]atomic.Int32, workers)
			Each(workers, n, func(worker, i int) {
				if busy[worker].Add(1) != 1 {
					t.Errorf("two calls of worker %d overlap", worker)
				}
				times[i].Add(1)
				busy[worker].Add(-1)
			})
			for i := range times {
				if k := times[i].Load(); k != 1 {
					t.Errorf("%d workers: piece %d of %d was done %d times", workers, i, n, k)
				}
			}
		}
	}
}

// TestPool: every piece is done once, of several jobs at a time, and before done.
func TestPool(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		p := NewPool(workers)
		const jobs, end = 5, 33
		var times [jobs][end]atomic.Int32
		var done []<-chan struct{}
		for k := range jobs {
			done = append(done, p.Start(8*k, end, func(worker, i int) {
				if worker < 0 || worker >= p.Workers() {
					t.Errorf("worker %d of %d", worker, workers)
				}
				times[k][i].Add(1)
			}))
		}
		for k := range jobs {
			<-done[k]
			for i := range end {
				want := int32(1)
				if i < 8*k {
					want = 0
				}
				if n := times[k][i].Load(); n != want {
					t.Errorf("%d workers, job %d: piece %d was done %d times", workers, k, i, n)
				}
			}
		}
		<-p.Start(3, 3, func(int, int) { t.Error("a piece of none") })
		p.Close()
	}
}

func TestOrdered(t *testing.T) {
	var got []int
	emitting := sync.Mutex{}
	o := NewOrdered(4, func(i int) error {
		if !emitting.TryLock() {
			t.Error("two results are emitted at a time")
		}
		defer emitting.Unlock()
		got = append(got, i)
		return nil
	})
	var want []int
	for i := range 100 {
		want = append(want, i)
		pause := time.Duration(rand.IntN(200)) * time.Microsecond
		if err := o.Do(func() int { time.Sleep(pause); return i }); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Wait(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, error %v", got, err)
	}
}

// TestOrderedStops: after an error nothing more is emitted, and Do and Wait return it.
func TestOrderedStops(t *testing.T) {
	ours, emitted := errors.New("our own"), 0
	o := NewOrdered(2, func(i int) error {
		emitted++
		if i == 3 {
			return ours
		}
		return nil
	})
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = o.Do(func() int { return i })
	}
	if werr := o.Wait(); !errors.Is(err, ours) || !errors.Is(werr, ours) || emitted != 4 {
		t.Errorf("Do: %v, Wait: %v, %d results emitted", err, werr, emitted)
	}
}
