package defects

import "math"

// fitting is a prediction in single precision, as predict makes it in double: most samples that come so
// far are turned down by it. Features and samples are taken twice, and less those of the spot.
type fitting struct {
	//lint:ignore U1000 the assembly uses it
	rows [patchSide * patchStride]float32 // roots: of a row the even columns of the patch, then the odd ones
	v    [fitColumns][fitStride]float32   // features, the sample itself, and ones
	near [fitStride]float32               // weights by distance; 0: not in use
	//lint:ignore U1000 the assembly uses it
	weight [fitStride]float32
	gram   [fitColumns][fitColumns]float32 // weighted sums of products; the upper half
	base   [2][2]int32                     // whole part of the level, by row and column of the patch mod 2
	frac   [2][2]float32
	like   float32 // likeWeight for the number of samples
	tiny   float32
}

const (
	fitColumns = features + 2
	fitStride  = 96 // maxRows, and zeros

	// Single precision changes a prediction's error and its rms by less than a tenth of the rms
	// where that has fitShare of the samples' deviation at least. A system of equations that has a ridge
	// of priorWeight samples has a condition of features·maxRows/priorWeight at most, so that weights are
	// off by less than fitError of their size.
	fitMargin = 0.9
	fitShare  = 1.0 / 1000
	fitError  = 1.0 / 500
)

func newFitting() *fitting {
	a := &fitting{tiny: 1e-30}
	for i := range a.v[fitColumns-1] {
		a.v[fitColumns-1][i] = 1
	}
	return a
}

// nearUsed are nearWeights of the samples that a prediction takes if the spot alone is bad, and how
// many there are.
var nearUsed, nearCount = func() (w [fitStride]float32, n int) {
	for i, v := range nearWeights {
		w[i] = float32(v)
	}
	return w, maxRows - without(&w, reach, reach)
}()

// without takes the samples that are bad or have a bad one in their pairs out of use, where row y and
// column x of the patch is bad. It returns how many there were.
func without(near *[fitStride]float32, y, x int) (n int) {
	out := func(y, x int) {
		y, x = y-(reach-trainReach), x-(reach-trainReach)
		if y|x >= 0 && (y|x)&1 == 0 && y <= 2*trainReach && x <= 2*trainReach {
			if at := y/2*sides + x/2; near[at] != 0 {
				near[at] = 0
				n++
			}
		}
	}
	out(y, x)
	for _, p := range pairs {
		out(y+p.dy, x+p.dx)
		out(y-p.dy, x-p.dx)
	}
	return n
}

// unlikely reports whether the prediction of a spot is surely so near that it is no defect: least is how
// many times its usual error it must be off. p.bad says which samples are bad.
func (f *finder) unlikely(a *fitting, p *patch, q *spot, sign, least float64) bool {
	if !hasScreens || !q.inside || !p.fit.choosePairs(p) || !p.fit.all {
		return false
	}
	a.near = nearUsed
	count := nearCount
	for y, bad := range p.bad {
		if y == reach {
			bad &^= 1 << reach
		}
		for x := 0; bad != 0; x, bad = x+1, bad>>1 {
			if bad&1 != 0 {
				count -= without(&a.near, y, x)
			}
		}
	}
	if count < leastFitted {
		return false
	}
	a.like = likeWeight / float32(count)
	for i := range a.base {
		for j := range a.base[i] {
			r := &f.screen.rows[(q.y+i+1)&1] // the patch begins an odd number of rows and columns before
			a.base[i][j], a.frac[i][j] = r.base[(q.x+j+1)&1], r.frac[(q.x+j+1)&1]
		}
	}
	fitUnits(a, &q.row(-reach)[0], 2*uintptr(q.width))
	off, slack, rms, ok := a.solve(f.priorAt(q.y, q.x), count)
	return ok && off*sign+slack < fitMargin*least*rms
}

// solve is by how much the sample is above its prediction, how sure that is, and the prediction's
// usual error. It reports false where single precision may not do.
func (a *fitting) solve(prior *[features]float64, count int) (off, slack, rms float64, ok bool) {
	const self, ones = features, features + 1
	total := float64(a.gram[ones][ones])
	var mean, with [features + 1]float64 // with: what features and samples have in common
	for j := range mean {
		mean[j] = float64(a.gram[j][ones]) / total
	}
	var m [features]fitRow
	power := 0.0
	for j := range features {
		gram, row := &a.gram[j], &m[j]
		for k := j; k <= self; k++ {
			row[k] = float64(gram[k]) - mean[k]*float64(gram[ones])
		}
		power += row[j]
		with[j] = row[self]
	}
	ridge := priorWeight * power / float64(features*count)
	for j := range features {
		m[j][j] += ridge
		m[j][self] += ridge * prior[j]
	}
	var w [features]float64
	if !solveUnits(&m, &w) {
		return 0, 0, 0, false
	}
	deviation := float64(a.gram[self][self]) - mean[self]*float64(a.gram[self][ones])
	left, size := deviation, 1.0
	off = float64(a.v[self][maxRows/2]) - mean[self]
	for j, w := range w {
		left += -w*with[j] + ridge*w*(prior[j]-w)
		size += w * w
		off += w * mean[j]
		slack += mean[j] * mean[j]
	}
	slack = fitError * math.Sqrt(slack*size)
	return off, slack, math.Sqrt(left / total), left > fitShare*max(deviation, power/features*size)
}
