package tune

import (
	"testing"

	"enhance/pipeline/facts"
)

// TestChoose: only what is both clearly faster and clearly better replaces the default,
// the best of such; a default that cannot be used is replaced by the best that can.
func TestChoose(t *testing.T) {
	base := facts.Candidate{Algo: "default", Seconds: 1, Score: 1}
	failed := facts.Candidate{Algo: "default", Problem: "no room"}
	inexact := facts.Candidate{Algo: "default", Seconds: 1, Error: 1} // scores nothing
	for _, c := range []struct {
		name    string
		results []facts.Candidate
		want    string
		tried   int
		gain    float64
	}{
		{"alone", []facts.Candidate{base}, "default", 1, 1},
		{"faster", []facts.Candidate{base, {Algo: "a", Seconds: 0.5, Score: 2}}, "a", 2, 2},
		{"the best of several", []facts.Candidate{base, {Algo: "a", Seconds: 0.5, Score: 2}, {Algo: "b", Seconds: 0.6, Score: 3}, {Algo: "c", Seconds: 0.4, Score: 2.5}}, "b", 4, 1 / 0.6},
		{"a little faster", []facts.Candidate{base, {Algo: "a", Seconds: 0.98, Score: 1.5}}, "default", 2, 1},
		{"a little better", []facts.Candidate{base, {Algo: "a", Seconds: 0.5, Score: 1.02}}, "default", 2, 1},
		{"more exact but slower", []facts.Candidate{base, {Algo: "a", Seconds: 1.1, Score: 1.9}}, "default", 2, 1},
		{"slower and best, faster and better", []facts.Candidate{base, {Algo: "a", Seconds: 1.1, Score: 1.9}, {Algo: "b", Seconds: 0.9, Score: 1.1}}, "b", 3, 1 / 0.9},
		{"wrong", []facts.Candidate{base, {Algo: "a", Problem: "wrong", Seconds: 0.1, Score: 9}}, "default", 1, 1},
		{"the default failed", []facts.Candidate{failed, {Algo: "a", Seconds: 2, Score: 0.5}, {Algo: "b", Seconds: 3, Score: 0.6}}, "b", 2, 1},
		{"the default is wrong", []facts.Candidate{inexact, {Algo: "a", Seconds: 2, Score: 0.5}}, "a", 2, 0.5},
		{"nothing can be used", []facts.Candidate{failed, {Algo: "a", Problem: "refused"}}, "default", 0, 1},
	} {
		out := &Outcome{Choice: facts.Choice{Algo: "default", Default: "default"}}
		for _, r := range c.results {
			out.Results = append(out.Results, Result{Candidate: r})
		}
		out.choose(1e9)
		if ch := &out.Choice; ch.Algo != c.want || ch.Tried != c.tried || ch.Gain() != c.gain || ch.Measured() != (c.name != "nothing can be used") {
			t.Errorf("%s: %+v, gain %g; want %s of %d tried, gain %g", c.name, *ch, ch.Gain(), c.want, c.tried, c.gain)
		}
	}
}
