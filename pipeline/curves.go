package pipeline

import (
	"math"
	"sync"

	"enhance/model"
	"enhance/raw"
)

// curve is what the tables of photos with the same levels and gains have in common: powers, which take
// most of the time.
type curve struct {
	light []float32 // by stored sample
	slope []float64 // of the convention's curve there, up to end; nil if there are no noise planes
	end   int       // from this sample on all are alike: most are beyond white
}

// curveKey decides a curve.
type curveKey struct {
	conv         model.Convention
	full         float64 // of the sensor's bits
	black, white float32
	gain         float64
	noise        bool
}

// maxCurves bounds the memory of curves: at most 768 KiB each.
const maxCurves = 8

// curves keep the curves that were used last. Nil keeps none.
type curves struct {
	mu   sync.Mutex
	kept []keptCurve // the last in use first
}

type keptCurve struct {
	key   curveKey
	curve func() *curve // made by the first call
}

// get is the curve of a key, which make makes if it is not kept.
func (c *curves) get(key curveKey, make func() *curve) *curve {
	if c == nil {
		return make()
	}
	return c.find(key, make)()
}

// find is get before the curve is made, which others need not wait for.
func (c *curves) find(key curveKey, make func() *curve) func() *curve {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := keptCurve{key: key}
	for i, k := range c.kept {
		if k.key == key {
			found = k
			c.kept = append(c.kept[:i], c.kept[i+1:]...)
			break
		}
	}
	if found.curve == nil {
		found.curve = sync.OnceValue(make)
	}
	c.kept = append([]keptCurve{found}, c.kept[:min(len(c.kept), maxCurves-1)]...)
	return found.curve
}

// newCurve makes the curve of a black level and a colour.
func (l *levels) newCurve(black float32, col raw.Colour) *curve {
	c := &curve{light: make([]float32, math.MaxUint16+1), end: math.MaxUint16}
	for ; c.end > 0 && l.clipped(float32(c.end-1), black, col) == l.clipped(math.MaxUint16, black, col); c.end-- {
	}
	if l.noise != nil {
		c.slope = make([]float64, c.end+1)
	}
	for v := range c.light {
		if v > c.end {
			c.light[v] = c.light[c.end]
			continue
		}
		x := l.clipped(float32(v), black, col)
		c.light[v] = l.encoded(x)
		if c.slope != nil {
			c.slope[v] = l.conv.Slope(x)
		}
	}
	return c
}
