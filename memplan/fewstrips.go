package memplan

import "math"

// This file makes plans for devices with memory of their own and room for large strips: kernels over many
// rows fill such a device, and only the first upload and the last download have no kernels beside them.

// StripsAtEnds is the strategy of such a plan of several sections.
const StripsAtEnds = "whole planes, strips at the ends"

// fewStrips is in how many strips sections of such plans are tried.
var fewStrips = []int{1, 2, 3, 4, 6, 8, 12, 16}

// considerFewStrips plans the program as one section of a few strips, and as whole planes between a
// first and a last section that have strips.
func (r *Request) considerFewStrips(consider func(*Plan)) {
	whole := r.simulationsOf(nil, nil)
	if p := r.fewestSeconds(whole.frames[0]); p.ends > 0 {
		d := &draft{req: r, simulations: whole, choice: choice{paces: []pace{p}, keep: make([]bool, len(r.Program.Tensors))}}
		consider(d.finish("row streaming"))
	}
	if first, last := r.besideLink(); first < last {
		if p := r.stripsAtEnds(first, last, r.fewestSeconds); p != nil {
			consider(p)
		}
	}
}

// stripsAtEnds plans whole planes, but for the steps before first, which are one section, and those from
// last on, another: of the strips that at says. It is nil if it says one strip of both.
func (r *Request) stripsAtEnds(first, last int, at func(*frame) pace) *Plan {
	d := &draft{req: r, choice: choice{keep: make([]bool, len(r.Program.Tensors))}}
	for i := max(first, 1); i <= min(last, len(r.Program.Steps)-1); i++ {
		d.cuts = append(d.cuts, i)
	}
	d.paces = make([]pace, len(d.cuts)+1)
	d.simulations = r.simulationsOf(d.cuts, nil)
	for t := range d.keep {
		d.keep[t] = t != r.Program.Input || d.lastRead[t] > 0
	}
	strips := false
	for k := range d.paces {
		d.paces[k].rows = math.MaxInt32
		if k > 0 && k < len(d.paces)-1 {
			continue
		}
		if p := at(d.frames[k]); p.ends > 0 {
			d.paces[k], strips = p, true
		}
	}
	if !strips {
		return nil
	}
	return d.finish(StripsAtEnds)
}

// fewestSeconds is the pace of a few strips at which a section that reads the input or makes the output
// takes the least time if all other tensors are on the device, and a plan may hold what it makes then. If that is
// one strip, ends is 0.
func (r *Request) fewestSeconds(fr *frame) (best pace) {
	m, least := &r.Model, math.Inf(1)
	var moved []traffic
	for _, n := range fewStrips {
		rows := roundUp((fr.highest+n-1)/n, stripUnit)
		for low := 1; low <= 4; low *= 2 {
			p := pace{rows: rows, ends: roundUp((rows+low-1)/low, stripUnit)}
			if n == 1 {
				p = pace{rows: fr.highest}
			} else if rows >= fr.highest {
				continue
			}
			fl := fr.simulate(p)
			moved = fl.transfers(fr, func(ring int32) bool {
				t := fr.rings[ring].tensor
				return t != r.Program.Input && t != r.Program.Output
			}, moved)
			if t := m.seconds(fl, moved, 0, false); t < least*fewer && r.holds(fr, fl) {
				best, least = p, t
			}
			if n == 1 {
				break
			}
		}
	}
	return best
}

// fewer is how much of the time more strips must take at most to be worth their memory traffic and launches.
const fewer = 0.98

// holds reports whether the rings of a section at its pace are within the budget, beside parameters and all that
// is on the device whatever the plan.
func (r *Request) holds(fr *frame, fl *flow) bool {
	if !r.Budget.Limited() {
		return true
	}
	n := int64(0)
	for _, f := range r.Fixed {
		n += f.Bytes
	}
	for _, w := range r.facts.weights {
		n += w
	}
	for k := range fr.rings {
		rows := fl.rows[k]
		if fr.rings[k].leaves {
			rows = fl.held[k]
		}
		n += int64(rows) * r.facts.rowBytes[fr.rings[k].tensor]
	}
	return n <= r.Budget.Bytes()
}

// besideLink gives the first steps, up to first, whose work takes as long as the upload of the input,
// and the last, from last on, that take as long as the download of the output.
func (r *Request) besideLink() (first, last int) {
	seconds := func(t int) float64 {
		return float64(int64(r.Program.Tensors[t].H)*r.facts.rowBytes[t]) / r.Model.LinkRate
	}
	n := len(r.Program.Steps)
	for up := seconds(r.Program.Input); first < n && up > 0; first++ {
		up -= r.launchSeconds(first, r.height(first))
	}
	last = n
	for down := seconds(r.Program.Output); last > 0 && down > 0; last-- {
		down -= r.launchSeconds(last-1, r.height(last-1))
	}
	return first, last
}

// height is the rows of what a step writes.
func (r *Request) height(step int) int { return r.Program.Tensors[r.Program.Steps[step].Dst.Tensor].H }

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
