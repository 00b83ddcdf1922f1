package demosaic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"enhance/raw/mosaic"
)

// tap is a sample that a filter uses.
type tap struct {
	dy, dx int
	colour mosaic.Colour
	weight float64
}

// makeFilter derives the filter for a colour at row y, column x of a pattern. Of the
// samples within reach it takes those that weigh most. The filter for the colour that
// is there does without the sample and without its neighbours of that colour: it is to
// be as hard as to find a colour that is not there.
func (e effort) makeFilter(p mosaic.Pattern, y, x int, want mosaic.Colour, c *covariance) ([]tap, error) {
	all := c.nearest(e.around(p, y, x, want))
	if err := c.solve(all, want); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b tap) int { return cmp.Compare(math.Abs(b.weight), math.Abs(a.weight)) })
	kept := foremost(all, e.taps)
	slices.SortFunc(kept, func(a, b tap) int { return cmp.Or(cmp.Compare(a.dy, b.dy), cmp.Compare(a.dx, b.dx)) })
	return kept, c.solve(kept, want)
}

// candidates is how many samples a filter chooses from: more weigh nothing, and the time
// to solve for all weights grows with the third power.
const candidates = 100

// nearest are those of the samples that are most like the one in the middle, and at least
// one of each colour.
func (c *covariance) nearest(all []tap) []tap {
	slices.SortStableFunc(all, func(a, b tap) int {
		return -cmp.Compare(c.of(a.dy, a.dx, mosaic.Red, mosaic.Green), c.of(b.dy, b.dx, mosaic.Red, mosaic.Green))
	})
	return foremost(all, candidates)
}

// foremost are the first n samples, and the first of each colour that is not among them.
func foremost(all []tap, n int) []tap {
	var kept []tap
	var count [3]int
	for _, t := range all {
		if len(kept) < n || count[t.colour] == 0 {
			kept = append(kept, t)
			count[t.colour]++
		}
	}
	return kept
}

// around are the samples within reach of one that the filter for a colour may use, and of
// colours that are not among them the nearest ones.
func (e effort) around(p mosaic.Pattern, y, x int, want mosaic.Colour) []tap {
	var all []tap
	var seen [3]bool
	check := p.At(y, x) == want
	for r := e.reach; r <= maxReach; r++ {
		for dy := -r; dy <= r; dy++ {
			for dx := -r; dx <= r; dx++ {
				c := p.At(y+dy+2*mosaic.MaxPeriod*p.Rows(), x+dx+2*mosaic.MaxPeriod*p.Cols())
				far := max(dy, -dy, dx, -dx)
				if check && c == want && far <= 1 || r > e.reach && (far < r || seen[c]) {
					continue
				}
				all = append(all, tap{dy: dy, dx: dx, colour: c})
			}
		}
		for _, t := range all {
			seen[t.colour] = true
		}
		if seen == [3]bool{true, true, true} {
			break
		}
	}
	return all
}

// maxReach is how far any sample must be looked for: every colour is in each period.
const maxReach = mosaic.MaxPeriod

// solve sets the weights of the taps: those of the least expected squared error among
// all that are unbiased. Lagrange's multipliers of the three constraints are the last
// three unknowns.
func (c *covariance) solve(ts []tap, want mosaic.Colour) error {
	n := len(ts)
	m := make([][]float64, n+3)
	for i := range m {
		m[i] = make([]float64, n+4)
	}
	for i, a := range ts {
		for j, b := range ts {
			m[i][j] = c.of(a.dy-b.dy, a.dx-b.dx, a.colour, b.colour)
		}
		m[i][i] += nugget
		m[i][n+int(a.colour)], m[n+int(a.colour)][i] = 1, 1
		m[i][n+3] = c.of(a.dy, a.dx, a.colour, want)
	}
	m[n+int(want)][n+3] = 1
	if !eliminate(m) {
		return fmt.Errorf("demosaic: the filter for %v has no solution", want)
	}
	for i := range ts {
		ts[i].weight = m[i][n+3]
	}
	return nil
}

// eliminate solves a system of linear equations, whose last column is the right side,
// in place by Gauss's elimination with partial pivoting. It reports false if there is
// no unique solution.
func eliminate(m [][]float64) bool {
	n := len(m)
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[pivot][k]) {
				pivot = i
			}
		}
		if !(math.Abs(m[pivot][k]) > 1e-12) {
			return false
		}
		m[k], m[pivot] = m[pivot], m[k]
		from := m[k][k:]
		for i := k + 1; i < n; i++ {
			if f := m[i][k] / from[0]; f != 0 {
				to := m[i][k:][:len(from)]
				for j, v := range from {
					to[j] -= f * v
				}
			}
		}
	}
	for k := n - 1; k >= 0; k-- {
		v := m[k][n]
		for j := k + 1; j < n; j++ {
			v -= m[k][j] * m[j][n]
		}
		m[k][n] = v / m[k][k]
	}
	return true
}
