package buffers

import (
	"runtime"
	"sync"
)

// Blocks keeps large slices that were put back, as [Slices] does, but only lets go those that
// nobody took between two garbage collections: what is in use again and again stays, however
// often memory is collected. It has one lock, which is nothing beside the time to fill a large slice.
// The zero value is ready for use, from several goroutines; nil keeps nothing.
type Blocks[T any] struct{ kept kept[[]T] }

// Get returns n elements of any content.
func (b *Blocks[T]) Get(n int) []T {
	if b != nil {
		if v, ok := b.kept.take(); ok && cap(v) >= n {
			return v[:n]
		}
	}
	return make([]T, n)
}

// Put gives a slice back, which the caller does not use any more.
func (b *Blocks[T]) Put(v []T) {
	if b != nil && cap(v) > 0 {
		b.kept.put(v)
	}
}

// kept are values that nobody uses, the one put back last at the end.
type kept[T any] struct {
	mu      sync.Mutex
	free    []T
	unused  int  // how many of the first nobody took since the last collection
	watched bool // collected will be called
}

func (k *kept[T]) take() (v T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.free) - 1
	if n < 0 {
		return v, false
	}
	v = k.free[n]
	clear(k.free[n:])
	k.free = k.free[:n]
	k.unused = min(k.unused, n)
	return v, true
}

func (k *kept[T]) put(v T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free = append(k.free, v)
	k.watch()
}

// watch has collected called after the next collection, by something that nobody refers to.
func (k *kept[T]) watch() {
	if !k.watched {
		k.watched = true
		runtime.AddCleanup(&struct{ of *kept[T] }{k}, (*kept[T]).collected, k)
	}
}

// collected lets go what nobody took since the collection before. Where nothing is left, nothing
// refers to k any more.
func (k *kept[T]) collected() {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := copy(k.free, k.free[k.unused:])
	clear(k.free[n:])
	k.free, k.unused, k.watched = k.free[:n], n, false
	if n > 0 {
		k.watch()
	}
}
