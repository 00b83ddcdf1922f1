package pipeline

import (
	"enhance/model"
	"enhance/raw"
	"enhance/raw/opcode"
	"enhance/raw/warp"
)

// lens applies the corrections that a DNG file asks for after demosaicing
// (OpcodeList3) to rows of light, between the network and the picture's colours.
type lens struct {
	facts  *raw.Lens
	warper *warp.Warper // nil: pixels stay where they are
	points bool         // corrections of each pixel are done
	x0, y0 int          // the view's first pixel, in samples of the active area
	gains  [3]float64   // of the white balance, which light has and the sensor had not
	w      int          // of the view
}

// newLens returns nil if there is nothing to do.
func newLens(f *raw.Lens, g geometry, c *model.Convention, gains [3]float64, rep *Report) (*lens, error) {
	if f == nil {
		return nil, nil
	}
	num, den := c.ScaleNum, 2*c.ScaleDen
	l := &lens{facts: f, gains: gains, w: g.view.Width(), points: num == den && c.Output == model.OutputCameraGamma}
	l.x0, l.y0 = g.region.X0-g.left+g.view.X0*den/num, g.region.Y0-g.top+g.view.Y0*den/num
	if !l.points && !(f.Before.Empty() && f.After.Empty()) {
		rep.Warn("the corrections of each pixel in OpcodeList3 are not applied: model %s does not give linear camera colours at the sensor's size", rep.Model.Name)
	}
	out := raw.Rect{X0: g.out.X0 - g.view.X0, Y0: g.out.Y0 - g.view.Y0, X1: g.out.X1 - g.view.X0, Y1: g.out.Y1 - g.view.Y0}
	var err error
	l.warper, err = f.Warper(raw.Rect{X0: l.x0, Y0: l.y0}, g.view.Width(), g.view.Height(), float64(num)/float64(den), out)
	return l, err
}

func (l *lens) warps() bool { return l != nil && l.warper != nil }

// stages appends the corrections: of each pixel, the warps, and of each pixel again.
func (l *lens) stages(s *rendering, g geometry) {
	if l == nil {
		return
	}
	y0, x0 := s.frame.Y0-g.view.Y0, s.frame.X0-g.view.X0
	if l.points && !l.facts.Before.Empty() {
		s.then(l.correction(l.facts.Before, y0, x0))
	}
	if !l.warps() {
		return
	}
	s.add(l.warper, l.w, 0)
	if l.points && !l.facts.After.Empty() {
		s.then(l.correction(l.facts.After, g.out.Y0-g.view.Y0, g.out.X0-g.view.X0))
	}
}

// correction is a chain for rows that begin at y0, x0 of the view.
func (l *lens) correction(chain *opcode.Chain, y0, x0 int) pixelChange {
	return func(y int, _ []float32, light [3][]float32) {
		for c := range light {
			l.correct(chain, y0+y, x0, c, light[c])
		}
	}
}

// correct takes the white balance off for a chain, which is for the sensor's light.
func (l *lens) correct(chain *opcode.Chain, y, x, c int, light []float32) {
	gain := float32(l.gains[c])
	for i := range light {
		light[i] /= gain
	}
	chain.Row(l.y0+y, l.x0+x, c, light)
	for i := range light {
		light[i] *= gain
	}
}
