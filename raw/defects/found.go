package defects

import (
	"sync"

	"enhance/raw/mosaic"
)

// maxPlaces is how many places of a row are kept. Of a photo no more are listed than
// MaxListed.
const maxPlaces = 64

// MaxListed is how many places List gives at most.
const MaxListed = 1000

// Found is what was repaired. Its methods may be called at any time, by several
// goroutines. A row that is read again counts once.
type Found struct {
	mu    sync.Mutex
	count []int32
	where map[int][]int32 // by row
}

func newFound(m *mosaic.Meta) *Found {
	return &Found{count: make([]int32, m.Height), where: map[int][]int32{}}
}

// set notes the columns that were repaired in row y.
func (f *Found) set(y int, columns []int32) {
	if len(columns) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[y] = int32(len(columns))
	f.where[y] = columns[:min(len(columns), maxPlaces)]
}

// Count is how many samples of rows y0 to y1-1 were repaired.
func (f *Found) Count(y0, y1 int) (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.count[y0:y1] {
		n += int64(c)
	}
	return n
}

// List gives the places in rows y0 to y1-1, by row and column: the first MaxListed.
func (f *Found) List(y0, y1 int) (places []Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for y := y0; y < y1 && len(places) < MaxListed; y++ {
		for _, x := range f.where[y] {
			if len(places) < MaxListed {
				places = append(places, Place{y, int(x)})
			}
		}
	}
	return places
}
