package calibrate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"enhance/model"
	"enhance/model/ref"
)

// Example is an input of a network, h×w samples of each channel, and the truth, how its result should be: as many samples.
type Example struct {
	In, Truth []float32
	H, W      int
}

// Choose lists the convolutions to be made ones of codes, by what each of them alone costs over examples: all
// of them but those that cost most for the work that they save, until the squared errors that codes add are so
// small beside the network's own that the examples lose no more than maxLoss decibels in the mean, by the sum
// of what each convolution adds and by all together.
func Choose(ctx context.Context, m *model.Model, codes map[string]model.CodeStep, examples []Example, maxLoss float64) ([]int, error) {
	results, own := make([][]float32, len(examples)), make([]float64, len(examples))
	for k, e := range examples {
		out, _, err := ref.Run(ctx, m, e.In, e.H, e.W, ref.Options{})
		if err != nil {
			return nil, err
		}
		results[k], own[k] = out, squares(out, e.Truth)
	}
	shapes, err := m.Graph.Shapes(examples[0].H, examples[0].W)
	if err != nil {
		return nil, err
	}
	var costs []cost
	for _, i := range m.Graph.Quantizable() {
		q, err := model.Quantize(m, []int{i}, codes)
		if err != nil {
			return nil, err
		}
		c := cost{conv: i, work: float64(m.Graph.NodeFLOPs(i, shapes)), added: make([]float64, len(examples))}
		for k, e := range examples {
			out, _, err := ref.Run(ctx, q, e.In, e.H, e.W, ref.Options{})
			if err != nil {
				return nil, err
			}
			c.added[k] = squares(out, results[k])
		}
		costs = append(costs, c)
	}
	slices.SortStableFunc(costs, func(a, b cost) int { return cmp.Compare(b.price(own), a.price(own)) })
	for ; len(costs) > 0; costs = costs[1:] {
		if lost(costs, own) > maxLoss {
			continue
		}
		var convs []int
		for _, c := range costs {
			convs = append(convs, c.conv)
		}
		slices.Sort(convs)
		together, err := model.Quantize(m, convs, codes)
		if err != nil {
			return nil, err
		}
		c := cost{added: make([]float64, len(examples))}
		for k, e := range examples {
			out, _, err := ref.Run(ctx, together, e.In, e.H, e.W, ref.Options{})
			if err != nil {
				return nil, err
			}
			c.added[k] = squares(out, e.Truth) - own[k]
		}
		if lost([]cost{c}, own) <= maxLoss {
			return convs, nil
		}
	}
	return nil, nil
}

// cost is what one convolution of codes costs: the squared errors that it adds to each example.
type cost struct {
	conv  int
	work  float64
	added []float64
}

// price is the loss for the work.
func (c *cost) price(own []float64) float64 { return lost([]cost{*c}, own) / c.work }

// lost is the mean of the decibels that examples lose, whose own squared errors are own.
func lost(costs []cost, own []float64) (sum float64) {
	for k, o := range own {
		added := 0.0
		for _, c := range costs {
			added += c.added[k]
		}
		sum += 10 * math.Log10(1+added/max(o, math.SmallestNonzeroFloat64)) / float64(len(own))
	}
	return sum
}

func squares(a, b []float32) (sum float64) {
	for i, v := range a {
		d := float64(v) - float64(b[i])
		sum += d * d
	}
	return sum
}
