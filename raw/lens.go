package raw

import (
	"fmt"

	"enhance/raw/opcode"
	"enhance/raw/rawerr"
	"enhance/raw/warp"
)

// Lens is the part of OpcodeList3 that is to be done on the developed picture:
// linear camera RGB as the sensor saw it, before white balance. Before and After
// are for rows of the active area.
type Lens struct {
	Before *opcode.Chain // on each pixel, before the warps; may be empty
	Warps  []opcode.Warp
	Frame  opcode.Frame  // of the warps
	After  *opcode.Chain // on each pixel, after them; may be empty
}

// Lens returns what is left of OpcodeList3 for the developed picture, nil if
// nothing is. ReadRows or ReadLinear has applied everything else.
func (p *Photo) Lens() *Lens { return p.lens }

// Warper makes the warper of a picture that shows area, in samples of the active
// area, at scale pixels a sample, in width x height pixels; the result is the
// pixels of rectangle out of it. It is nil if there is nothing to warp.
func (l *Lens) Warper(area Rect, width, height int, scale float64, out Rect) (*warp.Warper, error) {
	if l == nil || len(l.Warps) == 0 {
		return nil, nil
	}
	return warp.New(warp.Spec{Warps: l.Warps, Frame: l.Frame, Width: width, Height: height, X0: area.X0, Y0: area.Y0, Scale: scale,
		Left: out.X0, Top: out.Y0, Right: out.X1, Bottom: out.Y1})
}

// Source is where sample x, y of the corrected active area comes from in the photo's: that
// of green, where colours differ.
func (l *Lens) Source(x, y float64) (sx, sy float64) {
	return warp.Source(l.Warps, l.Frame, int(Green), x, y)
}

// setLens sorts the operations that wait for demosaicing. Warps stand together:
// one that follows other corrections after a warp is skipped, or refused if the file
// requires it.
func (p *Photo) setLens(list []opcode.Operation) error {
	m := &p.meta
	l := &Lens{Before: opcode.NewChain(m.Width, m.Height, 3, nil), After: opcode.NewChain(m.Width, m.Height, 3, nil)}
	l.Before.Within(p.frame)
	now := l.Before
	for i := range list {
		op := &list[i]
		w, ok := op.Params.(opcode.Warp)
		switch {
		case !ok:
			if err := now.Add(list[i:i+1], opcode.Developed); err != nil {
				return err
			}
			continue
		case !l.After.Empty():
			if !op.Optional {
				return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%v in OpcodeList3, which the file says must not be skipped: other corrections stand between it and an earlier warp", op.ID)}
			}
			op.Params, op.Problem = nil, "other corrections stand between it and an earlier warp"
			continue
		case now == l.Before:
			l.Frame, now = l.Before.Frame(), l.After
			now.Within(l.Frame)
		}
		l.Warps = append(l.Warps, w)
	}
	p.frame = now.Frame()
	if l.Before.Empty() && len(l.Warps) == 0 {
		return nil
	}
	p.lens = l
	m.Warped = len(l.Warps) > 0
	return nil
}
