package demosaic

import (
	"fmt"
	"time"

	"enhance/internal/workers"
	"enhance/raw/mosaic"
)

// Bilinear interpolates each colour from its nearest samples, weighted by a tent: plain
// bilinear interpolation on Bayer arrays, and its like on others. Pictures are compared with
// it; it is no way to develop a photo. It may be used by several goroutines.
type Bilinear struct {
	pattern mosaic.Pattern
	reach   int
	// near[phase][c] are the samples of colour c around a place of the pattern.
	near [][3][]neighbour
}

// neighbour is a sample at a distance and its weight.
type neighbour struct {
	dy, dx int
	weight float32
}

// NewBilinear makes one for a pattern with colours.
func NewBilinear(p mosaic.Pattern) (*Bilinear, error) {
	if p == mosaic.Mono || !p.Valid() {
		return nil, fmt.Errorf("demosaic: no filters to interpolate between")
	}
	b := &Bilinear{pattern: p}
	for y := range p.Rows() {
		for x := range p.Cols() {
			var place [3][]neighbour
			for c := range place {
				reach, near := nearest(p, y, x, mosaic.Colour(c))
				place[c], b.reach = near, max(b.reach, reach)
			}
			b.near = append(b.near, place)
		}
	}
	return b, nil
}

// nearest are the samples of a colour in the smallest square around a place that has any: the
// place itself if it has that colour.
func nearest(p mosaic.Pattern, y, x int, c mosaic.Colour) (reach int, near []neighbour) {
	at := func(dy, dx int) mosaic.Colour { // rows and columns before the first, too
		return p.At(y+dy+2*mosaic.MaxPeriod*p.Rows(), x+dx+2*mosaic.MaxPeriod*p.Cols())
	}
	for ; len(near) == 0; reach++ {
		for dy := -reach; dy <= reach; dy++ {
			for dx := -reach; dx <= reach; dx++ {
				if at(dy, dx) == c {
					near = append(near, neighbour{dy, dx, float32((reach + 1 - max(dy, -dy)) * (reach + 1 - max(dx, -dx)))})
				}
			}
		}
	}
	return reach - 1, near
}

// Reach is how many rows above and below those that are made Rows looks at.
func (b *Bilinear) Reach() int { return b.reach }

// Rows is [Demosaicer.Rows].
func (b *Bilinear) Rows(s *Strip, y0, y1 int, dst []float32) error {
	have := s.First + len(s.Samples)/s.Width
	if y0 < 0 || y1 > s.Height || s.First > max(0, y0-b.reach) || have < min(s.Height, y1+b.reach) || len(dst) < 3*(y1-y0)*s.Width {
		return fmt.Errorf("demosaic: rows %d to %d of %d need more than rows %d to %d", y0, y1, s.Height, s.First, have)
	}
	if s.Width < b.pattern.Cols() || s.Height < b.pattern.Rows() {
		return fmt.Errorf("demosaic: a mosaic of %dx%d samples is smaller than its filter array", s.Width, s.Height)
	}
	workers.Each(workers.Count(y1-y0, time.Duration(20*s.Width)), y1-y0, func(_, i int) {
		b.row(s, y0+i, dst[3*i*s.Width:][:3*s.Width])
	})
	return nil
}

func (b *Bilinear) row(s *Strip, y int, dst []float32) {
	phases := b.near[y%b.pattern.Rows()*b.pattern.Cols():][:b.pattern.Cols()]
	for x := range s.Width {
		place := &phases[x%len(phases)]
		for c := range place {
			sum, weights := float32(0), float32(0)
			for _, n := range place[c] {
				sy, sx := y+n.dy, x+n.dx
				if sy < 0 || sy >= s.Height || sx < 0 || sx >= s.Width {
					continue
				}
				sum += float32(n.weight * s.Samples[(sy-s.First)*s.Width+sx])
				weights += n.weight
			}
			if weights == 0 { // a corner of the mosaic has none: what is there stands in
				sum, weights = s.Samples[(y-s.First)*s.Width+x], 1
			}
			dst[c*s.Width+x] = sum / weights
		}
	}
}
