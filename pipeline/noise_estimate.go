package pipeline

import (
	"errors"
	"math"
	"time"

	"enhance/internal/workers"
	"enhance/raw"
)

// The estimate: samples of one place in the filter array make a picture of half
// the sides without interpolation. Its blocks of 8×8 are transformed, and the
// energy of the highest frequencies, where photos have the least, measures the
// noise at the block's mean. Detail only adds to it, so that among blocks of like
// brightness the quiet ones count: a low quantile, which is brought to the mean by
// the distribution that pure noise would have. A line through variance over
// brightness is the result. Ideas: signal-dependent noise as a line and robust
// low-order statistics of small blocks, as in Foi, Trimeche, Katkovnik and
// Egiazarian, "Practical Poissonian-Gaussian noise modeling and fitting for
// single-image raw-data", IEEE Trans. Image Processing 17(10), 2008.

// errNoFlatBlocks says that too little of a photo can be measured.
var errNoFlatBlocks = errors.New("too few flat parts that are neither black nor saturated")

const (
	side      = 8    // of a block, in samples of one filter place
	highFrom  = 8    // frequencies u+v from here on are noise
	highCount = 28   // so many they are
	quietest  = 0.03 // the quantile that counts
	meanBins  = 32   // of brightness, evenly in its square root
	minBlocks = 24   // of a point of the line
	varOctave = 16   // variance bins an octave
	varLow    = -44  // log2 of the least variance that is told from 0
	varBins   = -varLow*varOctave + 1
	saturated = 0.97          // blocks that reach this are left out
	minAll    = 2 * minBlocks // blocks of a photo
)

// quietShare is what the quantile of a sum of highCount squares of Gaussian
// numbers is of its mean: Wilson and Hilferty's approximation of chi-square, with
// -1.8808 standard deviations for 3 in 100.
var quietShare = math.Pow(1-2.0/(9*highCount)-1.8808*math.Sqrt(2.0/(9*highCount)), 3)

// blockCount holds the blocks of one colour and brightness.
type blockCount struct {
	n   int64
	sum float64 // of their means
	by  [varBins]int32
}

// noiseCounts are the blocks of a photo, by colour and brightness. Memory is
// fixed: 270 kB.
type noiseCounts [3][meanBins]blockCount

// blockStat is a measured block; bin is -1 for one that is left out.
type blockStat struct {
	mean     float32
	bin      int16
	variance int16
}

// estimateNoise estimates the noise levels of a photo that is being decoded, for a model
// that asks for them where the file does not tell. It reads the photo once, in bands of
// rows from top to bottom. blocks is how many blocks the estimate rests on.
func estimateNoise(a *ahead) (levels NoiseLevels, blocks int64, err error) {
	counts := new(noiseCounts)
	b := newBands(a.photo.Meta())
	for n := range a.total() {
		stored, done, err := a.blocks(n, n)
		if err != nil {
			return levels, 0, err
		}
		y := a.region.Y0 + n*blockRows
		b.count(counts, y, min(y+blockRows, a.region.Y1), stored[0])
		done()
	}
	return counts.levels()
}

// bandRows is how many mosaic rows a band of blocks takes.
const bandRows = 2 * side

// bands measures the blocks of the crop's bands.
type bands struct {
	meta   *raw.Meta
	across int         // blocks in a band, of each place
	lines  [][]float32 // by worker: a band's rows, normalised
	stats  []blockStat // by band, place and block
}

func newBands(m *raw.Meta) *bands {
	b := &bands{meta: m, across: m.Crop.Width() / bandRows, lines: make([][]float32, cores())}
	b.stats = make([]blockStat, blockRows/bandRows*4*b.across)
	return b
}

// count measures the blocks of mosaic rows y to y1-1, which stored holds in full
// width, as far as they are in the crop.
func (b *bands) count(counts *noiseCounts, y, y1 int, stored []uint16) {
	m := b.meta
	first := max(y, m.Crop.Y0)
	n := max(0, min(y1, m.Crop.Y1)-first) / bandRows
	workers.Each(workers.Count(n, time.Millisecond), n, func(worker, band int) {
		if b.lines[worker] == nil {
			b.lines[worker] = make([]float32, bandRows*m.Crop.Width())
		}
		at := first + band*bandRows
		b.measure(b.stats[band*4*b.across:], at, stored[(at-y)*m.Width+m.Crop.X0:], b.lines[worker])
	})
	for band := range n {
		for at := range 4 {
			c := &counts[m.CFA.At(first+at/2, m.Crop.X0+at%2)]
			for _, s := range b.stats[(4*band+at)*b.across:][:b.across] {
				if s.bin >= 0 {
					c[s.bin].n++
					c[s.bin].sum += float64(s.mean)
					c[s.bin].by[s.variance]++
				}
			}
		}
	}
}

// measure measures the blocks of one band, whose first row is y; stored begins
// with its first sample in the crop.
func (b *bands) measure(stats []blockStat, y int, stored []uint16, lines []float32) {
	m, w := b.meta, b.meta.Crop.Width()
	for i := range bandRows {
		m.Normalise(y+i, m.Crop.X0, stored[i*m.Width:][:w], lines[i*w:][:w])
	}
	for at := range 4 {
		for k := range b.across {
			var q block8
			ok := q.take(stored, m.Width, lines, w, at/2, bandRows*k+at%2)
			stats[at*b.across+k] = q.measure(ok)
		}
	}
}

// block8 is a block of samples of one filter place.
type block8 [side][side]float64

// take fills the block from rows y, y+2, ... and columns x, x+2, ...; it reports
// whether none of its samples is saturated or is cut off at 0 as stored.
func (q *block8) take(stored []uint16, stride int, lines []float32, width, y, x int) bool {
	ok := true
	for i := range q {
		s, l := stored[(y+2*i)*stride+x:], lines[(y+2*i)*width+x:]
		for j := range q[i] {
			v := l[2*j]
			q[i][j] = float64(v)
			ok = ok && v < saturated && s[2*j] > 0
		}
	}
	return ok
}

// cosines is the orthonormal discrete cosine transform: row u has frequency u.
var cosines = func() (t [side][side]float64) {
	for u := range t {
		scale := math.Sqrt(2.0 / side)
		if u == 0 {
			scale = math.Sqrt(1.0 / side)
		}
		for x := range t[u] {
			t[u][x] = scale * math.Cos(math.Pi*float64(u)*(2*float64(x)+1)/(2*side))
		}
	}
	return
}()

// measure sums up a block: its mean, and the mean energy of its high frequencies.
func (q *block8) measure(ok bool) blockStat {
	if !ok {
		return blockStat{bin: -1}
	}
	sum := 0.0
	for i := range q {
		for _, v := range q[i] {
			sum += v
		}
	}
	mean := sum / (side * side)
	var rows block8 // [u][i]: frequency u across row i
	for u := 1; u < side; u++ {
		for i := range q {
			rows[u][i] = dot(&cosines[u], &q[i])
		}
	}
	energy := 0.0
	for u := 1; u < side; u++ {
		for v := highFrom - u; v < side; v++ {
			f := dot(&cosines[v], &rows[u])
			energy += float64(f * f)
		}
	}
	k := (math.Log2(energy/highCount) - varLow) * varOctave
	return blockStat{
		mean:     float32(mean),
		bin:      int16(min(meanBins*math.Sqrt(max(mean, 0)), meanBins-1)),
		variance: int16(min(max(k, 0), varBins-1)), // of -Inf too
	}
}

// dot rounds every product, so that all machines agree.
func dot(a, b *[side]float64) float64 {
	s := 0.0
	for i, v := range a {
		s += float64(v * b[i])
	}
	return s
}

// quiet is the variance that a low quantile of the blocks points to.
func (b *blockCount) quiet() float64 {
	want := quietest * float64(b.n)
	for k, n := range b.by {
		if want <= float64(n) {
			if k == 0 {
				return 0
			}
			return math.Exp2((float64(k)+want/float64(n))/varOctave+varLow) / quietShare
		}
		want -= float64(n)
	}
	return 0
}

// add joins the blocks of o to b's.
func (b *blockCount) add(o *blockCount) {
	b.n += o.n
	b.sum += o.sum
	for k, n := range o.by {
		b.by[k] += n
	}
}

// noisePoint is a point of a line: variance at a brightness, by so many blocks.
type noisePoint struct{ x, v, n float64 }

// points are one colour's, or all colours' if c is nil; neighbours with few
// blocks are joined.
func points(all ...*[meanBins]blockCount) (ps []noisePoint, blocks int64) {
	var b blockCount
	for k := range meanBins {
		for _, c := range all {
			b.add(&c[k])
		}
		if b.n >= minBlocks {
			ps = append(ps, noisePoint{b.sum / float64(b.n), b.quiet(), float64(b.n)})
			blocks += b.n
			b = blockCount{}
		}
	}
	return ps, blocks
}

// levels fits a line for each colour. The sensor's noise is alike behind all its
// filters but for gains, and a colour may be rare in a photo: the line of all
// colours together counts in each like a few blocks more.
func (c *noiseCounts) levels() (NoiseLevels, int64, error) {
	var out NoiseLevels
	all, blocks := points(&c[0], &c[1], &c[2])
	if blocks < minAll {
		return out, blocks, errNoFlatBlocks
	}
	s, o := fitLine(all)
	for col := range c {
		own, _ := points(&c[col])
		for _, p := range all {
			own = append(own, noisePoint{p.x, s*p.x + o, p.n / float64(blocks) * minBlocks / 2})
		}
		out[col].S, out[col].O = fitLine(own)
	}
	return out, blocks, nil
}

// fitLine fits v = s·x + o with s, o ≥ 0 so that relative errors count, those of
// points above the line, which detail lifts, less than those below.
func fitLine(ps []noisePoint) (s, o float64) {
	const rounds, above = 20, 0.25
	var most float64
	for _, p := range ps {
		most = max(most, p.v)
	}
	if most == 0 {
		return 0, 0
	}
	least := 1e-5 * most // keeps weights finite where the line says no noise
	for round := range rounds {
		var sw, sx, sv, sxx, sxv float64
		for _, p := range ps {
			w := math.Sqrt(p.n)
			if round > 0 {
				at := max(s*p.x+o, least)
				w /= at * at
				if p.v > at {
					w *= above
				}
			}
			sw, sx, sv = sw+w, sx+float64(w*p.x), sv+float64(w*p.v)
			sxx, sxv = sxx+float64(w*p.x*p.x), sxv+float64(w*p.x*p.v)
		}
		det := float64(sw*sxx) - float64(sx*sx)
		if det > 1e-9*sw*sxx {
			s, o = (float64(sw*sxv)-float64(sx*sv))/det, (float64(sxx*sv)-float64(sx*sxv))/det
		} else {
			s, o = 0, -1 // one brightness: shot noise alone
		}
		if o < 0 {
			s, o = max(0, sxv/max(sxx, math.SmallestNonzeroFloat64)), 0
		} else if s < 0 {
			s, o = 0, sv/sw
		}
	}
	return min(s, 1), min(o, 1)
}
