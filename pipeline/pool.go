package pipeline

import "sync"

// samplePool keeps memory for samples from photo to photo: fresh memory costs a
// page fault every 4 KiB, which for a picture's rows takes longer than to develop
// them. What nobody took for a while goes to the collector. A nil pool keeps
// nothing.
type samplePool struct{ pool sync.Pool }

// take returns n samples of any content.
func (p *samplePool) take(n int) []uint16 {
	if p != nil {
		if b, ok := p.pool.Get().(*[]uint16); ok && cap(*b) >= n {
			return (*b)[:n]
		}
	}
	return make([]uint16, n)
}

// give returns what take gave, or nil.
func (p *samplePool) give(b []uint16) {
	if p != nil && b != nil {
		p.pool.Put(&b)
	}
}
