package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"enhance/raw"
)

// TestDeviceQueue: runs have the device one at a time and in order, whether they wait,
// leave early or leave twice.
func TestDeviceQueue(t *testing.T) {
	var ts deviceQueue
	var mu sync.Mutex
	holding, last := -1, -1
	var wg sync.WaitGroup
	for i := range 200 {
		p := ts.join()
		wg.Go(func() {
			defer p.leave()
			if i%7 == 3 {
				p.leave() // failed before its turn
				return
			}
			if i%5 == 0 {
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			}
			if err := p.wait(context.Background()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			if holding >= 0 || last >= i {
				t.Errorf("%d has its turn while %d has it, after %d", i, holding, last)
			}
			holding, last = i, i
			mu.Unlock()
			time.Sleep(10 * time.Microsecond)
			mu.Lock()
			holding = -1
			mu.Unlock()
			p.leave()
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	first, second, third := ts.join(), ts.join(), ts.join()
	cancel()
	if err := second.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a context that is done: %v", err)
	}
	second.leave()
	select {
	case <-third.before:
		t.Error("a place that was given up early let those behind pass those before")
	case <-time.After(5 * time.Millisecond):
	}
	first.leave()
	if err := third.wait(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestLedger: what is taken never passes the total, except by one alone.
func TestLedger(t *testing.T) {
	l := newMemoryLimiter(100, false)
	if err := l.acquire(context.Background(), 250); err != nil { // alone
		t.Fatal(err)
	}
	l.release(250)
	if l.affords(1) {
		t.Error("room is promised before it is known what is held anyway")
	}
	must := func(n int64) {
		if err := l.acquire(context.Background(), n); err != nil {
			t.Error(err)
		}
	}
	must(10)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := l.acquire(ctx, 1); err == nil {
		t.Error("a second was let in before it is known what is held anyway")
	}
	l.setFixed(20)
	must(30)
	l.release(10)
	l.release(30)
	if !l.affords(26) || l.affords(27) {
		t.Error("three of 26 bytes fit beside 20 in 100, three of 27 do not")
	}
	var mu sync.Mutex
	used := int64(0)
	var wg sync.WaitGroup
	for range 100 {
		n := 1 + rand.Int64N(79)
		wg.Go(func() {
			must(n)
			mu.Lock()
			if used += n; used > 80 {
				t.Errorf("%d bytes are taken", used)
			}
			mu.Unlock()
			time.Sleep(20 * time.Microsecond)
			mu.Lock()
			used -= n
			mu.Unlock()
			l.release(n)
		})
	}
	wg.Wait()
}

// TestAhead: blocks are those of the photo, forward, back and in jumps, however
// many are kept or decoded together.
func TestAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7)) // so that three are
	p, err := raw.Open("../testdata/raw/colorchart.dng", raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := p.Meta()
	region := raw.Rect{X0: 3, Y0: 5, X1: m.Width - 2, Y1: m.Height - 7}
	want := make([]uint16, region.Height()*m.Width)
	if err := p.ReadRows(region.Y0, region.Height(), want); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int{0, 11, 1000} {
		a := newReadAhead(context.Background(), p, region, keep, nil, nil)
		total := a.total()
		at := []int{0, 1, 2, 1, 3, 7, 8, total - 1, total - 2, 0, 5, total / 2}
		for range 30 {
			at = append(at, rand.IntN(total))
		}
		for _, n := range at {
			last := min(n+rand.IntN(3), total-1)
			bs, done, err := a.blocks(n, last)
			if err != nil || len(bs) != last-n+1 {
				t.Fatalf("blocks %d to %d: %d, %v", n, last, len(bs), err)
			}
			time.Sleep(200 * time.Microsecond) // the decoder goes on meanwhile
			for i, b := range bs {
				all := want[(n+i)*blockRows*m.Width:]
				if size := min(blockRows*m.Width, len(all)); !slices.Equal(b[:size], all[:size]) {
					t.Fatalf("keeping %d: block %d is not the photo's", keep, n+i)
				}
			}
			done()
		}
		a.close()
	}
}

// TestLargestOf: the largest sample is found wherever it is.
func TestLargestOf(t *testing.T) {
	for n := range 70 {
		for at := range n {
			for _, v := range []uint16{7, 32767, 32768, 65535} {
				samples := slices.Repeat([]uint16{v - 1}, n)
				if samples[at] = v; largestOf(samples) != v {
					t.Fatalf("sample %d of %d is not found: %d, not %d", at, n, largestOf(samples), v)
				}
			}
		}
	}
	s, all := seenBlocks{}, make([]uint16, 3<<16+5)
	all[len(all)-1] = 9
	if s.watch(all); s.largest != 9 {
		t.Errorf("the last sample of %d is not seen", len(all))
	}
}

// TestAheadStops: a context that is done ends waiting, and closing never hangs.
func TestAheadStops(t *testing.T) {
	p, err := raw.Open("../testdata/raw/colorchart.dng", raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(context.Background())
	a := newReadAhead(ctx, p, raw.Rect{X1: p.Meta().Width, Y1: p.Meta().Height}, 0, nil, nil)
	cancel()
	if _, _, err := a.blocks(a.total()-1, a.total()-1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	a.close()
}
