// Package defects finds defective samples of a sensor on the photo itself, and repairs
// them: samples that are stuck, hot or dead. Start at New, whose Rows are a photo's rows
// after repair; ReadList reads the places of known defects from a file instead.
//
// A sample is taken for defective if it lies alone beyond the samples of its filter
// place around it, farther from what its surroundings predict than they are from each
// other's predictions (find.go). All comparisons are of square roots of light above
// black, in which the noise of a sensor is even, so that the surroundings give the noise
// level too: no estimate of the whole photo is waited for. Light that falls through a
// lens lights neighbours of all colours. A sample whose neighbours of the other colours
// stand out with it is no defect, so that stars and specular points stay.
//
// These tests are made of few samples: screens (screen.go, screenfit.go) turn nearly all
// of the others down before, by conditions that the tests imply.
//
// The repair is the prediction (predict.go): a linear combination of opposite neighbours
// of all colours, fitted by least squares to the samples of the same filter place around.
// That is the idea of X. Li and M. Orchard, "New Edge-Directed Interpolation", IEEE
// Transactions on Image Processing 10 (2001), with the neighbours of a filter array.
//
// Each result depends only on samples at most reach rows and columns away, so strips and the
// number of cores change nothing.
package defects

import (
	"cmp"
	"slices"

	"enhance/raw/mosaic"
)

// Source reads rows y to y+n-1 of the active area, Meta.Width samples each.
type Source func(y, n int, dst []uint16) error

// Rows are a photo's rows after repair. They are not safe for concurrent use.
type Rows struct {
	next   Source
	meta   *mosaic.Meta
	list   []Place // sorted; nil: defects are looked for
	marks  marks   // of the list, around the rows that are repaired
	finder *finder
	found  *Found
	kept   []uint16 // rows keptFrom to keptEnd-1 of next: those read last
	from   int
	end    int
}

// Place is the row and column of a sample in the active area.
type Place struct {
	Row    int `json:"y"`
	Column int `json:"x"`
}

// minSide is the least width and height of a photo whose defects are repaired:
// reflection at the border needs as much.
const minSide = 2 * reach

// Searched reports whether defects can be looked for behind a filter array: Bayer's, or
// none. Behind others only those of a list are repaired.
func Searched(cfa mosaic.Pattern) bool { return cfa.Bayer() || cfa == mosaic.Mono }

// New repairs the photo that m describes. If list is nil, defects are looked for; else
// those at the list's places are repaired, and no others. m.CFA must be valid.
func New(m *mosaic.Meta, next Source, list *List) *Rows {
	r := &Rows{next: next, meta: m, finder: newFinder(m), found: newFound(m)}
	if list != nil {
		r.list = []Place{}
		for _, p := range list.at(m.DateTime) {
			if p.Row < m.Height && p.Column < m.Width {
				r.list = append(r.list, p)
			} else {
				r.found.apart++
			}
		}
		slices.SortFunc(r.list, comparePlaces)
		r.list = slices.Compact(r.list)
		r.found.list = r.list
	}
	return r
}

func comparePlaces(a, b Place) int { return cmp.Or(a.Row-b.Row, a.Column-b.Column) }

// Found is what was repaired in the rows that were read so far.
func (r *Rows) Found() *Found { return r.found }

// Bytes is what Rows hold to read n rows at a time of a photo of that width, to look for defects: for a
// list they hold less.
func Bytes(n, width int) int64 {
	pieces, rows := piecesOf(n)
	return 2 * int64(n+2*reach+pieces*(rows+peerRows+rootRows)) * int64(width)
}

// ReadRows reads rows y0 to y0+n-1.
func (r *Rows) ReadRows(y0, n int, dst []uint16) error {
	m := r.meta
	if m.Width < minSide || m.Height < minSide {
		return r.next(y0, n, dst)
	}
	if r.list == nil && !Searched(m.CFA) || r.list != nil && len(r.listed(y0, y0+n)) == 0 {
		return r.next(y0, n, dst)
	}
	top, end := max(0, y0-reach), min(m.Height, y0+n+reach)
	if err := r.read(top, end); err != nil {
		return err
	}
	w := &window{rows: r.kept, top: top, width: m.Width, height: m.Height}
	if r.list == nil {
		r.search(w, y0, n, dst)
		return nil
	}
	r.repairListed(w, y0, n, dst)
	return nil
}

// read makes kept rows top to end-1 of next. Those of the last call are not read again.
func (r *Rows) read(top, end int) error {
	w := r.meta.Width
	buf := r.kept
	if cap(buf) < (end-top)*w {
		buf = make([]uint16, (end-top)*w)
	}
	buf = buf[:(end-top)*w]
	have := 0
	if top >= r.from && top < r.end {
		have = min(r.end, end) - top
		copy(buf, r.kept[(top-r.from)*w:][:have*w])
	}
	r.from, r.end = 0, 0
	if err := r.next(top+have, end-top-have, buf[have*w:]); err != nil {
		return err
	}
	r.kept, r.from, r.end = buf, top, end
	return nil
}
