package model_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/model"
	"enhance/model/ref"
)

// plane is samples in rows.
type plane [][]float64

// turned mirrors a plane as told and then transposes it.
func (p plane) turned(rows, columns, transposed bool) plane {
	h, w := len(p), len(p[0])
	oh, ow := h, w
	if transposed {
		oh, ow = w, h
	}
	q := make(plane, oh)
	for y := range q {
		q[y] = make([]float64, ow)
		for x := range q[y] {
			sy, sx := y, x
			if transposed {
				sy, sx = x, y
			}
			if rows {
				sy = h - 1 - sy
			}
			if columns {
				sx = w - 1 - sx
			}
			q[y][x] = p[sy][sx]
		}
	}
	return q
}

// back is the inverse of turned.
func (p plane) back(rows, columns, transposed bool) plane {
	if transposed {
		p = p.turned(false, false, true)
	}
	return p.turned(rows, columns, false)
}

// edged adds rows and columns by reflection.
func (p plane) edged(top, bottom, left, right int) plane {
	h, w := len(p), len(p[0])
	at := func(i, n int) int {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		return i
	}
	q := make(plane, h+top+bottom)
	for y := range q {
		q[y] = make([]float64, w+left+right)
		for x := range q[y] {
			q[y][x] = p[at(y-top, h)][at(x-left, w)]
		}
	}
	return q
}

// run has the network answer to planes at the pixels' places, four of whose quads are its input's.
func run(t *testing.T, m *model.Model, planes []plane) []plane {
	h, w := len(planes[0])/2, len(planes[0][0])/2
	in := make([]float64, 0, len(planes)*4*h*w)
	for _, p := range planes {
		for k := range 4 {
			for y := range h {
				for x := range w {
					in = append(in, p[2*y+k/2][2*x+k%2])
				}
			}
		}
	}
	out, s, err := ref.Run64(context.Background(), m, in, h, w, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := make([]plane, s.C)
	for c := range made {
		made[c] = make(plane, s.H)
		for y := range made[c] {
			at := (c*s.H + y) * s.W
			made[c][y] = out[at : at+s.W]
		}
	}
	return made
}

// TestEnsemble holds ensembles against networks that are run on mirrored and transposed mosaics.
func TestEnsemble(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for _, planes := range []int{8, 24} {
		for _, n := range model.EnsembleSizes() {
			m, err := model.Load(fmt.Sprintf("pynet-m-random:%d,planes=%d", rng.Uint32(), planes))
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Ensemble(n)
			if err != nil {
				t.Fatal(err)
			}
			h, w := 8+4*rng.IntN(4), 8+4*rng.IntN(4) // of the packed planes
			in := make([]plane, planes/4)
			for i := range in {
				in[i] = make(plane, 2*h)
				for y := range in[i] {
					for range 2 * w {
						in[i][y] = append(in[i][y], rng.NormFloat64())
					}
				}
			}
			got, want := run(t, e, in), meanOf(t, m, in, turnsOf[n])
			for c := range want {
				for y := range want[c] {
					for x, v := range want[c][y] {
						if d := math.Abs(got[c][y][x] - v); !(d <= 1e-6*(1+math.Abs(v))) {
							t.Fatalf("%d planes, ensemble of %d, %dx%d: colour %d, row %d, column %d is %g, want %g", planes, n, h, w, c, y, x, got[c][y][x], v)
						}
					}
				}
			}
		}
	}
}

// turnsOf are the orientations of ensembles: rows mirrored, columns mirrored, transposed.
var turnsOf = map[int][][3]bool{
	2: {{}, {true, true, true}},
	4: {{}, {false, true, true}, {true, true, false}, {true, false, true}},
	8: {{}, {false, false, true}, {false, true, false}, {false, true, true},
		{true, false, false}, {true, false, true}, {true, true, false}, {true, true, true}},
}

// meanOf is the mean of a network's answers. A Bayer mosaic whose columns are mirrored has its red samples in even
// columns again with one more column before it, and the sides that the network wants with some behind.
func meanOf(t *testing.T, m *model.Model, in []plane, turns [][3]bool) []plane {
	h, w := len(in[0]), len(in[0][0])
	more := 0
	if len(in) == 2 {
		more = 2 * m.Convention.Multiple
	}
	mean := make([]plane, 3)
	for c := range mean {
		mean[c] = make(plane, h)
		for y := range mean[c] {
			mean[c][y] = make([]float64, w)
		}
	}
	for _, turn := range turns {
		top, bottom, left, right := 0, 0, 0, 0
		if more > 0 && turn[0] {
			top, bottom = 1, more-1
		}
		if more > 0 && turn[1] {
			left, right = 1, more-1
		}
		turned := make([]plane, len(in))
		for i, p := range in {
			turned[i] = p.edged(top, bottom, left, right).turned(turn[0], turn[1], turn[2])
		}
		for c, answer := range run(t, m, turned) {
			answer = answer.back(turn[0], turn[1], turn[2])
			for y := range h {
				for x := range w {
					mean[c][y][x] += answer[y+top][x+left] / float64(len(turns))
				}
			}
		}
	}
	return mean
}

// TestEnsembleRefused names what is not known, rather than to make something else of it.
func TestEnsembleRefused(t *testing.T) {
	fast, err := model.Load("fast")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, 0, 1, 3, 16} {
		if _, err := fast.Ensemble(n); err == nil || !strings.Contains(err.Error(), "want [2 4 8]") {
			t.Errorf("an ensemble of %d: %v", n, err)
		}
	}
	twice, err := fast.Ensemble(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := twice.Ensemble(2); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("an ensemble of an ensemble: %v", err)
	}
	other := *fast
	other.Convention.Pack = [4][2]int{{0, 1}, {0, 0}, {1, 0}, {1, 1}}
	if _, err := other.Ensemble(2); err == nil || !strings.Contains(err.Error(), "order") {
		t.Errorf("planes in another order: %v", err)
	}
	for _, spec := range []string{"pynet-s", "pynet-random:1,width=4"} {
		m, err := model.Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Ensemble(2); err == nil || !strings.Contains(err.Error(), "pynet-m") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
