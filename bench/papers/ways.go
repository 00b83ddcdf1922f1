package papers

import (
	"context"
	"fmt"
	"path"
	"strings"

	"enhance/bench/im2col"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/planar"
)

// Way is how a case is computed: a [conv.Algo] on the device, or a [Host].
type Way interface{ Name() string }

// ways lists all algorithms of a device and im2col on it, which is only here for
// comparison, then what the suite has besides.
func (s *Suite) ways(c conv.Caps) []Way {
	if s.Splits {
		return s.Ways
	}
	var all []Way
	for _, a := range exec.Algorithms(c) {
		all = append(all, a)
	}
	return append(append(all, im2col.Device{}), s.Ways...)
}

// Pick takes the ways that a list of patterns names, separated by commas, in their own
// order; all for an empty list. A pattern that names none is an error.
func (s *Suite) Pick(c conv.Caps, patterns string) ([]Way, error) {
	all := s.ways(c)
	if patterns == "" {
		return all, nil
	}
	picked := make([]bool, len(all))
	for _, p := range strings.Split(patterns, ",") {
		p, found := strings.TrimSpace(p), false
		for i, w := range all {
			if ok, err := path.Match(p, w.Name()); err == nil && ok {
				picked[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is no algorithm of suite %s: known are %s", p, s.Name, names(all))
		}
	}
	var out []Way
	for i, w := range all {
		if picked[i] {
			out = append(out, w)
		}
	}
	return out, nil
}

func names(ws []Way) string {
	var s []string
	for _, w := range ws {
		s = append(s, w.Name())
	}
	return strings.Join(s, ", ")
}

// algos are those of ws that are algorithms of the device.
func algos(ws []Way) (as []conv.Algo) {
	for _, w := range ws {
		if a, ok := w.(conv.Algo); ok {
			as = append(as, a)
		}
	}
	return as
}

// Idle says of each algorithm that does no case why it does not do the first.
func Idle(caps conv.Caps, cases []Case, ways []Way, p planar.Precision) (whys []string) {
	for _, a := range algos(ways) {
		why := ""
		for _, c := range cases {
			_, err := a.New(caps, c.Shape(), p)
			if err == nil {
				why = ""
				break
			}
			if why == "" {
				why = strings.TrimPrefix(err.Error(), "conv: ")
			}
		}
		if why != "" {
			whys = append(whys, why)
		}
	}
	return whys
}

// measureWay fills m for one way.
func (p *place) measureWay(ctx context.Context, w Way, m *Measurement) error {
	switch w := w.(type) {
	case Host:
		return p.measureHost(ctx, w, m)
	case conv.Algo:
		return p.measure(ctx, w, m)
	}
	return fmt.Errorf("%s is neither an algorithm of the device nor the host's", w.Name())
}
