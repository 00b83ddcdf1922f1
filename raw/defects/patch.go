package defects

import "math"

// How far around a sample is looked: the samples that the prediction is fitted to lie
// trainReach rows and columns away at most, and their neighbours featureReach more.
const (
	trainReach   = 8
	featureReach = 3
	reach        = trainReach + featureReach
	patchSide    = 2*reach + 1
)

// window is rows top and on of a photo.
type window struct {
	rows          []uint16
	top           int
	width, height int
}

// row is row y, reflected at the photo's border.
func (w *window) row(y int) []uint16 { return w.rows[(mirror(y, w.height)-w.top)*w.width:][:w.width] }

// mirror reflects i into 0 to n-1; a sample keeps its filter place.
func mirror(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// patch is the neighbourhood of a sample, which is in its middle: roots of light. Beyond
// the photo's border it is reflected.
type patch struct {
	v   [1024]float64     // by place
	bad [patchSide]uint32 // not to be used: by row, a bit for each column
	fit fit               // of predict

	others [patchSide * patchSide]other // of crowded
}

// patchStride is how far apart in patch.v a sample and the one below it are: a power of two, so that
// places are within it whatever is added to them, modulo its length.
const patchStride = 32

// at is the sample of row y, column x of the patch.
func (p *patch) at(y, x int) float64 { return p.v[(y*patchStride+x)%len(p.v)] }

// middle is the spot's own.
func (p *patch) middle() float64 { return p.v[reach*patchStride+reach] }

func (p *patch) isBad(y, x int) bool { return p.bad[y]>>x&1 != 0 }

func (p *patch) setBad(y, x int) { p.bad[y] |= 1 << x }

// fill takes the neighbourhood of a spot.
func (f *finder) fill(p *patch, q *spot) {
	for i := range patchSide {
		row, line := q.row(i-reach), p.v[i*patchStride:][:patchSide]
		even, odd := f.at(q.y+i-reach, q.x-reach), f.at(q.y+i-reach, q.x-reach+1)
		for j := 0; j < patchSide-1; j += 2 {
			line[j], line[j+1] = even[row[j]], odd[row[j+1]]
		}
		line[patchSide-1] = even[row[patchSide-1]]
	}
}

// clear makes the middle bad, wherever it is reflected, and all else good.
func (p *patch) clear(q *spot) {
	p.bad = [patchSide]uint32{}
	p.setBad(reach, reach)
	if q.inside {
		return
	}
	var columns uint32
	for j := range patchSide {
		if mirror(q.x+j-reach, q.width) == q.x {
			columns |= 1 << j
		}
	}
	for i := range patchSide {
		if mirror(q.y+i-reach, q.height) == q.y {
			p.bad[i] = columns
		}
	}
}

// sample is the stored sample of a root at row y, column x.
func (f *finder) sample(root float64, y, x int) uint16 {
	root = max(root, 0)
	v := float64(root*root) + f.black[y&1][x&1]
	return uint16(min(max(v, 0), math.MaxUint16) + 0.5)
}

// square makes light of roots.
func (p *patch) square() {
	for i, v := range &p.v {
		p.v[i] = float64(v * v)
	}
}
