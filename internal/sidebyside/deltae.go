package sidebyside

import (
	"sync"
	"time"

	"enhance/internal/colour"
	"enhance/internal/workers"
)

// DeltaE sums up the CIEDE2000 differences of all pixels, whose samples are taken for sRGB.
type DeltaE struct {
	Mean float64 `json:"mean"`
	P95  float64 `json:"p95"` // 95 % of the pixels differ by no more; to 0.01
	Max  float64 `json:"max"`
}

// deltaEStep is the width of a bin of the histogram that P95 is read from.
const (
	deltaEStep = 0.01
	deltaEBins = 12001 // the last has all that is larger
)

// deltaE measures row by row.
type deltaE struct {
	row    []float32
	bins   []int64
	pixels int64
	sum    float64
	max    float64
}

func newDeltaE(width int) *deltaE {
	return &deltaE{row: make([]float32, width), bins: make([]int64, deltaEBins)}
}

// segment is how many pixels of a row a goroutine takes at a time.
const segment = 512

func (d *deltaE) add(before, after []uint16) {
	n := (len(d.row) + segment - 1) / segment
	workers.Each(workers.Count(n, segment*300*time.Nanosecond), n, func(_, i int) {
		for x := i * segment; x < min(len(d.row), (i+1)*segment); x++ {
			p, q := before[3*x:][:3:3], after[3*x:][:3:3]
			d.row[x] = 0
			if p[0] != q[0] || p[1] != q[1] || p[2] != q[2] {
				d.row[x] = float32(colour.DeltaE2000(labOf(p), labOf(q)))
			}
		}
	})
	row := 0.0
	for _, v := range d.row {
		e := float64(v)
		row += e
		d.max = max(d.max, e)
		d.bins[min(int(e/deltaEStep), deltaEBins-1)]++
	}
	d.sum += row
	d.pixels += int64(len(d.row))
}

func (d *deltaE) result() *DeltaE {
	r := &DeltaE{Mean: d.sum / float64(d.pixels), Max: d.max}
	left := d.pixels - (d.pixels*95+99)/100
	for i := deltaEBins - 1; i > 0; i-- {
		if left -= d.bins[i]; left < 0 {
			r.P95 = min(float64(i+1)*deltaEStep, d.max)
			break
		}
	}
	return r
}

var light = sync.OnceValue(func() *[65536]float64 {
	t := new([65536]float64)
	for i := range t {
		t[i] = colour.SRGBDecode(float64(i) / 65535)
	}
	return t
})

func labOf(rgb []uint16) [3]float64 {
	t := light()
	return colour.Lab([3]float64{t[rgb[0]], t[rgb[1]], t[rgb[2]]})
}
