package opcode

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// BadConstant marks the samples of one stored value as bad (FixBadPixelsConstant).
type BadConstant struct {
	Constant uint32
	Phase    uint32 // see BadList
}

// BadList marks points and rectangles of samples as bad (FixBadPixelsList).
type BadList struct {
	// Phase is the filter of the frame's first sample: 0 red, 1 green in a row
	// with red, 2 green in a row with blue, 3 blue.
	Phase  uint32
	Points []Point      // by row
	Rects  []TrimBounds // no more than maxRects
}

// Point is a sample's place.
type Point struct{ Row, Column uint32 }

// maxRects bounds the work for a row. Sensors with so many bad rectangles are not
// sold.
const maxRects = 1 << 16

func readBadConstant(p *parser) (any, string) {
	b := &BadConstant{Constant: p.uint32(), Phase: p.uint32()}
	return b, checkPhase(b.Phase)
}

func checkPhase(phase uint32) string {
	if phase > 3 {
		return fmt.Sprintf("its Bayer phase is %d, want 0 to 3", phase)
	}
	return ""
}

func readBadList(p *parser) (any, string) {
	b := &BadList{Phase: p.uint32()}
	points, rects := p.uint32(), p.uint32()
	if problem := checkPhase(b.Phase); problem != "" {
		return nil, problem
	}
	if rects > maxRects {
		return nil, fmt.Sprintf("it has %d rectangles, more than %d", rects, maxRects)
	}
	if !p.has(8*uint64(points)+16*uint64(rects), 1) {
		return nil, ""
	}
	b.Points = make([]Point, points)
	for i := range b.Points {
		b.Points[i] = Point{p.uint32(), p.uint32()}
	}
	slices.SortFunc(b.Points, func(a, b Point) int { return cmp.Compare(a.Row, b.Row) })
	b.Rects = make([]TrimBounds, rects)
	for i := range b.Rects {
		b.Rects[i] = TrimBounds{p.uint32(), p.uint32(), p.uint32(), p.uint32()}
	}
	return b, ""
}

// marker marks the bad ones among samples of rows y to y+n-1: bad has a byte for
// each sample.
type marker interface {
	mark(y, n, width int, rows []float32, bad []bool)
	phase() uint32
}

func (b *BadConstant) phase() uint32 { return b.Phase }

func (b *BadConstant) mark(_, _, _ int, rows []float32, bad []bool) {
	for i, v := range rows {
		bad[i] = uint32(v*math.MaxUint16+0.5) == b.Constant
	}
}

func (b *BadList) phase() uint32 { return b.Phase }

func (b *BadList) mark(y, n, width int, _ []float32, bad []bool) {
	clear(bad)
	first, _ := slices.BinarySearchFunc(b.Points, uint32(y), func(p Point, row uint32) int { return cmp.Compare(p.Row, row) })
	for _, p := range b.Points[first:] {
		if int(p.Row) >= y+n {
			break
		}
		if int(p.Column) < width {
			bad[(int(p.Row)-y)*width+int(p.Column)] = true
		}
	}
	depth := make([]int32, width+1)
	for r := range n {
		clear(depth)
		any := false
		for _, q := range b.Rects {
			if int(q.Top) <= y+r && y+r < int(q.Bottom) && q.Left < q.Right && int(q.Left) < width {
				depth[q.Left]++
				depth[min(int(q.Right), width)]--
				any = true
			}
		}
		if !any {
			continue
		}
		d := int32(0)
		for x := range width {
			d += depth[x]
			if d > 0 {
				bad[r*width+x] = true
			}
		}
	}
}

// reach is how many rows above and below a bad sample are looked at.
const reach = 8

// Steps from a bad sample to its neighbours of the same colour, as pairs of
// opposites: half of each pair, at the nearest distance.
var (
	greenSteps = [4][2]int{{1, 1}, {1, -1}, {0, 2}, {2, 0}}
	otherSteps = [4][2]int{{0, 2}, {2, 0}, {2, 2}, {2, -2}}
)

// repair gives the value of bad sample r, x: the mean of two opposite good
// neighbours of its colour, those that differ least, at the least distance that
// has such; else the mean of the good neighbours at that distance. Without a good
// neighbour within reach the sample stays as it is.
func repair(rows []float32, bad []bool, width, n, r, x int, green bool) float32 {
	steps := &otherSteps
	if green {
		steps = &greenSteps
	}
	at := func(dr, dx int) (float32, bool) {
		rr, xx := r+dr, x+dx
		if rr < 0 || rr >= n || xx < 0 || xx >= width || bad[rr*width+xx] {
			return 0, false
		}
		return rows[rr*width+xx], true
	}
	for far := 1; far <= reach/2; far++ {
		best, value := float32(math.Inf(1)), float32(0)
		sum, count := float32(0), float32(0)
		for _, s := range steps {
			a, okA := at(far*s[0], far*s[1])
			b, okB := at(-far*s[0], -far*s[1])
			if okA {
				sum, count = sum+a, count+1
			}
			if okB {
				sum, count = sum+b, count+1
			}
			if d := float32(math.Abs(float64(a - b))); okA && okB && d < best {
				best, value = d, (a+b)/2
			}
		}
		if best < float32(math.Inf(1)) {
			return value
		}
		if count > 0 {
			return sum / count
		}
	}
	return rows[r*width+x]
}

// greenAt reports whether the sample at y, x of a frame is green.
func greenAt(phase uint32, y, x int) bool {
	first := 0
	if phase == 1 || phase == 2 {
		first = 1
	}
	return (y+x+first)&1 == 1
}
