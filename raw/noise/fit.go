package noise

import (
	"cmp"
	"math"
	"slices"
	"time"

	"enhance/internal/workers"
)

const (
	bins      = 16   // of brightness, evenly in its square root
	minBlocks = 24   // that a brightness rests on
	minAll    = 48   // blocks of a photo
	chosen    = 0.05 // share of the blocks of a brightness that are taken for flat
	// textured is how much more energy the chosen blocks have at middle than at high
	// frequencies where there is texture. The energies of white noise are equal, and
	// the choice of the least at middle frequencies brings them down.
	textured = 0.75
	// leastVariance is far below that of rounding to integers, 1/12.
	leastVariance = 1e-3
	// Of the chosen blocks' energies at high frequencies the largest, which grain and edges
	// raise, are left out. The mean of the share that is kept is smaller than that of all: by
	// keptMean for white noise, whose energies are distributed as χ² of highCount degrees.
	kept     = 0.7
	keptMean = 0.8644
)

// point is a variance at a brightness above black, in stored units.
type point struct {
	x, v float64
	n    float64 // blocks
	mid  float64 // energy at middle frequencies, in times of v
}

// estimate brings the blocks down to levels.
func (s *sample) estimate() (*Estimation, error) {
	e := &Estimation{spans: spansOf(s.meta)}
	flat := s.usable()
	if len(flat) < minAll {
		return nil, ErrNoFlatBlocks
	}
	e.points = quietPoints(flat, max(e.spans[0], e.spans[1], e.spans[2]))
	for _, p := range e.points {
		e.Blocks += int64(p.n)
	}
	e.Levels = e.fit()
	return e, nil
}

// usable are the blocks that were not left out. Where no sample of the photo is below
// black, something has cut off the noise there, and blocks that reach it are left out too.
// So are blocks without even the noise of rounding: all of their samples are cut off.
func (s *sample) usable() []spectrum {
	const rounding = 0.5
	least := math.Inf(1)
	for _, f := range s.found {
		if !math.IsNaN(f.mean) {
			least = min(least, f.least)
		}
	}
	cut := least >= -rounding
	return slices.DeleteFunc(s.found, func(f spectrum) bool {
		return math.IsNaN(f.mean) || f.high < leastVariance || (cut && f.least <= rounding)
	})
}

// fit is the line through the points, as shares of each colour's range.
func (e *Estimation) fit() (l Levels) {
	span := max(e.spans[0], e.spans[1], e.spans[2])
	ps := slices.Clone(e.points)
	for i := range ps {
		ps[i].x /= span
		ps[i].v = max(ps[i].v, leastVariance) / (span * span)
	}
	gain, read := fitLine(ps)
	for c := range l {
		k := span / e.spans[c]
		l[c] = Line{S: min(gain*k, MaxS), O: min(read*k*k, MaxO)}
	}
	return l
}

// quietPoints gives a point for each brightness, from those of its blocks that have
// the least energy at low and middle frequencies. Neighbours with few blocks are joined.
func quietPoints(flat []spectrum, span float64) (ps []point) {
	var by [bins][]spectrum
	for _, f := range flat {
		k := int(bins * math.Sqrt(max(f.mean, 0)/span))
		by[min(k, bins-1)] = append(by[min(k, bins-1)], f)
	}
	var groups [][]spectrum
	var pending []spectrum
	for k := range by {
		pending = append(pending, by[k]...)
		if len(pending) >= 8*minBlocks {
			groups = append(groups, pending)
			pending = nil
		}
	}
	ps = make([]point, len(groups))
	workers.Each(workers.Count(len(groups), 100*time.Microsecond), len(groups), func(_, i int) {
		ps[i] = quietest(groups[i])
	})
	return ps
}

// quietest is the point of the flattest of the blocks.
func quietest(all []spectrum) point {
	slices.SortFunc(all, func(a, b spectrum) int {
		return cmp.Or(cmp.Compare(a.mid, b.mid), cmp.Compare(a.high, b.high), cmp.Compare(a.mean, b.mean))
	})
	n := max(minBlocks, int(chosen*float64(len(all))))
	var p point
	high := make([]float64, n)
	for i, f := range all[:n] {
		p.x += f.mean
		p.mid += f.mid
		high[i] = f.high
	}
	slices.Sort(high)
	low := high[:int(kept*float64(n))]
	for _, v := range low {
		p.v += v
	}
	p.n = float64(n)
	p.v *= p.n / (keptMean * float64(len(low)))
	p.x, p.v, p.mid = max(p.x/p.n, 0), p.v/p.n, p.mid/max(p.v, math.SmallestNonzeroFloat64)
	return p
}

// Weights of the fit. A misfit is the logarithm of measured over fitted variance.
const (
	misfit       = 0.1  // that is expected of a point of minBlocks
	above        = 0.1  // weight of a point above the line: detail lifts it
	electrons    = 50.0 // usual read noise, squared
	electronsOff = 1.5  // usual misfit of that, as a logarithm

	// A point whose blocks show texture is an upper bound. A lower one, of weight belowLeast
	// and with little say where the line is more than wrongLeast misfits below it, is what is left without
	// the least that texture has at high frequencies: fineDetail of what it has at middle ones.
	// flatMiddle is the energy at middle frequencies, in times of that at high ones, of the
	// chosen blocks of white noise.
	belowLeast = 0.03
	wrongLeast = 1.0
	fineDetail = 0.25
	flatMiddle = 0.62
	leastShare = 0.05 // of a point is noise
)

// least is the least variance that a point's blocks can have of noise.
func (p *point) least() float64 {
	if p.mid <= flatMiddle {
		return p.v
	}
	return p.v * max((1-fineDetail*p.mid)/(1-fineDetail*flatMiddle), leastShare)
}

// line is v = S·x + S²·e for samples x of 0 to 1, so that 1/S electrons saturate the
// sensor and the read noise is √e electrons; logarithms of both.
type line struct{ s, e float64 }

func (l line) gainRead() (gain, read float64) {
	gain = math.Exp(l.s)
	return gain, gain * gain * math.Exp(l.e)
}

// cost is how badly the line fits the points. The read noise in electrons differs
// little between sensors, which decides where the photo does not.
func (l line) cost(ps []point) float64 {
	gain, read := l.gainRead()
	q := (l.e - math.Log(electrons)) / electronsOff
	sum := float64(q*q) / (1 + float64(q*q)/8)
	for _, p := range ps {
		v, w := float64(gain*p.x)+read, math.Sqrt(p.n/minBlocks)
		off := func(of float64) float64 {
			d := math.Log(of/v) / misfit
			return float64(d * d)
		}
		switch {
		case p.v < v:
			sum += float64(w * off(p.v))
			continue
		case p.mid <= textured:
			sum += float64(w * above * off(p.v))
		}
		if least := p.least(); least > v {
			d := off(least)
			sum += float64(w*belowLeast*d) / (1 + d/wrongLeast)
		}
	}
	return sum
}

// fitLine fits the line to points of samples of 0 to 1: on a coarse grid, and then in
// halved steps around the best.
func fitLine(ps []point) (gain, read float64) {
	best, least := line{}, math.Inf(1)
	try := func(l line) {
		if c := l.cost(ps); c < least {
			best, least = l, c
		}
	}
	const step = 0.5
	for s := math.Log(1e-7); s < math.Log(MaxS); s += step {
		for e := -3.0; e < 20; e += step {
			try(line{s, e})
		}
	}
	for d := step / 2; d > 1e-3; d /= 2 {
		for again := true; again; {
			at := best
			for k := range 9 {
				try(line{at.s + d*float64(k%3-1), at.e + d*float64(k/3-1)})
			}
			again = best != at
		}
	}
	return best.gainRead()
}
