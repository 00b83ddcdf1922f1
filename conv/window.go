package conv

import (
	_ "embed"
	"fmt"
	"strings"

	"enhance/clrt"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
	"enhance/model"
)

//go:embed window.cl.tmpl
var windowText string

var windowTemplate = kerneltext.NewTemplate("window", windowText, kerneltext.Funcs)

// Windowed is direct convolution by any [Window], on any device, without local memory. A work-item
// keeps some outputs of some columns in registers: on CPUs it walks a whole row with vectors of
// columns, on GPUs it makes one column of several rows. It sums in the order of [Rows], within the
// channels of an output's group.
type Windowed struct{}

// Name is "direct-window".
func (Windowed) Name() string { return "direct-window" }

// New fails for shapes that have no window.
func (Windowed) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.checkWindow("direct-window"); err != nil {
		return nil, err
	}
	w := s.Window
	i := newWindowImpl(c, s)
	outs := s.OutC / w.Groups
	switch {
	case c.Plain:
	case c.CPU:
		i.lanes, i.tile = registerTile(Shape{OutC: outs}, i.vector)
	case w.KH*w.KW <= 9:
		i.lanes, i.rows = min(8, outs), 4
	case w.KH*w.KW <= 25:
		i.lanes, i.rows = min(8, outs), 2
	default:
		i.lanes = min(8, outs)
	}
	return i.within(), nil
}

// Depthwise is the same for groups of one channel, which read a sample for few outputs: a
// work-item makes several rows, so that it loads each sample once for all of them.
type Depthwise struct{}

// Name is "direct-depthwise".
func (Depthwise) Name() string { return "direct-depthwise" }

// New fails for shapes whose groups have several channels.
func (Depthwise) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.checkWindow("direct-depthwise"); err != nil {
		return nil, err
	}
	w := s.Window
	if w.Groups != s.InC() {
		return nil, fmt.Errorf("conv: direct-depthwise does groups of one channel, not %d channels in %d groups; direct-window does", s.InC(), w.Groups)
	}
	i := newWindowImpl(c, s)
	if c.Plain {
		return i, nil
	}
	i.lanes = min(2, s.OutC/w.Groups)
	switch {
	case w.KH*w.KW > 49:
	case w.KH > 5 || i.lanes > 1:
		i.rows = 2
	default:
		i.rows = 4
	}
	if c.CPU && w.KH*w.KW <= 25 {
		i.tile = 2
	}
	return i.within(), nil
}

// windowImpl makes lanes outputs × rows rows × tile vectors of columns at a time.
type windowImpl struct {
	shape                     Shape
	cpu                       bool
	vector, tile, lanes, rows int
	items                     int // of a work-group, along a row
}

// newWindowImpl has the smallest tile.
func newWindowImpl(c Caps, s Shape) *windowImpl {
	i := &windowImpl{shape: s, cpu: c.CPU && !c.Plain, vector: 1, tile: 1, lanes: 1, rows: 1, items: min(64, max(c.MaxWorkGroup, 1))}
	if !i.cpu {
		return i
	}
	i.items, i.vector = 1, 8
	switch {
	case c.Vector >= 16:
		i.vector = 16
	case c.Vector > 0 && c.Vector < 8:
		i.vector = 4
	}
	return i
}

// maxSpan bounds the rows that a work-item of several rows has at hand.
const maxSpan = 64

// span is how many rows lie from the first to the last one that a work-item reads.
func (i *windowImpl) span() int {
	w := i.shape.Window
	return (i.rows-1)*w.StrideH + (w.KH-1)*w.DilationH + 1
}

// within takes fewer vectors where those of a tile would reach too far beyond a line, and fewer
// rows where these would read too many.
func (i *windowImpl) within() *windowImpl {
	for i.rows > 1 && i.span() > maxSpan {
		i.rows /= 2
	}
	for i.tile > 1 && i.reach() > planar.Overrun {
		i.tile--
	}
	return i
}

// reach is how many samples beyond a plane vectors may load from a line with its rim.
func (i *windowImpl) reach() int {
	w := i.shape.Window
	return (i.vector*i.tile-1)*w.StrideW + (w.KW-1)*w.DilationW + i.vector + planar.Rim
}

// rim reports whether what lies beside a stored line is what the window reads there.
func (i *windowImpl) rim() bool {
	w := i.shape.Window
	side := max(w.Left, w.Right)
	return i.reach() <= planar.Overrun && (side == 0 || side <= planar.Rim && w.Pad == i.shape.Pad)
}

func (i *windowImpl) name() string {
	w := i.shape.Window
	return fmt.Sprintf("conv_window_%dx%d_s%dx%d_d%dx%d_o%d_r%d_v%dx%d", w.KH, w.KW, w.StrideH, w.StrideW, w.DilationH, w.DilationW, i.lanes, i.rows, i.tile, i.vector)
}

func (i *windowImpl) Kernels() []Kernel {
	w := i.shape.Window
	span, apart := w.KH, w.DilationH // of one row, those that the kernel's rows read
	if i.rows > 1 {
		span, apart = i.span(), 1
	}
	text := windowTemplate.Fill(map[string]any{
		"Name": i.name(), "KH": w.KH, "KW": w.KW, "SH": w.StrideH, "SW": w.StrideW, "DH": w.DilationH, "DW": w.DilationW,
		"Lanes": i.lanes, "Rows": i.rows, "Tile": i.tile, "Vector": i.vector, "CPU": i.cpu, "Type": vectorType(i.vector),
		"Span": span, "Apart": apart, "Reads": i.reads(), "Loads": i.loads,
	})
	return []Kernel{{i.name(), text}}
}

func vectorType(n int) string {
	if n == 1 {
		return "float"
	}
	return fmt.Sprintf("float%d", n)
}

// windowRead is a row that a work-item of several rows reads, and for which of its outputs' rows
// by which row of the kernel.
type windowRead struct {
	Row  int
	Uses []struct{ Out, Kernel int }
}

// reads lists the rows in order, so that every output sums kernel rows in order.
func (i *windowImpl) reads() (list []windowRead) {
	if i.rows == 1 {
		return nil
	}
	w := i.shape.Window
	for row := range i.span() {
		r := windowRead{Row: row}
		for q := range i.rows {
			if d := row - q*w.StrideH; d >= 0 && d%w.DilationH == 0 && d/w.DilationH < w.KH {
				r.Uses = append(r.Uses, struct{ Out, Kernel int }{q, d / w.DilationH})
			}
		}
		if len(r.Uses) > 0 {
			list = append(list, r)
		}
	}
	return list
}

// loads is the statements that load vector v of kernel column j, relative to p, as named: of
// stride 2 those of two columns at a time, which share their loads.
func (i *windowImpl) loads(j, v int) string {
	w := i.shape.Window
	at, name := j*w.DilationW+v*i.vector*w.StrideW, fmt.Sprintf("i%d_%d", j, v)
	typ := vectorType(i.vector)
	switch {
	case i.vector == 1:
		return fmt.Sprintf("const float %s = LD1(p, %d);", name, at)
	case w.StrideW == 1:
		return fmt.Sprintf("const %s %s = LD%d(p + %d);", typ, name, i.vector, at)
	case w.StrideW == 2 && w.DilationW == 1:
		if j%2 == 1 {
			return "" // came with the column before
		}
		next := fmt.Sprintf("i%d_%d", j+1, v)
		if i.vector < 16 {
			return fmt.Sprintf("const float%[1]d %[2]s_ = LD%[1]d(p + %[3]d); const %[4]s %[2]s = %[2]s_.even, %[5]s = %[2]s_.odd;", 2*i.vector, name, at, typ, next)
		}
		return fmt.Sprintf("const float16 %[1]s_ = LD16(p + %[2]d), %[1]s__ = LD16(p + %[3]d), %[1]s = (float16)(%[1]s_.even, %[1]s__.even), %[4]s = (float16)(%[1]s_.odd, %[1]s__.odd);", name, at, at+16, next)
	}
	var parts []string
	for k := range i.vector {
		parts = append(parts, fmt.Sprintf("LD1(p, %d)", at+k*w.StrideW))
	}
	return fmt.Sprintf("const %[1]s %[2]s = (%[1]s)(%[3]s);", typ, name, strings.Join(parts, ", "))
}

// blocks is how many blocks of lanes outputs each group has.
func (i *windowImpl) blocks() int {
	return (i.shape.OutC/i.shape.Window.Groups + i.lanes - 1) / i.lanes
}

// taps is how many samples an output sums.
func (i *windowImpl) taps() int {
	w := i.shape.Window
	return i.shape.InC() / w.Groups * w.KH * w.KW
}

func (i *windowImpl) biasAt() int {
	return i.shape.Window.Groups * i.blocks() * i.lanes * i.taps()
}

func (i *windowImpl) PackedLen() int { return i.biasAt() + i.shape.Window.Groups*i.blocks()*i.lanes }

func (i *windowImpl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, i.PackedLen())
	taps, outs := i.taps(), i.shape.OutC/i.shape.Window.Groups
	for o := range i.shape.OutC {
		block, lane := o/outs*i.blocks()+o%outs/i.lanes, o%outs%i.lanes
		for t := range taps {
			out[(block*taps+t)*i.lanes+lane] = weights[o*taps+t]
		}
		out[i.biasAt()+block*i.lanes+lane] = bias[o]
	}
	return out
}

func (i *windowImpl) Granule() int      { return 1 }
func (i *windowImpl) Scratch(int) int64 { return 0 }

// Group is of one group of channels: with several, outputs of one launch would need channels of
// several.
func (i *windowImpl) Group(outs int) (Impl, error) {
	if i.shape.Window.Groups > 1 {
		return nil, fmt.Errorf("conv: outputs of %d groups are not made some at a time", i.shape.Window.Groups)
	}
	part := *i
	part.shape.OutC = outs
	return &part, nil
}

func (i *windowImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	w, rim := i.shape.Window, 0
	if i.rim() {
		rim = 1
	}
	args := new(KernelArgs).Ring(a.Src[0]).Buffer(packed).Int(i.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1).
		Int4(w.Top, w.Left, w.Groups, int(w.Pad)).Int(rim, int(i.shape.Act)).Float(a.Slope)
	columns := 1
	if !i.cpu {
		columns = (a.Dst.W + i.items - 1) / i.items * i.items
	}
	return args.Launch(q, k[0], []int{columns, w.Groups * i.blocks(), (a.Y1 - a.Y0 + i.rows - 1) / i.rows}, []int{i.items, 1, 1})
}

// checkWindow refuses shapes without a window and windows that are none.
func (s Shape) checkWindow(algo string) error {
	w := s.Window
	switch {
	case w == nil:
		return fmt.Errorf("conv: %s does convolutions by a window of their own, not square ones of stride 1", algo)
	case s.K != 0 || len(s.SrcC) != 1 || s.H < 1 || s.W < 1 || w.Groups < 1 || s.SrcC[0] < 1 || s.SrcC[0]%w.Groups != 0 || s.OutC < 1 ||
		s.OutC%w.Groups != 0 || w.Pad > model.PadEdge:
		return fmt.Errorf("conv: %d sources of %d channels to %d channels of %d×%d in %d groups is no convolution", len(s.SrcC), s.InC(), s.OutC, s.H, s.W, w.Groups)
	}
	if h, width := w.Out(w.SrcH, w.SrcW); h != s.H || width != s.W {
		return fmt.Errorf("conv: a window makes %d×%d of %d×%d, not %d×%d", h, width, w.SrcH, w.SrcW, s.H, s.W)
	}
	return nil
}
