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

// blocksTogether is how many blocks are decoded in one call at most, where all are held: a call
// shares its rows out among the cores, and what it costs to wake them is paid once. Readers that apply a
// file's operations hold up to 17 bytes a sample of a call, which nobody counts, so that calls are of
// fewer where the host's memory is scarce.
func blocksTogether(blocks, total int, scarce bool) int {
	if blocks < total {
		return 1
	}
	most := min(2*cores(), 32)
	if scarce {
		most = min(cores()/2, 8)
	}
	most, total = max(most, 1), max(total, 1)
	calls := (total + most - 1) / most
	return (total + calls - 1) / calls // each has the memory of the largest
}

// readAhead decodes a photo in a goroutine of its own, before the rows are asked for:
// blocks of blockRows rows of the region, in full width. Going back starts the decoding
// again from there, unless all blocks are held.
type readAhead struct {
	ctx    context.Context
	photo  *raw.Photo
	region raw.Rect
	stages *trace.Stages
	most   int // blocks that are decoded together

	mu      sync.Mutex
	changed *sync.Cond
	window  blockWindow
	err     error
	took    time.Duration
	closed  bool
	seen    seenBlocks
	ended   chan struct{}
}

// blockWindow holds up to capacity decoded blocks, ascending: low to next-1.
type blockWindow struct {
	capacity  int
	low, next int
	held      map[int]heldBlock
	users     map[int]int // of those blocks that somebody uses
	from      int         // what was asked for last
	pool      *buffers.Blocks[uint16]
}

// heldBlock is a decoded block.
type heldBlock struct {
	rows []uint16
	of   *decodedBlocks
}

// decodedBlocks are the memory of blocks that were decoded together.
type decodedBlocks struct {
	rows []uint16
	held int // how many of them are
}

// newReadAhead starts decoding where memory is not scarce. Until it is closed nobody else may read the photo.
func newReadAhead(ctx context.Context, p *raw.Photo, region raw.Rect, blocks int, pool *buffers.Blocks[uint16], stages *trace.Stages) *readAhead {
	return startReadAhead(ctx, p, region, blocks, blocksTogether(blocksHeld(blocks, region), blocksOf(region), false), pool, stages)
}

// startReadAhead is newReadAhead with at most so many blocks decoded together.
func startReadAhead(ctx context.Context, p *raw.Photo, region raw.Rect, blocks, most int, pool *buffers.Blocks[uint16], stages *trace.Stages) *readAhead {
	a := &readAhead{ctx: ctx, photo: p, region: region, stages: stages, most: most, ended: make(chan struct{})}
	a.window = blockWindow{capacity: blocksHeld(blocks, region), held: map[int]heldBlock{}, users: map[int]int{}, pool: pool}
	a.changed = sync.NewCond(&a.mu)
	go a.work()
	return a
}

// total is how many blocks the region has.
func (a *readAhead) total() int { return blocksOf(a.region) }

func blocksOf(region raw.Rect) int { return (region.Height() + blockRows - 1) / blockRows }

// blocksHeld is how many blocks are held if so many are asked for.
func blocksHeld(asked int, region raw.Rect) int {
	return min(max(asked, aheadBlocks), blocksOf(region))
}

// together is how many blocks of the photo are decoded in one call.
func (r *run) together() int {
	return blocksTogether(blocksHeld(r.holds.blocks, r.geo.region), blocksOf(r.geo.region), r.session.lowHostMemory())
}

// keepDecoded has a photo that can be read from its top only decoded once, for its
// statistics and for the network, where the host has memory to spare. It reports whether that
// is so.
func (r *run) keepDecoded() bool {
	const share = 8 // of the memory that is available
	if r.session.lowHostMemory() || r.session.device.profile != nil {
		return false
	}
	bytes := 2 * int64(r.meta.Width) * int64(r.meta.Height)
	if avail, ok := r.session.host.available(); ok && bytes > avail/share {
		return false
	}
	return r.photo.KeepDecoded()
}

// blocks returns blocks first to last, which must be fewer than aheadBlocks. They
// stay until done is called, which must be.
func (a *readAhead) blocks(first, last int) (bs [][]uint16, done func(), err error) {
	stop := context.AfterFunc(a.ctx, a.wake)
	defer stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.window.capacity < a.total() {
		for first < a.window.low && len(a.window.users) > 0 && a.failure() == nil {
			a.changed.Wait()
		}
		if first < a.window.low {
			a.window.drop(a.window.next)
			a.window.low, a.window.next = first, first
		}
		a.window.from = first
		a.window.dropUnused()
	}
	a.changed.Broadcast()
	for a.window.next <= last && a.failure() == nil {
		a.changed.Wait()
	}
	if err := a.failure(); err != nil && (a.window.next <= last || err != a.err) {
		return nil, nil, err
	}
	for n := first; n <= last; n++ {
		bs = append(bs, a.window.held[n].rows)
		a.window.users[n]++
	}
	return bs, func() { a.release(first, last) }, nil
}

// rows copies rows y to y+n-1 of the active area, which lie in the region, in full
// width.
func (a *readAhead) rows(y, n int, dst []uint16) error {
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

// bytes is what the blocks hold that are decoded now.
func (a *readAhead) bytes() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.window.held)) * blockRows * 2 * int64(a.photo.Meta().Width)
}

// failure says why nothing more comes.
func (a *readAhead) failure() error {
	if a.closed {
		return errClosed
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return a.err
}

func (a *readAhead) release(first, last int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n := first; n <= last; n++ {
		if a.window.users[n]--; a.window.users[n] == 0 {
			delete(a.window.users, n)
		}
	}
	if a.window.capacity < a.total() {
		a.window.dropUnused()
	}
	a.changed.Broadcast()
}

// dropUnused gives up the blocks before those that were asked for last and before
// those in use.
func (w *blockWindow) dropUnused() {
	n := w.from
	for k := range w.users {
		n = min(n, k)
	}
	w.drop(n)
}

// wake makes all that wait look again.
func (a *readAhead) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed.Broadcast()
}

// drop gives up the blocks before n.
func (w *blockWindow) drop(n int) {
	for ; w.low < min(n, w.next); w.low++ {
		w.put(w.held[w.low])
		delete(w.held, w.low)
	}
	if w.low < n && w.low == w.next { // nothing held: go on from there
		w.low, w.next = n, n
	}
}

// work decodes block after block while there is room.
func (a *readAhead) work() {
	defer close(a.ended)
	a.mu.Lock()
	defer a.mu.Unlock()
	each := blockRows * a.photo.Meta().Width
	for {
		for !a.closed && (a.window.next >= a.total() || a.window.next-a.window.low >= a.window.capacity || a.err != nil) {
			a.changed.Wait()
		}
		if a.closed {
			return
		}
		n, w := a.window.next, &a.window
		some := min(a.most, w.capacity-(n-w.low), a.total()-n)
		b := w.pool.Get(min(a.most*blockRows, a.region.Height()) * a.photo.Meta().Width)
		b = b[:min(some*blockRows, a.region.Height()-n*blockRows)*a.photo.Meta().Width]
		a.mu.Unlock()
		start := time.Now()
		err := a.decode(n, b)
		first := err == nil && n == a.seen.count // which nobody else changes
		if first && a.photo.Meta().WhiteUnsure {
			a.seen.watch(b)
		}
		a.mu.Lock()
		a.took += time.Since(start)
		if first {
			a.seen.count += some
		}
		switch {
		case w.next != n: // somebody went back meanwhile
			w.pool.Put(b)
		case err != nil:
			a.err = err
		default:
			w.hold(some, b, each)
		}
		a.changed.Broadcast()
	}
}

// decode makes the blocks from n on that rows holds.
func (a *readAhead) decode(n int, rows []uint16) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	defer a.stages.Begin("decode")()
	return a.photo.ReadRows(a.region.Y0+n*blockRows, len(rows)/a.photo.Meta().Width, rows)
}

// close ends the decoding and returns when the photo is no longer read.
func (a *readAhead) close() {
	a.mu.Lock()
	a.closed = true
	a.changed.Broadcast()
	a.mu.Unlock()
	<-a.ended
	a.window.release()
}

// release gives all blocks back to the pool.
func (w *blockWindow) release() {
	for _, b := range w.held {
		w.put(b)
	}
	w.held = nil
}

// put gives the memory of a block up, which those have that were decoded with it.
func (w *blockWindow) put(b heldBlock) {
	if b.of.held--; b.of.held == 0 {
		w.pool.Put(b.of.rows)
	}
}

// hold takes blocks that were decoded, the next ones, of so many samples each.
func (w *blockWindow) hold(blocks int, rows []uint16, each int) {
	of := &decodedBlocks{rows, blocks}
	for i := range blocks {
		part := rows[i*each : min((i+1)*each, len(rows))]
		w.held[w.next] = heldBlock{part, of}
		w.next++
	}
}

// errClosed is what asking a closed readAhead for blocks gives.
var errClosed = errors.New("pipeline: the photo is no longer decoded")

// busy is how long decoding took so far.
func (a *readAhead) busy() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.took
}
