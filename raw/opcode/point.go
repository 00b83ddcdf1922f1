package opcode

import (
	"fmt"
	"math"
)

// Pointwise is an operation that changes every sample by itself.
type Pointwise interface {
	// Row changes samples of row y of a plane in place, from column x0 on. y and
	// x0 count from the frame's corner; samples are 0 at black and 1 at white.
	// Results above 1 become 1, as the specification says; negative samples,
	// which are noise about black, stay negative.
	Row(f Frame, y, x0, plane int, row []float32)
}

// MapTable replaces samples by table entries. Sample 1 is entry 65535; entries
// past the table's end are its last.
type MapTable struct {
	Area  Area
	Table []uint16
}

func readTable(p *parser) (any, string) {
	t := &MapTable{}
	var problem string
	if t.Area, problem = p.area(); problem != "" {
		return nil, problem
	}
	n := p.uint32()
	if p.short {
		return nil, ""
	}
	if n < 1 || n > math.MaxUint16+1 {
		return nil, fmt.Sprintf("its table has %d entries, want 1 to 65536", n)
	}
	if !p.has(uint64(n), 2) {
		return nil, ""
	}
	t.Table = make([]uint16, n)
	for i := range t.Table {
		t.Table[i] = p.uint16()
	}
	return t, ""
}

// Row implements Pointwise. Between entries it interpolates linearly.
func (t *MapTable) Row(_ Frame, y, x0, plane int, row []float32) {
	t.Area.each(y, x0, plane, row, func(v float32) float32 {
		below := min(v, 0) // noise below black is kept below the table's first entry
		at := float32(0)
		if v > 0 { // false for no number, which the operation before may have made
			at = min(v, 1) * math.MaxUint16
		}
		k := min(int(at), len(t.Table)-1)
		a, b := float32(t.Table[k]), float32(t.Table[min(k+1, len(t.Table)-1)])
		return (a+float32((b-a)*(at-float32(int(at)))))/math.MaxUint16 + below
	})
}

// each calls f for the samples of a row that belong to the area.
func (a *Area) each(y, x0, plane int, row []float32, f func(float32) float32) {
	if !a.hasRow(y, plane) {
		return
	}
	from, to := a.columns(x0, len(row))
	for i := from; i < to; i += int(a.ColPitch) {
		row[i] = f(row[i])
	}
}

// MapPolynomial replaces a sample x by the sum of Coefficients[i]·x^i.
type MapPolynomial struct {
	Area         Area
	Coefficients []float64
}

func readPolynomial(p *parser) (any, string) {
	m := &MapPolynomial{}
	var problem string
	if m.Area, problem = p.area(); problem != "" {
		return nil, problem
	}
	degree := p.uint32()
	if degree > 8 {
		return nil, fmt.Sprintf("its polynomial is of degree %d, more than 8", degree)
	}
	var ok bool
	if m.Coefficients, ok = p.float64s(uint64(degree) + 1); !ok {
		return nil, notFinite
	}
	return m, ""
}

// Row implements Pointwise. Below 0 the polynomial goes on as its tangent at 0.
func (m *MapPolynomial) Row(_ Frame, y, x0, plane int, row []float32) {
	c := m.Coefficients
	m.Area.each(y, x0, plane, row, func(v float32) float32 {
		x := float64(v)
		if x < 0 {
			s := c[0]
			if len(c) > 1 {
				s += float64(c[1] * x)
			}
			return float32(min(s, 1))
		}
		s := 0.0
		for i := len(c) - 1; i >= 0; i-- {
			s = float64(s*x) + c[i]
		}
		return float32(min(s, 1))
	})
}

// PerLine adds a number to, or multiplies by one, all samples of a row
// (DeltaPerRow, ScalePerRow) or a column (DeltaPerColumn, ScalePerColumn).
type PerLine struct {
	Area    Area
	Columns bool // the numbers are by column
	Scale   bool // multiply
	Values  []float32
}

func readPerLine(p *parser, columns, scale bool) (any, string) {
	l := &PerLine{Columns: columns, Scale: scale}
	var problem string
	if l.Area, problem = p.area(); problem != "" {
		return nil, problem
	}
	n, want := uint64(p.uint32()), l.Area.countRows()
	if columns {
		want = l.Area.countColumns()
	}
	if !p.short && n != want {
		return nil, fmt.Sprintf("it has %d values for %d lines", n, want)
	}
	var ok bool
	if l.Values, ok = p.float32s(n); !ok {
		return nil, notFinite
	}
	return l, ""
}

// Row implements Pointwise.
func (l *PerLine) Row(_ Frame, y, x0, plane int, row []float32) {
	a := &l.Area
	if !a.hasRow(y, plane) {
		return
	}
	from, to := a.columns(x0, len(row))
	for i := from; i < to; i += int(a.ColPitch) {
		k := (y - int(a.Top)) / int(a.RowPitch)
		if l.Columns {
			k = (x0 + i - int(a.Left)) / int(a.ColPitch)
		}
		if l.Scale {
			row[i] = min(float32(row[i]*l.Values[k]), 1)
		} else {
			row[i] = min(row[i]+l.Values[k], 1)
		}
	}
}

// VignetteRadial multiplies by 1 + K[0]·r² + K[1]·r⁴ + ... + K[4]·r¹⁰, r being
// the distance from the centre, 1 at the farthest corner. The centre is in
// parts of the image's width and height.
type VignetteRadial struct {
	K      [5]float64
	CX, CY float64
}

func readVignette(p *parser) (any, string) {
	v, ok := p.float64s(7)
	if !ok {
		return nil, notFinite
	}
	if v == nil {
		return nil, ""
	}
	if !inside(v[5]) || !inside(v[6]) {
		return nil, notInside
	}
	return &VignetteRadial{K: [5]float64(v[:5]), CX: v[5], CY: v[6]}, ""
}

func inside(v float64) bool { return v >= 0 && v <= 1 }

const notInside = "its centre is not inside the image"

// Row implements Pointwise.
func (v *VignetteRadial) Row(f Frame, y, x0, _ int, row []float32) {
	if y < 0 || y >= f.Height {
		return
	}
	c := NewCentre(f, v.CX, v.CY)
	dy := (float64(y) - c.Y) / c.Unit
	for i := max(0, -x0); i < min(len(row), f.Width-x0); i++ {
		dx := (float64(x0+i) - c.X) / c.Unit
		r2 := float64(dx*dx) + float64(dy*dy)
		g := 0.0
		for k := len(v.K) - 1; k >= 0; k-- {
			g = float64((g + v.K[k]) * r2)
		}
		row[i] = min(float32(float64(row[i])*(1+g)), 1)
	}
}

// Centre is the centre of a radial operation in pixels, and the length of a
// normalised radius of 1: the distance to the farthest corner pixel.
type Centre struct{ X, Y, Unit float64 }

// NewCentre returns the centre at parts cx, cy of a frame.
func NewCentre(f Frame, cx, cy float64) Centre {
	w, h := float64(f.Width-1), float64(f.Height-1)
	c := Centre{X: cx * w, Y: cy * h}
	c.Unit = math.Hypot(max(c.X, w-c.X), max(c.Y, h-c.Y))
	if c.Unit == 0 { // an image of one pixel
		c.Unit = 1
	}
	return c
}
