package buffers

import (
	"runtime"
	"testing"
	"time"
)

func TestSlices(t *testing.T) {
	var kept Slices[uint16]
	var none *Slices[uint16]
	for _, s := range []*Slices[uint16]{&kept, none} {
		s.Put(nil)
		s.Put(make([]uint16, 100))
		for _, n := range []int{40, 200, 0} {
			b := s.Get(n)
			if len(b) != n {
				t.Errorf("%d elements, want %d", len(b), n)
			}
			s.Put(b)
		}
	}
}

func TestValues(t *testing.T) {
	made := 0
	s := Values[int]{New: func() *int { made++; return new(int) }}
	a, b := s.Get(), s.Get()
	if a == b || made != 2 {
		t.Errorf("two values in use are %p and %p, %d made", a, b, made)
	}
	s.Put(a)
	if c := s.Get(); c == b {
		t.Error("a value in use was given out again")
	}
}

// TestBlocks: slices put back are given out again, the last first, but not too short ones, and
// those that nobody takes are let go by collections while those in use stay.
func TestBlocks(t *testing.T) {
	var b Blocks[uint16]
	b.Put(nil)
	(*Blocks[uint16])(nil).Put((*Blocks[uint16])(nil).Get(3))
	first, second := b.Get(100), b.Get(100)
	b.Put(first)
	b.Put(second)
	if got := b.Get(40); len(got) != 40 || &got[0] != &second[0] {
		t.Error("what was put back last is not given out first")
	}
	if got := b.Get(200); len(got) != 200 {
		t.Errorf("%d elements, want 200", len(got))
	}
	used := b.Get(10)
	for range 5 {
		b.Put(make([]uint16, 10))
	}
	b.Put(used)
	for range 3 {
		b.kept.collected()
		got := b.Get(10)
		if &got[0] != &used[0] {
			t.Error("a slice in use was let go")
		}
		b.Put(got)
	}
	if n := len(b.kept.free); n != 1 {
		t.Errorf("%d slices are kept where one is used", n)
	}
}

// TestBlocksCollected: what nobody takes is let go by garbage collections.
func TestBlocksCollected(t *testing.T) {
	var b Blocks[byte]
	b.Put(make([]byte, 100))
	left := func() int {
		b.kept.mu.Lock()
		defer b.kept.mu.Unlock()
		return len(b.kept.free)
	}
	for try := 0; left() > 0; try++ { // cleanups run some time after a collection
		if try == 1000 {
			t.Fatal("a slice is kept after many collections")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}
