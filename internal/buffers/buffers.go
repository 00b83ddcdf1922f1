// Package buffers keeps memory for reuse. Fresh memory costs a page fault every 4 KiB,
// which for a picture's rows takes longer than to compute them.
package buffers

import "sync"

// Slices keeps slices that were put back until the garbage collector wants their
// memory. The zero value is ready for use, from several goroutines; nil keeps nothing.
type Slices[T any] struct{ pool sync.Pool }

// Get returns n elements of any content.
func (s *Slices[T]) Get(n int) []T {
	if s != nil {
		if b, ok := s.pool.Get().(*[]T); ok && cap(*b) >= n {
			return (*b)[:n]
		}
	}
	return make([]T, n)
}

// Put gives a slice back, which the caller does not use any more.
func (s *Slices[T]) Put(b []T) {
	if s != nil && cap(b) > 0 {
		s.pool.Put(&b)
	}
}

// Values keeps values of one type that were put back until the garbage collector wants
// their memory, for use from several goroutines. New makes a value where none is kept.
type Values[T any] struct {
	New  func() *T
	pool sync.Pool
}

// Get returns a value of any content.
func (s *Values[T]) Get() *T {
	if v, ok := s.pool.Get().(*T); ok {
		return v
	}
	return s.New()
}

// Put gives a value back, which the caller does not use any more.
func (s *Values[T]) Put(v *T) { s.pool.Put(v) }
