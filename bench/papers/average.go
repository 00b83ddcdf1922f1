package papers

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Best stands for the device's fastest algorithm of each case in averages, BestWinograd for
// the fastest of Winograd's.
const (
	Best         = "best"
	BestWinograd = "best winograd"
)

// Ratio is how much faster an algorithm is than a baseline: the geometric mean
// of the ratios over the cases that both can do.
type Ratio struct {
	Algo     string  `json:"algo"`
	Baseline string  `json:"baseline"`
	Mean     float64 `json:"mean"`
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Cases    int     `json:"cases"`
}

// Ratios compares every algorithm, and the best ones of each case, with a baseline.
// Cases that the baseline did not do are left out. The order is that of the
// means, fastest first.
func Ratios(rows []ConvRow, baseline string) []Ratio {
	logs := map[string][]float64{}
	for _, row := range rows {
		base, best, winograd := row.speed(baseline), 0.0, 0.0
		if base <= 0 {
			continue
		}
		for _, m := range row.Results {
			if m.GFLOPs <= 0 {
				continue
			}
			if m.Clock != hostClock {
				best = max(best, m.GFLOPs)
			}
			if strings.HasPrefix(m.Algo, "winograd-") {
				winograd = max(winograd, m.GFLOPs)
			}
			logs[m.Algo] = append(logs[m.Algo], math.Log(m.GFLOPs/base))
		}
		if best > 0 {
			logs[Best] = append(logs[Best], math.Log(best/base))
		}
		if winograd > 0 {
			logs[BestWinograd] = append(logs[BestWinograd], math.Log(winograd/base))
		}
	}
	var out []Ratio
	for algo, l := range logs {
		sum := 0.0
		for _, v := range l {
			sum += v
		}
		out = append(out, Ratio{Algo: algo, Baseline: baseline, Cases: len(l), Mean: math.Exp(sum / float64(len(l))),
			Least: math.Exp(slices.Min(l)), Most: math.Exp(slices.Max(l))})
	}
	slices.SortFunc(out, func(a, b Ratio) int { return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Algo, b.Algo)) })
	return out
}

// speed is what an algorithm reached in a case, 0 if it did not do it.
func (r *ConvRow) speed(algo string) float64 {
	for _, m := range r.Results {
		if m.Algo == algo {
			return m.GFLOPs
		}
	}
	return 0
}
