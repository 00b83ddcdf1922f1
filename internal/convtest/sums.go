package convtest

import (
	"encoding/binary"
	"math"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// summed is the trial's algorithm with statistics taken along, nil if it has no
// such form or the case is none for it.
func (k *trial) summed() (conv.Impl, conv.StatsTile) { return k.summedOf(k.impl) }

func (k *trial) summedOf(impl conv.Impl) (conv.Impl, conv.StatsTile) {
	s, ok := impl.(conv.Summing)
	if !ok || k.Shape.Act != fuse.NoAct || k.Res != nil {
		return nil, conv.StatsTile{}
	}
	return s.Summed()
}

// sums checks that the form with statistics makes the same outputs, and that its
// partial statistics are those of the outputs, however rows are divided.
func (k *trial) sums(impl conv.Impl, p conv.StatsTile, built map[string]*clrt.Kernel, weights *clrt.Buffer, want *Plane) {
	k.Helper()
	plain := k.impl
	defer func() { k.impl = plain }()
	k.impl = impl
	kernels := k.kernels(impl, built)
	h := k.Shape.H
	whole := NewPlane(k.Shape.OutC, h, k.Shape.W)
	stats := k.readStats(p, k.launch(kernels, weights, whole, 0, h), h)
	k.Same("with statistics", whole, want)
	if impl.Granule()%p.Rows != 0 {
		k.Errorf("launches of multiples of %d rows and tiles of %d rows", impl.Granule(), p.Rows)
	}
	k.compareStats(stats, p, want)
	parts := NewPlane(k.Shape.OutC, h, k.Shape.W)
	for y := 0; y < h; {
		y1 := min(h, y+impl.Granule()*(1+k.Rng.IntN(1+h/impl.Granule()/2)))
		got := k.readStats(p, k.launch(kernels, weights, parts, y, y1), y1-y)
		row := len(stats) / ((h + p.Rows - 1) / p.Rows)
		for i, v := range got {
			if w := stats[y/p.Rows*row+i]; math.Float32bits(v) != math.Float32bits(w) {
				k.Fatalf("rows %d to %d: partial statistic %d is %v, in one launch of all rows %v", y, y1, i, v, w)
			}
		}
		y = y1
	}
}

// readStats reads the statistics of rows rows.
func (k *trial) readStats(p conv.StatsTile, scratch *clrt.Buffer, rows int) []float32 {
	raw := make([]byte, p.Bytes(k.Shape, rows))
	k.Must(k.Queue.Read(scratch, 0, raw))
	v := make([]float32, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v
}

// compareStats holds statistics against the outputs, which were rounded to the
// storage since.
func (k *trial) compareStats(stats []float32, p conv.StatsTile, out *Plane) {
	k.Helper()
	unit := unit32
	if k.Precision == planar.FP16 {
		unit = unit16
	}
	at := 0
	for y := 0; y < out.H; y += p.Rows {
		for x := 0; x < out.W; x += p.Columns {
			for c := range out.C {
				var tile []float32
				for r := y; r < min(y+p.Rows, out.H); r++ {
					tile = append(tile, out.Line(c, r)[x:min(x+p.Columns, out.W)]...)
				}
				n, mean, m2, largest := float64(len(tile)), 0.0, 0.0, 0.0
				for _, v := range tile {
					mean += float64(v) / n
					largest = max(largest, math.Abs(float64(v)))
				}
				for _, v := range tile {
					m2 += (float64(v) - mean) * (float64(v) - mean)
				}
				tol := (unit+16*unit32)*largest + subnormal16
				tol2 := 1e-5*m2 + 4*math.Sqrt(n*m2)*tol + 4*n*tol*tol
				gm, g2 := float64(stats[at+c]), float64(stats[at+out.C+c])
				if !(math.Abs(gm-mean) <= tol) || !(math.Abs(g2-m2) <= tol2) {
					k.Fatalf("output %d, tile from row %d and column %d on: mean %v and squares %v, want %v ± %.2g and %v ± %.2g", c, y, x, gm, g2, mean, tol, m2, tol2)
				}
			}
			at += 2 * out.C
		}
	}
}
