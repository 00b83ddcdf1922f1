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
	v   [patchSide][patchSide]float64
	bad [patchSide][patchSide]bool // not to be used
}

// fill takes the neighbourhood of row y, column x; its middle is bad.
func (f *finder) fill(p *patch, w *window, y, x int) {
	p.clear(w, y, x)
	for i := range p.v {
		row := w.row(y + i - reach)
		black := f.black[(y+i-reach)&1]
		line := &p.v[i]
		if x >= reach && x < w.width-reach {
			for j, v := range row[x-reach:][:patchSide] {
				line[j] = f.root(v, black[(x+j-reach)&1])
			}
			continue
		}
		for j := range line {
			line[j] = f.root(row[mirror(x+j-reach, w.width)], black[(x+j-reach)&1])
		}
	}
}

// clear makes the middle bad, wherever it is reflected, and all else good.
func (p *patch) clear(w *window, y, x int) {
	p.bad = [patchSide][patchSide]bool{}
	p.bad[reach][reach] = true
	if min(y, x) >= reach && y < w.height-reach && x < w.width-reach {
		return
	}
	for i := range p.bad {
		for j := range p.bad[i] {
			p.bad[i][j] = mirror(y+i-reach, w.height) == y && mirror(x+j-reach, w.width) == x
		}
	}
}

// mark marks the places of a list that lie in the patch around row y, column x.
func (p *patch) mark(list []Place, y, x int, w *window) {
	for i := range p.bad {
		for j := range p.bad[i] {
			at := Place{mirror(y+i-reach, w.height), mirror(x+j-reach, w.width)}
			p.bad[i][j] = p.bad[i][j] || contains(list, at)
		}
	}
}

func (f *finder) root(v uint16, black float64) float64 { return math.Sqrt(max(float64(v)-black, 0)) }

// sample is the stored sample of a root at row y, column x.
func (f *finder) sample(root float64, y, x int) uint16 {
	root = max(root, 0)
	v := float64(root*root) + f.black[y&1][x&1]
	return uint16(min(max(v, 0), math.MaxUint16) + 0.5)
}

// square makes light of roots.
func (p *patch) square() {
	for i := range p.v {
		for j, v := range p.v[i] {
			p.v[i][j] = float64(v * v)
		}
	}
}
