package calibrate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/model"
	"enhance/model/ref"
)

// TestCodes: the range that is found loses no more than those of all samples, and less where a few lie far out.
func TestCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, outliers := range []int{0, 3} {
		h, data := &histogram{}, []float32(nil)
		for range 20000 {
			data = append(data, float32(rng.NormFloat64()))
		}
		for i := range outliers {
			data[i] = 300
		}
		h.add(data[10000:])
		h.add(data[:10000]) // which is wider
		squared := func(c model.CodeStep) (sum float64) {
			n := model.Node{Step: c.Step, Zero: c.Zero}
			for _, v := range data {
				d := float64(v - (n.Code(v)-float32(c.Zero))*c.Step)
				sum += d * d
			}
			return sum
		}
		all, found := squared(model.CodesFor(slices.Min(data), slices.Max(data))), squared(h.codes())
		if found > 1.05*all {
			t.Errorf("%d outliers: squared errors of %g, of the whole range %g", outliers, found, all)
		}
	}
}

func TestHistogramGrows(t *testing.T) {
	h := &histogram{}
	h.add([]float32{-1, 0.5, 1})
	h.add([]float32{5})
	sum := 0.0
	for _, n := range h.count {
		sum += n
	}
	if sum != 4 || h.least != -1 || h.greatest != 5 || h.width < 5 {
		t.Errorf("%g samples in -%g..%[2]g, from %g to %g", sum, h.width, h.least, h.greatest)
	}
}

// TestChoose: with a loss of much all convolutions are chosen, with one of almost nothing none is, and between the loss of
// those chosen is the one allowed.
func TestChoose(t *testing.T) {
	m, err := model.Load("pynet-m-random:1")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 16, 16
	in := model.FormulaTensor("calibrate", "in", 8*h*w)
	c := New(m)
	if err := c.Add(t.Context(), in, h, w); err != nil {
		t.Fatal(err)
	}
	out, _, err := ref.Run(t.Context(), m, in, h, w, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	truth := slices.Clone(out)
	for i := range truth { // the network is wrong by 0.01 to either side
		truth[i] += 0.01 * float32(1-2*(i%2))
	}
	all := len(m.Graph.Quantizable())
	last := 0
	for _, most := range []float64{1e-9, 0.2, 60} {
		convs, err := Choose(t.Context(), m, c.Codes(), []Example{{In: in, Truth: truth, H: h, W: w}}, most)
		if err != nil {
			t.Fatal(err)
		}
		if len(convs) < last || most < 1e-6 && len(convs) > 0 || most == 60 && len(convs) != all {
			t.Errorf("%g dB: %d of %d convolutions, after %d", most, len(convs), all, last)
		}
		last = len(convs)
		if most != 60 {
			continue
		}
		q, err := model.Quantize(m, convs, c.Codes())
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := ref.Run(t.Context(), q, in, h, w, ref.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if e := squares(got, out); e == 0 || e > 0.01*squares(out, make([]float32, len(out))) {
			t.Errorf("codes change the result by %g in the mean", math.Sqrt(e/float64(len(out))))
		}
	}
}
