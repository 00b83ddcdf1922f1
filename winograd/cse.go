package winograd

import (
	"sort"
	"strconv"
)

// form is a linear form: coefficients by variable, never zero.
type form map[int]Surd

// vars are the variables of f in rising order, so that all choices are
// deterministic.
func (f form) vars() []int {
	v := make([]int, 0, len(f))
	for x := range f {
		v = append(v, x)
	}
	sort.Ints(v)
	return v
}

// cost is the number of instructions that compute f: a sum of n terms takes n−1
// if some coefficient is ±1 (adds, and multiply-adds for the others), else n.
func (f form) cost() int {
	units := 0
	for _, c := range f {
		if c.unit() != 0 {
			units++
		}
	}
	if units > 0 {
		return len(f) - 1
	}
	return len(f)
}

// forms is a set of linear forms to be computed: variables below in are inputs,
// variable in+i is defined by temp[i], and out are the results.
type forms struct {
	in   int
	temp []form
	out  []form
}

func newForms(m Matrix) *forms {
	p := &forms{in: m.Cols()}
	for _, row := range m {
		f := form{}
		for j, x := range row {
			if !x.IsZero() {
				f[j] = x
			}
		}
		p.out = append(p.out, f)
	}
	return p
}

// define adds a temporary and returns its variable.
func (p *forms) define(f form) int {
	p.temp = append(p.temp, f)
	return p.in + len(p.temp) - 1
}

// pairRows finds outputs whose coefficients agree up to sign, as opposite points
// give, and computes each pair from its even and odd half: e+o and e−o.
func (p *forms) pairRows() {
	used := make([]bool, len(p.out))
	for i := range p.out {
		for j := i + 1; j < len(p.out) && !used[i]; j++ {
			if used[j] {
				continue
			}
			even, odd, ok := halves(p.out[i], p.out[j])
			if !ok {
				continue
			}
			used[i], used[j] = true, true
			fi, fj := form{}, form{}
			p.addHalf(fi, fj, even, false)
			p.addHalf(fi, fj, odd, true)
			p.out[i], p.out[j] = fi, fj
		}
	}
}

// halves splits a and b into their common and their opposite part; ok if these
// are all of both, neither is empty, and there is something to share.
func halves(a, b form) (even, odd form, ok bool) {
	if len(a) != len(b) || len(a) < 3 {
		return nil, nil, false
	}
	even, odd = form{}, form{}
	for v, x := range a {
		y, both := b[v]
		switch {
		case both && x.Equal(y):
			even[v] = x
		case both && x.Equal(y.Neg()):
			odd[v] = x
		default:
			return nil, nil, false
		}
	}
	return even, odd, len(even) > 0 && len(odd) > 0
}

// addHalf adds half to fi and ±half to fj, as a temporary if it has more than
// one term, scaled so that most of its coefficients are ±1.
func (p *forms) addHalf(fi, fj form, half form, opposite bool) {
	put := func(v int, c Surd) {
		fi[v], fj[v] = c, c
		if opposite {
			fj[v] = c.Neg()
		}
	}
	vars := half.vars()
	if len(vars) == 1 {
		put(vars[0], half[vars[0]])
		return
	}
	row := make([]Surd, len(vars))
	for i, v := range vars {
		row[i] = half[v]
	}
	s := unitScale(row)
	scaled := form{}
	for i, v := range vars {
		scaled[v] = row[i].Mul(s)
	}
	put(p.define(scaled), s.Inv())
}

// pairColumns finds pairs of inputs whose coefficients agree up to sign in every
// output and replaces them by their sum and difference.
func (p *forms) pairColumns() {
	used := make([]bool, p.in)
	for a := range p.in {
		for b := a + 1; b < p.in && !used[a]; b++ {
			if used[b] || !p.columnsPair(a, b) {
				continue
			}
			used[a], used[b] = true, true
			sum, diff := -1, -1
			for _, f := range p.all() {
				x, ok := f[a]
				if !ok {
					continue
				}
				v := &sum
				if !x.Equal(f[b]) {
					v = &diff
				}
				if *v < 0 {
					c := Int(1)
					if v == &diff {
						c = Int(-1)
					}
					*v = p.define(form{a: Int(1), b: c})
				}
				delete(f, a)
				delete(f, b)
				f[*v] = x
			}
		}
	}
}

// all are the forms that exist now; temporaries made later are not in it.
func (p *forms) all() []form {
	return append(append([]form(nil), p.temp...), p.out...)
}

func (p *forms) columnsPair(a, b int) bool {
	n := 0
	for _, f := range p.all() {
		x, hasA := f[a]
		y, hasB := f[b]
		if hasA != hasB || hasA && !x.Equal(y) && !x.Equal(y.Neg()) {
			return false
		}
		if hasA {
			n++
		}
	}
	return n >= 2
}

// pattern is a two-term sub-expression up to scale, v = a + ratio·b, or with
// swapped set b + a/ratio.
type pattern struct {
	a, b    int
	ratio   Surd
	swapped bool
	gain    int
	key     string
}

// shareTerms repeatedly makes a temporary of the two-term sub-expression that
// saves most instructions over all forms, until none saves any.
func (p *forms) shareTerms() {
	for {
		best := p.bestPattern()
		if best == nil {
			return
		}
		def := form{best.a: Int(1), best.b: best.ratio}
		if best.swapped {
			def = form{best.a: best.ratio.Inv(), best.b: Int(1)}
		}
		users := p.all()
		v := p.define(def)
		for _, f := range users {
			if !best.in(f) {
				continue
			}
			c := f[best.a]
			if best.swapped {
				c = f[best.b]
			}
			delete(f, best.a)
			delete(f, best.b)
			f[v] = c
		}
	}
}

func (t *pattern) in(f form) bool {
	x, ok := f[t.a]
	y, ok2 := f[t.b]
	return ok && ok2 && y.Equal(x.Mul(t.ratio))
}

func (p *forms) bestPattern() *pattern {
	found := map[string]*pattern{}
	for _, f := range p.all() {
		vars := f.vars()
		before := f.cost()
		for i, a := range vars {
			for _, b := range vars[i+1:] {
				ratio := f[b].Quo(f[a])
				for _, swapped := range []bool{false, true} {
					t := pattern{a: a, b: b, ratio: ratio, swapped: swapped}
					t.key = t.name()
					q := found[t.key]
					if q == nil {
						t.gain = -1 // the instruction that makes it
						q = &t
						found[t.key] = q
					}
					q.gain += before - costWith(f, q)
				}
			}
		}
	}
	var best *pattern
	for _, t := range found {
		if t.gain > 0 && (best == nil || t.better(best)) {
			best = t
		}
	}
	return best
}

func (t *pattern) name() string {
	s := t.ratio.String()
	if t.swapped {
		s += " swapped"
	}
	return s + " " + strconv.Itoa(t.a) + " " + strconv.Itoa(t.b)
}

// costWith is f's cost once t, which occurs in it, is a variable.
func costWith(f form, t *pattern) int {
	keep := f[t.a]
	if t.swapped {
		keep = f[t.b]
	}
	n, units := 1, 0
	if keep.unit() != 0 {
		units++
	}
	for v, c := range f {
		if v == t.a || v == t.b {
			continue
		}
		n++
		if c.unit() != 0 {
			units++
		}
	}
	if units > 0 {
		return n - 1
	}
	return n
}

// better orders patterns: larger gain, then plain sums and differences (exact
// constants), then the earliest variables, then the key.
func (t *pattern) better(u *pattern) bool {
	if t.gain != u.gain {
		return t.gain > u.gain
	}
	if tu, uu := t.ratio.unit() != 0, u.ratio.unit() != 0; tu != uu {
		return tu
	}
	if t.a != u.a {
		return t.a < u.a
	}
	if t.b != u.b {
		return t.b < u.b
	}
	return t.key < u.key
}
