package defects

import (
	"math"
	"slices"
)

// pair is two opposite neighbours, named by the offset of one of them.
type pair struct{ dy, dx int }

// features are how many pairs predict a sample. sameColour of them are, for green, of its
// colour; for red and blue the first four are.
const (
	features = 10
	nearest  = 6
	sides    = 2*trainReach/2 + 1
	maxRows  = sides * sides
)

// pairs are those of a sample's own filter place, those diagonally beside it (for green
// its other place, else the third colour), and those beside it.
var pairs = [features]pair{{0, 2}, {2, 0}, {2, 2}, {2, -2}, {1, 1}, {1, -1}, {0, 1}, {1, 0}, {0, 3}, {3, 0}}

// prior are the weights of the pairs' means where the surroundings say nothing: for red
// and blue the mean of neighbours corrected by green's curvature, for green the mean of its neighbours.
var prior = [2][features]float64{
	{0.4, 0.4, 0.1, 0.1, 0, 0, 0.25, 0.25, -0.25, -0.25},
	{0.15, 0.15, 0.05, 0.05, 0.3, 0.3, 0, 0, 0, 0},
}

const (
	priorWeight = 2   // in samples
	nearWeight  = 100 // squared distance at which a sample counts half
	likeWeight  = 0.3 // squared difference at which it does, in times of the mean
	leastFitted = 12  // samples that a prediction needs
)

// prediction is what the surroundings say of a sample.
type prediction struct {
	value float64
	rms   float64   // error of the prediction of the samples around
	off   []float64 // the errors, in no order
}

// fitRow is the features of a sample, itself after them, and zeros.
type fitRow [features + 2]float64

// fit is the least-squares problem of one prediction. Products are rounded before they
// are added, so that all machines agree.
type fit struct {
	use    [features]bool
	all    bool // are in use
	rows   [maxRows]fitRow
	weight [maxRows]float64
	off    [maxRows]float64 // errors
	count  int
	mean   fitRow
	total  float64
}

// predict gives the middle by the pairs around it, with weights fitted to the samples of
// its filter place around. It reports false where too many samples are bad. The errors stay
// until the next prediction.
func (p *patch) predict(prior *[features]float64) (prediction, bool) {
	f := &p.fit
	f.count, f.total, f.mean = 0, 0, fitRow{}
	if !f.choosePairs(p) {
		return prediction{}, false
	}
	f.collect(p)
	if f.count < leastFitted {
		return prediction{}, false
	}
	var own fitRow
	f.features(p, reach*patchStride+reach, &own)
	f.weigh(&own)
	w, ok := f.solve(prior)
	if !ok {
		return prediction{}, false
	}
	q := prediction{value: f.mean[features]}
	q.rms, q.off = f.errors(&w)
	for j, x := range own[:features] {
		q.value += float64(w[j] * (x - f.mean[j]))
	}
	return q, true
}

// priorAt is prior for the filter place of row y, column x.
func (f *finder) priorAt(y, x int) *[features]float64 {
	if f.green[y&1][x&1] {
		return &prior[1]
	}
	return &prior[0]
}

// choosePairs takes the pairs without bad samples.
func (f *fit) choosePairs(p *patch) bool {
	near := 0
	f.all = true
	for j, q := range pairs {
		f.use[j] = !p.isBad(reach+q.dy, reach+q.dx) && !p.isBad(reach-q.dy, reach-q.dx)
		f.all = f.all && f.use[j]
		if f.use[j] && j < nearest {
			near++
		}
	}
	return near >= 2
}

// features makes the means of the pairs in use around the sample of a place.
func (f *fit) features(p *patch, at int, v *fitRow) {
	const y, m = patchStride, featureReach*patchStride + featureReach // the sample itself in w
	w := (*[2*m + 1]float64)(p.v[at-m:])
	v[0], v[1] = (w[m+2]+w[m-2])/2, (w[m+2*y]+w[m-2*y])/2 // in the order of pairs
	v[2], v[3] = (w[m+2*y+2]+w[m-2*y-2])/2, (w[m+2*y-2]+w[m-2*y+2])/2
	v[4], v[5] = (w[m+y+1]+w[m-y-1])/2, (w[m+y-1]+w[m-y+1])/2
	v[6], v[7] = (w[m+1]+w[m-1])/2, (w[m+y]+w[m-y])/2
	v[8], v[9] = (w[m+3]+w[m-3])/2, (w[m+3*y]+w[m-3*y])/2
	v[features] = w[m]
	if f.all {
		return
	}
	for j, use := range &f.use {
		if !use {
			v[j] = 0
		}
	}
}

// unusable are, as patch.bad has them, the samples that are bad or have a bad one in their
// pairs in use; of the rows alone that samples are taken from.
func (f *fit) unusable(p *patch) [patchSide]uint32 {
	all := p.bad
	for j, q := range pairs {
		if !f.use[j] {
			continue
		}
		for y := reach - trainReach; y <= reach+trainReach; y += 2 {
			above, below := p.bad[y-q.dy], p.bad[y+q.dy]
			if q.dx >= 0 {
				all[y] |= above<<q.dx | below>>q.dx
			} else {
				all[y] |= above>>-q.dx | below<<-q.dx
			}
		}
	}
	return all
}

// nearWeights are those of the samples that may be taken, by their distance, in reading order.
var nearWeights = func() (w [maxRows]float64) {
	for i := range w {
		dy, dx := 2*(i/sides)-trainReach, 2*(i%sides)-trainReach
		w[i] = nearWeight / float64(nearWeight+dy*dy+dx*dx)
	}
	return w
}()

// collect takes the good samples, weighted by their distance.
func (f *fit) collect(p *patch) {
	without := f.unusable(p)
	for i := range sides {
		y := reach - trainReach + 2*i
		for j := range sides {
			x := reach - trainReach + 2*j
			if without[y]>>x&1 != 0 {
				continue
			}
			f.features(p, y*patchStride+x, &f.rows[f.count])
			f.weight[f.count] = nearWeights[i*sides+j]
			f.count++
		}
	}
}

// weigh lowers the weights of samples whose surroundings differ from own, and takes the
// means away.
func (f *fit) weigh(own *fitRow) {
	var differ [maxRows]float64
	sum := 0.0
	rows, weight := f.rows[:f.count], f.weight[:f.count]
	for i := range rows {
		s, row := 0.0, &rows[i]
		for j := range features {
			d := row[j] - own[j]
			s += float64(d * d)
		}
		differ[i] = s
		sum += s
	}
	half := float64(likeWeight*sum)/float64(f.count) + math.SmallestNonzeroFloat64
	for i := range weight {
		weight[i] *= half / (half + differ[i])
		f.total += weight[i]
	}
	center(rows, weight, f.total, &f.mean)
}

// solve gives the weights of the pairs.
func (f *fit) solve(prior *[features]float64) (w [features]float64, ok bool) {
	var products [features]fitRow
	sumProducts(f.rows[:f.count], f.weight[:f.count], &products)
	a := &products
	power := 0.0
	for j := range features {
		power += a[j][j]
	}
	ridge := priorWeight*power/float64(features*f.count) + 1e-9
	for j := range features {
		if !f.use[j] { // its row and column are 0
			a[j][j] = 1
			continue
		}
		a[j][j] += ridge
		a[j][features] += float64(ridge * prior[j])
	}
	return solve(a)
}

// solve solves the symmetric, positive definite system a, of which the upper half is
// given.
func solve(a *[features]fitRow) (w [features]float64, ok bool) {
	for j := range features {
		if !(a[j][j] > 0) {
			return w, false
		}
		for i := j + 1; i < features; i++ {
			r := a[j][i] / a[j][j]
			for k := i; k <= features; k++ {
				a[i][k] -= float64(r * a[j][k])
			}
		}
	}
	for j := features - 1; j >= 0; j-- {
		v := a[j][features]
		for k := j + 1; k < features; k++ {
			v -= float64(a[j][k] * w[k])
		}
		w[j] = v / a[j][j]
	}
	return w, true
}

// errors are those of the weights on the samples that they were fitted to, and their root
// mean square.
func (f *fit) errors(w *[features]float64) (rms float64, off []float64) {
	sum := 0.0
	off = f.off[:f.count]
	for i := range off {
		e := f.rows[i][features]
		for j, x := range f.rows[i][:features] {
			e -= float64(w[j] * x)
		}
		sum += float64(f.weight[i] * float64(e*e))
		off[i] = math.Abs(e)
	}
	return math.Sqrt(sum / f.total), off
}

// noise is what rms would be if all errors were distributed like the least third, which
// detail spares: those of a normal distribution that lie within middle deviations.
func (q *prediction) noise() float64 {
	const middle = 0.4307
	slices.Sort(q.off)
	return q.off[len(q.off)/3] / middle
}

// repair is the repaired value of the middle, which lies at row y, column x: the
// prediction, or where there are too many bad samples the mean of the nearest good
// samples of its filter place. It reports false if there are none.
func (f *finder) repair(p *patch, y, x int) (uint16, bool) {
	if q, ok := p.predict(f.priorAt(y, x)); ok {
		return f.sample(q.value, y, x), true
	}
	for far := 2; far <= reach; far += 2 {
		sum, count := 0.0, 0.0
		for dy := -far; dy <= far; dy += 2 {
			for dx := -far; dx <= far; dx += 2 {
				if max(dy, -dy, dx, -dx) == far && !p.isBad(reach+dy, reach+dx) {
					sum, count = sum+p.at(reach+dy, reach+dx), count+1
				}
			}
		}
		if count > 0 {
			return f.sample(sum/count, y, x), true
		}
	}
	return 0, false
}
