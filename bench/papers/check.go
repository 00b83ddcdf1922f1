package papers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// checkRows is on how many rows the compared outputs lie: each is downloaded whole.
const checkRows = 8

// check has compute make the convolution once more, into memory full of NaN, and
// compares the result with float64.
func (p *place) check(rows int, compute func() error, m *Measurement) error {
	fill := p.dst[0].Buf.Size() / 4 * 4
	if err := p.q.Fill(p.dst[0].Buf, 0, fill, []byte{0xff, 0xff, 0xff, 0xff}); err != nil {
		return err
	}
	if err := compute(); err != nil {
		return err
	}
	layout := planar.Rows{C: p.c.OutC, W: p.c.W, Precision: p.o.Precision}
	raw, line := make([]byte, layout.Bytes(1)), make([]float32, p.c.W)
	return p.compare(rows, func(n, y int) (func(o, x int) float64, error) {
		if err := p.q.Read(p.dst[n].Buf, p.dst[n].Base+int64(y)*layout.Bytes(1), raw); err != nil {
			return nil, err
		}
		return func(o, x int) float64 {
			layout.Get(raw, o, line)
			return float64(line[x])
		}, nil
	}, m)
}

// compare compares a random sample of the first rows rows of the pictures, edges and
// the last picture among them, with float64. get gives row y of picture n.
func (p *place) compare(rows int, get func(n, y int) (func(o, x int) float64, error), m *Measurement) error {
	rng := rand.New(rand.NewPCG(uint64(p.c.FLOPs(1)), 1))
	var sum, refs, worst float64
	ys := []int{0, rows - 1}
	for len(ys) < checkRows {
		ys = append(ys, rng.IntN(rows))
	}
	for r, y := range ys {
		n := p.c.pictures() - 1
		if r > 1 {
			n = rng.IntN(p.c.pictures())
		}
		row, err := get(n, y)
		if err != nil {
			return err
		}
		for i := range max(1, p.o.Samples/checkRows) {
			o, x := rng.IntN(p.c.OutC), rng.IntN(p.c.W)
			switch i { // both edges are always among them
			case 0:
				x = 0
			case 1:
				x = p.c.W - 1
			}
			got, want := row(o, x), p.values.output(p.weightValues, p.biasValues, n, o, y, x)
			d := got - want
			if math.IsNaN(d) || math.IsInf(d, 0) {
				return fmt.Errorf("wrong result: output %d at row %d, column %d is %v, not %g", o, y, x, got, want)
			}
			sum, refs, worst = sum+d*d, refs+want*want, max(worst, math.Abs(d))
		}
	}
	samples := float64(checkRows * max(1, p.o.Samples/checkRows))
	scale := math.Sqrt(refs / samples)
	m.RelError, m.MaxError = math.Sqrt(sum/samples)/scale, worst/scale
	if m.RelError > 0.1 {
		return fmt.Errorf("wrong result: the relative error is %.3g", m.RelError)
	}
	return nil
}

// output is the definition of one output of picture n, in float64.
func (v values) output(weights, bias []float32, n, o, y, x int) float64 {
	c, k := v.c, v.c.K
	sum := float64(bias[o])
	for i := range c.C {
		for ky := range k {
			sy := fuse.Reflect(y+ky-k/2, c.H)
			for kx := range k {
				sx := fuse.Reflect(x+kx-k/2, c.W)
				sum += float64(weights[((o*c.C+i)*k+ky)*k+kx]) * float64(v.input(n, i, sy, sx))
			}
		}
	}
	return sum
}
