package pipeline

import (
	"math"
	"math/bits"

	"enhance/model"
	"enhance/raw"
)

// levels turns stored samples into network samples by the model's convention.
// The function of a sample depends only on its black level, white level and gain,
// of which a photo mostly has four sets or fewer: then it is a table of 65536.
type levels struct {
	meta  *raw.Meta
	conv  *model.Convention
	gains [3]float64 // smallest 1

	// tables[(y mod rows)*cols + x mod cols]; nil if there would be too many.
	tables     [][]float32
	rows, cols int
}

// maxTables bounds the memory of tables: 256 KiB each.
const maxTables = 16

func newLevels(m *raw.Meta, c *model.Convention, gains [3]float64) *levels {
	l := &levels{meta: m, conv: c, gains: gains, rows: even(m.BlackRows), cols: even(m.BlackCols)}
	if m.BlackDeltaH != nil || m.BlackDeltaV != nil || l.rows*l.cols > 1024 {
		return l
	}
	type key struct {
		black float32
		col   raw.Colour
	}
	seen := map[key][]float32{}
	tables := make([][]float32, 0, l.rows*l.cols)
	for y := range l.rows {
		for x := range l.cols {
			k := key{m.BlackAt(y, x), m.CFA.At(y, x)}
			if seen[k] == nil {
				if len(seen) == maxTables {
					return l
				}
				t := make([]float32, math.MaxUint16+1)
				for v := range t {
					t[v] = l.sample(float32(v), k.black, k.col)
				}
				seen[k] = t
			}
			tables = append(tables, seen[k])
		}
	}
	l.tables = tables
	return l
}

// even is the least even multiple of n, so that a pattern also repeats with the
// filter array.
func even(n int) int { return n << (n & 1) }

// sample is the definition: one stored sample to one network sample.
func (l *levels) sample(v, black float32, col raw.Colour) float32 {
	if !l.conv.SubtractBlack {
		return v * float32(1023/fullScale(l.meta)/l.conv.Divisor)
	}
	x := (v - black) / (l.meta.White[col] - black) * float32(l.gains[col])
	// The convention clips after white balance: samples at saturation become 1 in
	// all colours, since no gain is below 1, so that highlights stay neutral.
	switch {
	case !(x > 0):
		return 0
	case x >= 1:
		return 1
	}
	return float32(math.Pow(float64(x), 1/l.conv.Gamma))
}

// fullScale is the largest number that the sensor's bits can hold. A container of
// 16 bits often holds fewer; the white level tells.
func fullScale(m *raw.Meta) float64 {
	white := max(m.White[0], m.White[1], m.White[2])
	n := min(m.BitDepth, bits.Len(uint(min(math.Ceil(float64(white)), math.MaxUint16))))
	return float64(uint(1)<<max(n, 1) - 1)
}

// row converts the samples of row y of the active area from column x0 on.
func (l *levels) row(y, x0 int, stored []uint16, dst []float32) {
	dst = dst[:len(stored)]
	if l.tables == nil {
		l.meta.BlackRow(y, x0, dst)
		for i, v := range stored {
			dst[i] = l.sample(float32(v), dst[i], l.meta.CFA.At(y, x0+i))
		}
		return
	}
	t := l.tables[y%l.rows*l.cols:][:l.cols]
	for k := range min(l.cols, len(stored)) {
		table := (*[math.MaxUint16 + 1]float32)(t[(x0+k)%l.cols])
		for i := k; i < len(stored); i += l.cols {
			dst[i] = table[stored[i]]
		}
	}
}
