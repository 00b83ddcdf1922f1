package colour

import "math"

// Tone renders scene light for a display: a Curve that keeps hues.
//
// The largest and the smallest component of a pixel, in a wide space, go through the
// curve, and the third keeps its place between them: the hue of linear light stays, which
// a curve on each component by itself turns towards yellow, cyan and magenta. Bright
// colours lose saturation, because the shoulder brings the components together, until
// white.
type Tone struct {
	toWide, toOutput [9]float32 // of the light
	luminance        [3]float32 // of the output space
	curve            *curveTable
}

// NewTone returns the rendering of light that toWide takes to the linear RGB of a wide
// space, for display in the output space. White is (1, 1, 1) in all of them.
func NewTone(curve Curve, toWide Matrix, wide, output Space) *Tone {
	t := &Tone{toWide: flat(toWide), toOutput: flat(Mul(Convert(wide, output), toWide)), curve: curve.table()}
	for i, v := range output.Luminance() {
		t.luminance[i] = float32(v)
	}
	return t
}

func flat(m Matrix) (f [9]float32) {
	for i := range f {
		f[i] = float32(m[i/3][i%3])
	}
	return f
}

// Row renders a row in place, to linear RGB of the output space within 0..1. Colours
// near its bounds and outside of them are brought in, see inGamut. r, g and b
// must have one length, and hold finite numbers.
func (t *Tone) Row(r, g, b []float32) {
	g, b = g[:len(r)], b[:len(r)]
	m, o, w := &t.toWide, &t.toOutput, &t.luminance
	for x := range r {
		cr, cg, cb := r[x], g[x], b[x]
		// The conversions forbid fused multiply-add: every machine rounds alike.
		wr := max(float32(m[0]*cr)+float32(m[1]*cg)+float32(m[2]*cb), 0)
		wg := max(float32(m[3]*cr)+float32(m[4]*cg)+float32(m[5]*cb), 0)
		wb := max(float32(m[6]*cr)+float32(m[7]*cg)+float32(m[8]*cb), 0)
		high, low := max(wr, wg, wb), min(wr, wg, wb)
		base := t.curve.at(low)
		scale := float32(0)
		if high > low {
			scale = (t.curve.at(high) - base) / (high - low)
		}
		// The curve moves and scales all components alike, in any space with this white.
		or := base + float32(scale*(float32(o[0]*cr)+float32(o[1]*cg)+float32(o[2]*cb)-low))
		og := base + float32(scale*(float32(o[3]*cr)+float32(o[4]*cg)+float32(o[5]*cb)-low))
		ob := base + float32(scale*(float32(o[6]*cr)+float32(o[7]*cg)+float32(o[8]*cb)-low))
		y := float32(w[0]*or) + float32(w[1]*og) + float32(w[2]*ob)
		if least, most := min(or, og, ob), max(or, og, ob); least < (1-gamutKnee)*y || most > gamutKnee+(1-gamutKnee)*y {
			or, og, ob = inGamut(or, og, ob, y, least, most)
		}
		r[x], g[x], b[x] = or, og, ob
	}
}

// gamutKnee is how far colours may be on the way from grey to the gamut's bounds before they
// are moved.
const gamutKnee = 0.9

// inGamut brings a colour of luminance y, whose least and most component are known, into
// 0..1. On the line from grey of its luminance through the colour, t is its place, 1 being
// the gamut's bounds. Up to gamutKnee colours stay; beyond it t goes smoothly to 1, which it never
// reaches, so that colours outside stay apart. Luminance and the hue of linear light stay.
func inGamut(r, g, b, y, least, most float32) (float32, float32, float32) {
	if !(y > 0) {
		return 0, 0, 0
	}
	if y >= 1 {
		return 1, 1, 1
	}
	t := max((y-least)/y, (most-y)/(1-y))
	if !(t > gamutKnee) {
		return r, g, b
	}
	x := (t - gamutKnee) / (1 - gamutKnee)
	x = min(x, 1e6) // its square is finite
	root := float32(math.Sqrt(float64(1 + float32(x*x))))
	k := (gamutKnee + float32((1-gamutKnee)*(x/root))) / t
	move := func(v float32) float32 { return min(max(y+float32(k*(v-y)), 0), 1) }
	return move(r), move(g), move(b)
}
