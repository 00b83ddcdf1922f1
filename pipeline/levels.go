package pipeline

import (
	"math"
	"math/bits"
	"slices"

	"enhance/internal/workers"
	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/raw"
)

// levels turns stored samples into network samples by the model's convention.
// The function of a sample depends only on its black level, white level and gain,
// of which a photo mostly has four sets or fewer: then it is a table of 65536.
type levels struct {
	meta  *raw.Meta
	conv  *model.Convention
	gains [3]float64   // smallest 1
	noise *facts.Noise // nil: the network has no noise planes
	// shading, if not nil, gives the factors that gain maps have put on the samples of a
	// row: the noise levels are of the samples before.
	shading func(y, x0 int, dst []float32)

	// tables[(y mod rows)*cols + x mod cols]; nil if there would be too many.
	tables     []table
	rows, cols int
}

// table has the network sample of each stored one, and that of its noise plane.
type table struct{ light, noise []float32 }

// maxTables bounds the memory of tables: 256 KiB each.
const maxTables = 16

// newLevels makes the levels of a photo. kept, which may be nil, has what others can take of its tables.
func newLevels(m *raw.Meta, c *model.Convention, gains [3]float64, noise *facts.Noise, kept *curves) *levels {
	l := &levels{meta: m, conv: c, gains: gains, noise: noise, rows: commonPeriod(m.BlackRows, m.CFA.Rows()), cols: commonPeriod(m.BlackCols, m.CFA.Cols())}
	if m.BlackDeltaH != nil || m.BlackDeltaV != nil || l.rows*l.cols > 1024 {
		return l
	}
	type key struct {
		black float32
		col   raw.Colour
	}
	var keys []key
	of := make([]int, 0, l.rows*l.cols)
	for y := range l.rows {
		for x := range l.cols {
			k := key{m.BlackAt(y, x), m.CFA.At(y, x)}
			i := slices.Index(keys, k)
			if i < 0 {
				if i = len(keys); i == maxTables {
					return l
				}
				keys = append(keys, k)
			}
			of = append(of, i)
		}
	}
	made := make([]table, len(keys))
	workers.Each(len(keys), len(keys), func(_, i int) { made[i] = l.newTable(keys[i].black, keys[i].col, kept) })
	l.tables = make([]table, len(of))
	for i, k := range of {
		l.tables[i] = made[k]
	}
	return l
}

func (l *levels) newTable(black float32, col raw.Colour, kept *curves) table {
	c := kept.get(curveKey{*l.conv, fullScale(l.meta), black, l.meta.White[col], l.gains[col], l.noise != nil}, func() *curve { return l.newCurve(black, col) })
	t := table{light: c.light}
	if l.noise == nil {
		return t
	}
	t.noise = make([]float32, len(c.light))
	if !l.conv.SubtractBlack {
		return t
	}
	for v := range t.noise[:c.end+1] {
		t.noise[v] = l.strengthAt(c.slope[v], l.clipped(float32(v), black, col), col)
	}
	for v := c.end; v < len(t.noise); v++ {
		t.noise[v] = t.noise[c.end]
	}
	return t
}

// commonPeriod is the least after which both what repeats after a and what repeats
// after b does.
func commonPeriod(a, b int) int {
	n := a
	for n%b != 0 {
		n += a
	}
	return n
}

// sample is the definition: one stored sample to one network sample and that of
// its noise plane, 0 if there is none.
func (l *levels) sample(v, black float32, col raw.Colour) (light, noise float32) {
	x := l.clipped(v, black, col)
	if l.conv.SubtractBlack && l.noise != nil {
		noise = l.strength(x, col)
	}
	return l.encoded(x), noise
}

// clipped is a sample's light, which decides what the network's samples are; a convention that keeps
// black has the stored number.
func (l *levels) clipped(v, black float32, col raw.Colour) float64 {
	if !l.conv.SubtractBlack {
		return float64(v)
	}
	// The convention clips after white balance: samples at saturation become 1 in
	// all colours, since no gain is below 1, so that highlights stay neutral.
	return l.conv.Limit(float64((v - black) / (l.meta.White[col] - black) * float32(l.gains[col])))
}

// encoded is the network's sample of such light.
func (l *levels) encoded(x float64) float32 {
	if !l.conv.SubtractBlack {
		return float32(x) * float32(1023/fullScale(l.meta)/l.conv.Divisor)
	}
	return float32(l.conv.Encode(x))
}

// fullScale is the largest number that the sensor's bits can hold. A container of
// 16 bits often holds fewer; the white level tells.
func fullScale(m *raw.Meta) float64 {
	white := max(m.White[0], m.White[1], m.White[2])
	n := min(m.BitDepth, bits.Len(uint(min(math.Ceil(float64(white)), math.MaxUint16))))
	return float64(uint(1)<<max(n, 1) - 1)
}

// row converts the samples of row y of the active area from column x0 on; noise
// is nil for a network without noise planes.
func (l *levels) row(y, x0 int, stored []uint16, light, noise []float32) {
	light = light[:len(stored)]
	if l.shading != nil && noise != nil {
		l.shadedRow(y, x0, stored, light, noise)
		return
	}
	if l.tables == nil {
		l.meta.BlackRow(y, x0, light)
		for i, v := range stored {
			var n float32
			light[i], n = l.sample(float32(v), light[i], l.meta.CFA.At(y, x0+i))
			if noise != nil {
				noise[i] = n
			}
		}
		return
	}
	t := l.tables[y%l.rows*l.cols:][:l.cols]
	for k := range min(l.cols, len(stored)) {
		at := t[(x0+k)%l.cols]
		lookUp(at.light, stored[k:], light[k:], l.cols)
		if noise != nil {
			lookUp(at.noise, stored[k:], noise[k:len(stored)], l.cols)
		}
	}
}

// shadedRow is row where the noise depends on the place too: a factor f makes noise
// of variance S·x + O to one of f·S·x + f²·O at the brightened x.
func (l *levels) shadedRow(y, x0 int, stored []uint16, light, noise []float32) {
	l.meta.BlackRow(y, x0, light)
	l.shading(y, x0, noise[:len(stored)])
	for i, v := range stored {
		col := l.meta.CFA.At(y, x0+i)
		x := l.conv.Limit(float64((float32(v) - light[i]) / (l.meta.White[col] - light[i]) * float32(l.gains[col])))
		n, f := l.noise.Levels[col], float64(noise[i])
		noise[i] = float32(l.conv.NoiseSample(x, l.gains[col], n.S*f, n.O*f*f))
		light[i] = float32(l.conv.Encode(x))
	}
}

// lookUp converts every step-th sample by a table.
func lookUp(t []float32, stored []uint16, dst []float32, step int) {
	table := (*[math.MaxUint16 + 1]float32)(t)
	dst = dst[:len(stored)]
	for i := 0; i < len(stored); i += step {
		dst[i] = table[stored[i]]
	}
}
