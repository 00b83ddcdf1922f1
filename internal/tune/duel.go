package tune

import (
	"cmp"
	"fmt"
	"slices"

	"enhance/conv"
)

// duel measures candidates against the default: each run of a candidate follows
// one of the default, and what counts is the median of the ratios. So whatever
// slows a device for a while, other work above all, slows both.
type duel struct {
	*problem
	task *Task
	base *rig // nil if the default cannot be used
}

func (d *duel) close() {
	if d.base != nil {
		d.base.close()
	}
}

// enter checks and measures a candidate; the first is the default.
func (d *duel) enter(r *Result, impl conv.Impl, first bool) error {
	c, err := d.open(impl)
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			c.close()
		}
	}()
	if err := c.check(d.task.Precision); err != nil {
		return err
	}
	if r.Error = c.err; r.like != nil && r.like.sum != c.sum {
		return fmt.Errorf("its samples are not those of %s, which has the same order of sums", r.like.Algo)
	}
	r.sum = c.sum
	if first {
		for range d.limits.Runs {
			if _, err := c.time(); err != nil {
				return err
			}
		}
		d.base, keep = c, true
		d.set(r, c)
		return nil
	}
	if d.base != nil {
		r.price = price(impl, d.base.impl, d.rows)
	}
	for range d.limits.Runs {
		if err := d.round(map[*Result]*rig{r: c}); err != nil {
			return err
		}
	}
	d.set(r, c)
	return nil
}

// round runs the default and then the others once each.
func (d *duel) round(rigs map[*Result]*rig) error {
	base := 0.0
	if d.base != nil {
		var err error
		if base, err = d.base.time(); err != nil {
			return err
		}
	}
	for r, c := range rigs {
		t, err := c.time()
		if err != nil {
			return err
		}
		if base > 0 {
			r.ratios = append(r.ratios, t/base)
		}
	}
	return nil
}

// set draws conclusions from the runs so far.
func (d *duel) set(r *Result, c *rig) {
	if r.Seconds = c.seconds; d.base != nil && len(r.ratios) > 0 {
		r.Seconds = d.base.seconds * median(r.ratios)
	}
	r.GFLOPs = d.flops() / r.Seconds / 1e9
	r.Score = Score(r.Seconds, r.Error, d.task.Precision, d.shape) * r.price
}

// final lets those close to the best run again.
func (d *duel) final(results []Result, o *Options) {
	best := 0.0
	for _, r := range results {
		best = max(best, r.Score)
	}
	var close []*Result
	for i := 1; i < len(results); i++ {
		if r := &results[i]; r.Score > 0 && r.Score >= closeEnough*best {
			close = append(close, r)
		}
	}
	slices.SortStableFunc(close, func(a, b *Result) int { return cmp.Compare(b.Score, a.Score) })
	if close = close[:min(len(close), finalists)]; len(close) == 0 || d.base == nil || o.late() {
		return
	}
	rigs := map[*Result]*rig{}
	defer func() {
		for _, c := range rigs {
			c.close()
		}
	}()
	for _, r := range close {
		impl, err := d.task.algo(r.Algo).New(d.caps, d.shape, d.precision)
		if err != nil {
			return
		}
		c, err := d.open(impl)
		if err != nil { // the others' scratch leaves no room
			return
		}
		rigs[r] = c
	}
	for range finalRounds {
		if err := d.round(rigs); err != nil {
			return
		}
	}
	d.set(&results[0], d.base)
	for r, c := range rigs {
		d.set(r, c)
	}
}

func (t *Task) algo(name string) conv.Algo {
	for _, a := range t.Candidates {
		if a.Name() == name {
			return a
		}
	}
	return nil
}

// median of a list that is not empty; of an even number, the mean of the middle two.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
