package buffers

import "testing"

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
