package pipeline

import (
	"time"

	"enhance/internal/buffers"
	"enhance/internal/exec"
	"enhance/internal/workers"
	"enhance/model"
	"enhance/raw"
	"enhance/raw/opcode"
	"enhance/raw/warp"
)

// lens applies the corrections that a DNG file asks for after demosaicing
// (OpcodeList3) to rows of light, between the network and the picture's colours.
type lens struct {
	facts  *raw.Lens
	warper *warp.Warper            // nil: pixels stay where they are
	points bool                    // corrections of each pixel are done
	x0, y0 int                     // the view's first pixel, in samples of the active area
	gains  [3]float64              // of the white balance, which light has and the sensor had not
	w      int                     // of the view
	rows   buffers.Slices[float32] // rows of the view, plane after plane
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
		rep.warn("the corrections of each pixel in OpcodeList3 are not applied: model %s does not give linear camera colours at the sensor's size", rep.Model.Name)
	}
	out := raw.Rect{X0: g.out.X0 - g.view.X0, Y0: g.out.Y0 - g.view.Y0, X1: g.out.X1 - g.view.X0, Y1: g.out.Y1 - g.view.Y0}
	var err error
	l.warper, err = f.Warper(raw.Rect{X0: l.x0, Y0: l.y0}, g.view.Width(), g.view.Height(), float64(num)/float64(den), out)
	return l, err
}

// bytes is what the lens holds of the picture: rows that a warped row spans, and two
// chunks that come and go.
func (l *lens) bytes() int64 {
	if !l.warps() {
		return 0
	}
	return 12 * int64(l.w) * int64(l.warper.Held()+2*outRows)
}

func (l *lens) warps() bool { return l != nil && l.warper != nil }

// before corrects pixels of plane c of the view before they are warped, from row y
// and column x of the view on.
func (l *lens) before(y, x, c int, light []float32) {
	if l != nil && l.points && !l.facts.Before.Empty() {
		l.correct(l.facts.Before, y, x, c, light)
	}
}

// after corrects them when they have been warped.
func (l *lens) after(y, x, c int, light []float32) {
	if l.points && !l.facts.After.Empty() {
		l.correct(l.facts.After, y, x, c, light)
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

// warpRows is Rows for a picture that is warped: rows of the view are kept as light
// until the rows of the picture that show them can be made.
func (d *developer) warpRows(y0, y1 int) (exec.Rows, error) {
	view := d.geo.view
	r := &warpedRows{developer: d, first: max(y0, view.Y0), last: min(y1, view.Y1)}
	if r.first < r.last {
		r.light = make([][]float32, r.last-r.first)
		r.endStage = d.stages.Begin("develop")
		d.develop.begin()
	}
	return r, nil
}

// warpedRows are rows on their way to the warper.
type warpedRows struct {
	*developer
	first, last int         // those in the view; none if first >= last
	light       [][]float32 // a row each, plane after plane
	endStage    func()
	bad         firstBad
}

func (r *warpedRows) Row(y int, planes [][]float32) {
	if y < r.first || y >= r.last {
		return
	}
	view, l := r.geo.view, r.lens
	row := l.rows.Get(3 * l.w)
	r.light[y-r.first] = row
	for c := range 3 {
		light := row[c*l.w:][:l.w]
		if x := r.lighten(light, planes[c][view.X0:view.X1]); x >= 0 {
			r.bad.note(y-view.Y0, x)
			return
		}
		l.before(y-view.Y0, 0, c, light)
	}
}

func (r *warpedRows) End() error {
	if r.first >= r.last {
		return nil
	}
	defer r.endStage()
	defer r.develop.end()
	if r.bad.err != nil {
		r.fail(r.bad.err)
		return r.bad.err
	}
	l := r.lens
	for _, row := range r.light {
		l.warper.Add(row)
	}
	if err := r.makeWarped(l.warper.Ready()); err != nil {
		r.fail(err)
		return err
	}
	for _, row := range l.warper.Drop() {
		l.rows.Put(row)
	}
	return nil
}

// makeWarped makes rows first to end-1 of the picture and queues them.
func (d *developer) makeWarped(first, end int) error {
	out, view := d.geo.out, d.geo.view
	for ; first < end; first += outRows {
		n := min(outRows, end-first)
		codes := <-d.free
		if codes == nil {
			codes = d.pool.Get(3 * d.w * min(outRows, out.Height()))
		}
		errs := make([]error, n)
		workers.Each(workers.Count(n, time.Duration(200*d.w)), n, func(_, i int) {
			px := d.pixels.Get(3 * d.w)
			defer d.pixels.Put(px)
			light := [3][]float32{px[:d.w], px[d.w:][:d.w], px[2*d.w:][:d.w]}
			if errs[i] = d.lens.warper.Make(first+i, light[:]); errs[i] != nil {
				return
			}
			for c := range light {
				d.lens.after(first+i+out.Y0-view.Y0, out.X0-view.X0, c, light[c])
			}
			d.code(light, codes[3*d.w*i:][:3*d.w])
		})
		for _, err := range errs {
			if err != nil {
				d.free <- codes // abandon waits for all of them
				return err
			}
		}
		d.queue <- batchOfRows{n, codes}
	}
	return nil
}
