package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"enhance/internal/buffers"
	"enhance/internal/trace"
	"enhance/raw"
)

// blockRows is how many mosaic rows are decoded at a time.
const blockRows = 64

// aheadBlocks is how many decoded blocks are held at least: those that a chunk of
// the network's input needs, and some that are ready when the next is asked for.
const aheadBlocks = 8

// ahead decodes a photo in a goroutine of its own, before the rows are asked for:
// blocks of blockRows rows of the region, in full width. It holds up to keep
// blocks, ascending; going back starts the decoding again from there, unless keep
// is all of them.
type ahead struct {
	ctx    context.Context
	photo  *raw.Photo
	region raw.Rect
	keep   int
	pool   *buffers.Slices[uint16]
	stages *trace.Stages

	mu        sync.Mutex
	turn      *sync.Cond
	held      map[int][]uint16 // blocks low to next-1
	used      map[int]int      // who uses those of them that somebody uses
	from      int              // what was asked for last
	free      [][]uint16
	low, next int
	err       error
	took      time.Duration
	closed    bool
	ended     chan struct{}
}

// newAhead starts decoding. Until it is closed nobody else may read the photo.
func newAhead(ctx context.Context, p *raw.Photo, region raw.Rect, keep int, pool *buffers.Slices[uint16], stages *trace.Stages) *ahead {
	a := &ahead{ctx: ctx, photo: p, region: region, pool: pool, stages: stages, held: map[int][]uint16{}, used: map[int]int{}, ended: make(chan struct{})}
	a.keep = aheadKeep(keep, region)
	a.turn = sync.NewCond(&a.mu)
	go a.work()
	return a
}

// total is how many blocks the region has.
func (a *ahead) total() int { return blocksOf(a.region) }

func blocksOf(region raw.Rect) int { return (region.Height() + blockRows - 1) / blockRows }

// aheadKeep is how many blocks are held where keep are asked for.
func aheadKeep(keep int, region raw.Rect) int { return min(max(keep, aheadBlocks), blocksOf(region)) }

// blocks returns blocks first to last, which must be fewer than aheadBlocks. They
// stay until done is called, which must be.
func (a *ahead) blocks(first, last int) (bs [][]uint16, done func(), err error) {
	stop := context.AfterFunc(a.ctx, a.wake)
	defer stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keep < a.total() {
		for first < a.low && len(a.used) > 0 && a.failure() == nil {
			a.turn.Wait()
		}
		if first < a.low {
			a.drop(a.next)
			a.low, a.next = first, first
		}
		a.from = first
		a.dropUnused()
	}
	a.turn.Broadcast()
	for a.next <= last && a.failure() == nil {
		a.turn.Wait()
	}
	if err := a.failure(); err != nil && (a.next <= last || err != a.err) {
		return nil, nil, err
	}
	for n := first; n <= last; n++ {
		bs = append(bs, a.held[n])
		a.used[n]++
	}
	return bs, func() { a.release(first, last) }, nil
}

// rows copies rows y to y+n-1 of the active area, which lie in the region, in full
// width.
func (a *ahead) rows(y, n int, dst []uint16) error {
	w := a.photo.Meta().Width
	for end := y + n; y < end; {
		at := y - a.region.Y0
		bs, done, err := a.blocks(at/blockRows, at/blockRows)
		if err != nil {
			return err
		}
		dst = dst[copy(dst[:(end-y)*w], bs[0][at%blockRows*w:min(blockRows, a.region.Height()-at/blockRows*blockRows)*w]):]
		done()
		y += blockRows - at%blockRows
	}
	return nil
}

// failure says why nothing more comes.
func (a *ahead) failure() error {
	if a.closed {
		return errClosed
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return a.err
}

func (a *ahead) release(first, last int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n := first; n <= last; n++ {
		if a.used[n]--; a.used[n] == 0 {
			delete(a.used, n)
		}
	}
	if a.keep < a.total() {
		a.dropUnused()
	}
	a.turn.Broadcast()
}

// dropUnused gives up the blocks before those that were asked for last and before
// those in use.
func (a *ahead) dropUnused() {
	n := a.from
	for k := range a.used {
		n = min(n, k)
	}
	a.drop(n)
}

// wake makes all that wait look again.
func (a *ahead) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn.Broadcast()
}

// drop gives up the blocks before n.
func (a *ahead) drop(n int) {
	for ; a.low < min(n, a.next); a.low++ {
		a.free = append(a.free, a.held[a.low])
		delete(a.held, a.low)
	}
	if a.low < n && a.low == a.next { // nothing held: go on from there
		a.low, a.next = n, n
	}
}

// work decodes block after block while there is room.
func (a *ahead) work() {
	defer close(a.ended)
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for !a.closed && (a.next >= a.total() || a.next-a.low >= a.keep || a.err != nil) {
			a.turn.Wait()
		}
		if a.closed {
			return
		}
		n := a.next
		b := a.room()
		a.mu.Unlock()
		start := time.Now()
		err := a.decode(n, b)
		a.mu.Lock()
		a.took += time.Since(start)
		switch {
		case a.next != n: // somebody went back meanwhile
			a.free = append(a.free, b)
		case err != nil:
			a.err = err
		default:
			a.held[n] = b
			a.next++
		}
		a.turn.Broadcast()
	}
}

// room is memory for a block.
func (a *ahead) room() []uint16 {
	if n := len(a.free); n > 0 {
		b := a.free[n-1]
		a.free = a.free[:n-1]
		return b
	}
	return a.pool.Get(min(blockRows, a.region.Height()) * a.photo.Meta().Width)
}

func (a *ahead) decode(n int, b []uint16) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	defer a.stages.Begin("decode")()
	y0 := n * blockRows
	return a.photo.ReadRows(a.region.Y0+y0, min(blockRows, a.region.Height()-y0), b)
}

// close ends the decoding and returns when the photo is no longer read.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	a.turn.Broadcast()
	a.mu.Unlock()
	<-a.ended
	for _, b := range a.held {
		a.free = append(a.free, b)
	}
	for _, b := range a.free {
		a.pool.Put(b)
	}
	a.held, a.free = nil, nil
}

// errClosed is what asking a closed ahead for blocks gives.
var errClosed = errors.New("pipeline: the photo is no longer decoded")

// busy is how long decoding took so far.
func (a *ahead) busy() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.took
}
