package pipeline

import (
	"enhance/model"
	"enhance/raw"
)

// linearLevels turn a demosaiced photo's light into network samples and those of their noise
// planes. In between the steps of tables they are interpolated; where the curve is steep, near
// black, it is straight, and samples are computed.
type linearLevels struct {
	conv  *model.Convention
	gains [3]float64
	noise [3]*lightTable // by colour; all nil if the network has no noise planes
	light *lightTable
	exact *levels
}

// tableFrom is the light from which on straight lines between the tables' steps are within
// 2e-6 of sRGB's curve.
const tableFrom = 64.0 / lightSteps

func newLinearLevels(l *levels) *linearLevels {
	t := &linearLevels{conv: l.conv, gains: l.gains, exact: l, light: newLightTable(l.conv.Encode)}
	if l.noise != nil {
		for c := range t.noise {
			t.noise[c] = newLightTable(func(x float64) float64 { return float64(l.strength(x, raw.Colour(c))) })
		}
	}
	return t
}

// row makes the samples of a row of one colour, and its noise unless that is nil.
func (t *linearLevels) row(c raw.Colour, light, dst, noise []float32) {
	gain := t.gains[c]
	for i, v := range light {
		x := t.conv.Limit(float64(v) * gain)
		if x < tableFrom {
			dst[i] = float32(t.conv.Encode(x))
			if noise != nil {
				noise[i] = t.exact.strength(x, c)
			}
			continue
		}
		k := int(x * lightSteps)
		part := float32(x*lightSteps - float64(k))
		s := &t.light[k]
		dst[i] = s.at + s.rise*part
		if noise != nil {
			s = &t.noise[c][k]
			noise[i] = s.at + s.rise*part
		}
	}
}
