package tune

import (
	"cmp"
	"context"
	"slices"

	"enhance/conv"
	"enhance/pipeline/facts"
)

const (
	// Groups is Options.Groups of enhance tune. A kernel takes NVIDIA's compiler half a
	// second to two.
	Groups = 24
	// contender is the share of the best score at which an algorithm's work-groups are
	// looked into: other shapes seldom bring more than half as much again.
	contender = 0.6
	// contenders is how many algorithms may be.
	contenders = 2
)

// searchGroups looks for work-groups of better shapes for the contenders among the results so far:
// it measures the neighbours of an algorithm's shape, goes to the best of them if
// that is clearly faster, and on from there until none is. A shape that gives any
// sample other bytes than the algorithm's own shape is out. Every shape passes the same
// check against the plain definition as other candidates.
func (d *duel) searchGroups(ctx context.Context, out *Outcome, o *Options) error {
	left := o.Groups
	for _, at := range d.contenders(out.Results) {
		like := out.Results[at] // a copy: the slice of results grows
		for best := at; best >= 0 && left > 0 && !o.late(); {
			first := len(out.Results)
			next := d.freshNeighbours(out, out.Results[best].Algo)
			next = next[:min(len(next), left)]
			left -= len(next)
			for _, a := range next { // compiled side by side
				d.builder.want(d.sourceOf(d.task, a))
			}
			for _, a := range next {
				if err := ctx.Err(); err != nil {
					return err
				}
				out.Results = append(out.Results, d.tryGroup(a, &like, o))
			}
			best = d.better(out.Results, best, first)
		}
	}
	return nil
}

// contenders are the places of the algorithms worth looking into, the best first.
func (d *duel) contenders(results []Result) []int {
	best, list := 0.0, []int(nil)
	for i := range results {
		best = max(best, results[i].Score)
	}
	for i := range results {
		_, shaped := d.task.algo(results[i].Algo).(conv.Shaped)
		if shaped && results[i].Score > 0 && results[i].Score >= contender*best {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(results[b].Score, results[a].Score) })
	return list[:min(len(list), contenders)]
}

// freshNeighbours are the neighbours of a candidate that were not tried yet. They
// become candidates of the task.
func (d *duel) freshNeighbours(out *Outcome, name string) []conv.Algo {
	shaped := d.task.algo(name).(conv.Shaped)
	var fresh []conv.Algo
	for _, a := range shaped.Neighbours(d.caps, d.shape, d.precision) {
		if !slices.ContainsFunc(out.Results, func(r Result) bool { return r.Algo == a.Name() }) {
			fresh = append(fresh, a)
		}
	}
	return fresh
}

// tryGroup checks and measures a shape.
func (d *duel) tryGroup(a conv.Algo, like *Result, o *Options) Result {
	d.task.Candidates = append(d.task.Candidates, a)
	r := Result{Candidate: facts.Candidate{Algo: a.Name()}, price: 1, like: like}
	impl, err := a.New(d.caps, d.shape, d.precision)
	if err == nil && !d.builder.within(d.source(impl), o.Until) {
		err = errNoTime
	}
	if err == nil {
		err = d.enter(&r, impl, false)
	}
	if err != nil {
		r.Problem = err.Error()
	}
	return r
}

// better is the place of the best result from first on if it is clearly faster than
// that at best, else -1.
func (d *duel) better(results []Result, best, first int) int {
	to := -1
	for i := first; i < len(results); i++ {
		r := &results[i]
		if r.Problem == "" && r.Seconds*hysteresis < results[best].Seconds && (to < 0 || r.Seconds < results[to].Seconds) {
			to = i
		}
	}
	return to
}
