package colour

import (
	"fmt"
	"math"
)

// typicalSensor stands for cameras whose matrix is unknown: XYZ to camera RGB of a Canon
// EOS 550D as Adobe publishes it. Sensors differ less from each other than lights do.
var typicalSensor = Matrix{{0.6461, -0.1164, -0.0857}, {-0.3825, 1.1597, 0.2534}, {-0.0416, 0.1540, 0.6039}}

// AutoWB estimates white-balance gains (green 1) from the colours of small patches of a
// picture: camera RGB, black subtracted, not balanced, 1 being the white level. Patches
// that are clipped should be left out. asShot are the camera's own gains, or zeros.
//
// It weighs lights of 2000 to 12000 K, on the Planckian locus and beside it, by three kinds
// of evidence and returns their weighted mean:
//
//   - how many bright patches would be nearly grey under the light (grey pixels);
//   - how far the mean of all patches would be from grey (Buchsbaum 1980);
//   - how usual the light is: daylight and its surroundings, and what the camera chose.
//
// Where patches contradict each other, as under mixed light, their evidence is spread and
// the last decides.
func AutoWB(patches [][3]float64, facts Facts, asShot [3]float64) (gains [3]float64, err error) {
	v := newVotes(patches)
	if v.weight == 0 {
		return gains, fmt.Errorf("automatic white balance: all patches are black or clipped: %w", ErrNoStatistics)
	}
	if facts.ColorMatrix1 == nil && facts.ColorMatrix2 == nil {
		facts = Facts{ColorMatrix1: &typicalSensor}
	}
	lights := candidateLights(facts)
	if len(lights) == 0 {
		return gains, fmt.Errorf("automatic white balance: %w", ErrNeutral)
	}
	scores, best := make([]float64, len(lights)), math.Inf(-1)
	for i := range lights {
		scores[i] = v.score(&lights[i], asShot)
		best = math.Max(best, scores[i])
	}
	var mean [2]float64
	sum := 0.0
	for i, l := range lights {
		w := math.Exp(scores[i] - best)
		sum += w
		mean[0] += w * l.at[0]
		mean[1] += w * l.at[1]
	}
	return [3]float64{math.Exp(-mean[0] / sum), 1, math.Exp(-mean[1] / sum)}, nil
}

// candidate is a light: where it is on the plane of log(R/G) and log(B/G), and how usual.
type candidate struct {
	at    [2]float64
	usual float64 // logarithm
}

// Constants of the estimate, fitted on synthetic photos (scripts/whitebalance).
const (
	usualMired  = 182.0 // the middle of usual lights
	miredSpread = 75.0
	usualTint   = 8.0 // daylight lies beside the Planckian locus
	tintSpread  = 9.0

	greySpread   = 0.09 // of patches called grey, on the plane of logarithms
	greyWeight   = 7.0  // of the share of grey patches
	meanSpread   = 0.30
	asShotSpread = 0.25
)

func candidateLights(facts Facts) (all []candidate) {
	c := newCalibration(facts, &Info{})
	for mired := 84.0; mired <= 500; mired += 8 {
		for tint := -16.0; tint <= 40; tint += 8 {
			n := c.neutral(WithTemperature(1e6/mired, tint))
			if !(n[0] > 0 && n[1] > 0 && n[2] > 0) {
				continue
			}
			all = append(all, candidate{[2]float64{math.Log(n[0] / n[1]), math.Log(n[2] / n[1])},
				-(square((mired-usualMired)/miredSpread) + square((tint-usualTint)/tintSpread)) / 2})
		}
	}
	return all
}

func square(x float64) float64 { return x * x }

// votes are patches on the plane of log(R/G) and log(B/G), in cells of it.
type votes struct {
	cells  []vote
	mean   [2]float64 // of the mean colour
	weight float64
}

type vote struct {
	at     [2]float64
	weight float64
}

// votesSide is the number of the plane's cells along a side; it spans -votesSpan to votesSpan.
const votesSide, votesSpan = 128, 3.0

func newVotes(patches [][3]float64) *votes {
	const darkest, brightest = 0.01, 0.95
	v := &votes{}
	plane := make([]float64, votesSide*votesSide)
	var mean [3]float64
	for _, p := range patches {
		top := max(p[0], p[1], p[2])
		if !(min(p[0], p[1], p[2]) > darkest/4 && top > darkest && top < brightest) {
			continue
		}
		x, y := votePlace(math.Log(p[0]/p[1])), votePlace(math.Log(p[2]/p[1]))
		w := math.Sqrt(top)
		plane[y*votesSide+x] += w
		v.weight += w
		for c := range mean {
			mean[c] += math.Sqrt(p[c]) // bright parts should not be all that counts
		}
	}
	if v.weight == 0 {
		return v
	}
	centre := func(i int) float64 { return (float64(i)+0.5)*2*votesSpan/votesSide - votesSpan }
	for i, w := range plane {
		if w > 0 {
			v.cells = append(v.cells, vote{[2]float64{centre(i % votesSide), centre(i / votesSide)}, w / v.weight})
		}
	}
	v.mean = [2]float64{2 * math.Log(mean[0]/mean[1]), 2 * math.Log(mean[2]/mean[1])}
	return v
}

func votePlace(x float64) int {
	return int(math.Min(math.Max((x+votesSpan)*votesSide/(2*votesSpan), 0), votesSide-1))
}

// score is the logarithm of a light's weight.
func (v *votes) score(l *candidate, asShot [3]float64) float64 {
	grey := 0.0
	for _, c := range v.cells {
		d := square(c.at[0]-l.at[0]) + square(c.at[1]-l.at[1])
		if d < 16*greySpread*greySpread {
			grey += c.weight * math.Exp(-d/(2*greySpread*greySpread))
		}
	}
	s := l.usual + greyWeight*grey
	s -= (square(v.mean[0]-l.at[0]) + square(v.mean[1]-l.at[1])) / (2 * meanSpread * meanSpread)
	if asShot != ([3]float64{}) {
		d := square(math.Log(asShot[1]/asShot[0])-l.at[0]) + square(math.Log(asShot[1]/asShot[2])-l.at[1])
		s -= d / (2 * asShotSpread * asShotSpread)
	}
	return s
}
