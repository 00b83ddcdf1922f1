package raw

import (
	"enhance/raw/dng"
	"enhance/raw/opcode"
)

// Carried is what a linear DNG file made of the photo repeats of the photo's own file.
func (p *Photo) Carried() dng.Carried { return p.carried }

// Waiting are the operations of OpcodeList3 that ReadRows and ReadLinear have not
// applied (Lens does), and the part of the active area that they are for. Those that
// cannot be done at all are left out.
func (p *Photo) Waiting() (list []opcode.Operation, area Rect) {
	for _, op := range p.opcodes[2][len(p.opcodes[2])-p.waiting:] {
		if op.Params != nil {
			list = append(list, op)
		}
	}
	f := p.waitsAt
	return list, Rect{X0: f.X0, Y0: f.Y0, X1: f.X0 + f.Width, Y1: f.Y0 + f.Height}
}
