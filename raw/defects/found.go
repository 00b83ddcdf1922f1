package defects

import (
	"slices"
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
	list  []Place         // what was to be repaired, sorted; nil if defects are looked for
	apart int             // places of the list that the photo has not
}

// Outside is how many places of the list lie outside the photo.
func (f *Found) Outside() int { return f.apart }

// Listed is how many places of the list are in rows y0 to y1-1.
func (f *Found) Listed(y0, y1 int) int64 { return int64(len(placesIn(f.list, y0, y1))) }

// placesIn are the places of a sorted list in rows y0 to y1-1.
func placesIn(list []Place, y0, y1 int) []Place {
	row := func(p Place, y int) int { return p.Row - y }
	first, _ := slices.BinarySearchFunc(list, y0, row)
	last, _ := slices.BinarySearchFunc(list, y1, row)
	return list[first:last]
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
