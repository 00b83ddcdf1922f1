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
