package opcode

import (
	"encoding/binary"
	"math"
)

// Encode is the reverse of Parse, for tests and for tools that write DNG files.
// Operations must have Params.
func Encode(list []Operation) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(list)))
	for _, op := range list {
		var body encoder
		body.params(op.Params, op.ID)
		flags := uint32(0)
		if op.Optional {
			flags |= flagOptional
		}
		if op.Preview {
			flags |= flagPreview
		}
		out = binary.BigEndian.AppendUint32(out, uint32(op.ID))
		out = append(out, op.Version[:]...)
		out = binary.BigEndian.AppendUint32(out, flags)
		out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
		out = append(out, body...)
	}
	return out
}

type encoder []byte

func (e *encoder) uint32s(v ...uint32) {
	for _, x := range v {
		*e = binary.BigEndian.AppendUint32(*e, x)
	}
}

func (e *encoder) floats(v ...float64) {
	for _, x := range v {
		*e = binary.BigEndian.AppendUint64(*e, math.Float64bits(x))
	}
}

func (e *encoder) singles(v ...float32) {
	for _, x := range v {
		e.uint32s(math.Float32bits(x))
	}
}

func (e *encoder) area(a Area) {
	e.uint32s(a.Top, a.Left, a.Bottom, a.Right, a.Plane, a.Planes, a.RowPitch, a.ColPitch)
}

func (e *encoder) params(params any, id ID) {
	switch p := params.(type) {
	case *BadConstant:
		e.uint32s(p.Constant, p.Phase)
	case *BadList:
		e.uint32s(p.Phase, uint32(len(p.Points)), uint32(len(p.Rects)))
		for _, q := range p.Points {
			e.uint32s(q.Row, q.Column)
		}
		for _, q := range p.Rects {
			e.uint32s(q.Top, q.Left, q.Bottom, q.Right)
		}
	case *TrimBounds:
		e.uint32s(p.Top, p.Left, p.Bottom, p.Right)
	case *MapTable:
		e.area(p.Area)
		e.uint32s(uint32(len(p.Table)))
		for _, v := range p.Table {
			*e = binary.BigEndian.AppendUint16(*e, v)
		}
	case *MapPolynomial:
		e.area(p.Area)
		e.uint32s(uint32(len(p.Coefficients) - 1))
		e.floats(p.Coefficients...)
	case *PerLine:
		e.area(p.Area)
		e.uint32s(uint32(len(p.Values)))
		e.singles(p.Values...)
	case *VignetteRadial:
		e.floats(p.K[:]...)
		e.floats(p.CX, p.CY)
	case *GainMap:
		e.area(p.Area)
		e.uint32s(uint32(p.PointsV), uint32(p.PointsH))
		e.floats(p.SpacingV, p.SpacingH, p.OriginV, p.OriginH)
		e.uint32s(uint32(p.Planes))
		e.singles(p.Gains...)
	case *Fisheye:
		e.uint32s(uint32(len(p.Planes)))
		for _, k := range p.Planes {
			e.floats(k[:]...)
		}
		e.floats(p.CX, p.CY)
	case *Rectilinear:
		e.rectilinear(p, id == WarpRectilinear2ID)
	}
}

func (e *encoder) rectilinear(p *Rectilinear, second bool) {
	e.uint32s(uint32(len(p.Planes)))
	for _, q := range p.Planes {
		if second {
			e.floats(q.Radial...)
		} else {
			e.floats(q.Radial[0], q.Radial[2], q.Radial[4], q.Radial[6])
		}
		e.floats(q.Tangential[:]...)
		if second {
			e.floats(q.MinRadius, q.MaxRadius)
		}
	}
	e.floats(p.CX, p.CY)
	if second {
		reciprocal := uint32(0)
		if p.Reciprocal {
			reciprocal = 1
		}
		e.uint32s(reciprocal)
	}
}
