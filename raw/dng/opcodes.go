package dng

import (
	"fmt"
	"math"

	"enhance/raw/opcode"
	"enhance/raw/rawerr"
)

// opcodeTags are those of lists 1 to 3.
var opcodeTags = [3]uint16{tagOpcodeList1, tagOpcodeList2, tagOpcodeList3}

// opcodes reads the opcode lists and applies the first, which is for the samples
// as stored. The others are left to the caller, who knows the levels.
func (s *source) opcodes(im *Image, l *layout) error {
	if !s.isDNG() {
		return nil
	}
	for i, tag := range opcodeTags {
		e, ok := s.raw.Find(tag)
		if !ok {
			continue
		}
		b, err := s.raw.Data(e)
		if err != nil {
			return err
		}
		if im.Opcodes[i], err = opcode.Parse(b, fmt.Sprintf("OpcodeList%d", i+1)); err != nil {
			return err
		}
	}
	return s.firstList(im, l)
}

// firstList puts list 1 between the decoder and LinearizationTable.
func (s *source) firstList(im *Image, l *layout) error {
	if s.linear {
		return s.firstLinearList(im, l)
	}
	r := &listedRows{next: im.rows, width: l.w, height: l.h}
	c := opcode.NewChain(l.w, l.h, 1, r.stored)
	if p := im.Meta.CFA; p.Valid() { // it counts from the active area's corner
		c.ArrayOf(p.Shift(p.Rows()-im.active.Y0%p.Rows(), p.Cols()-im.active.X0%p.Cols()))
	}
	if err := c.Add(im.Opcodes[0], opcode.Stored); err != nil {
		return err
	}
	if !c.Empty() {
		r.chain = c
		im.rows = r
	}
	return im.trimmed(c.Frame(), l)
}

// trimmed cuts the crop to what list 1 leaves of the stored image.
func (im *Image) trimmed(f opcode.Frame, l *layout) error {
	// A trim's frame counts from the stored image's corner, the crop from the
	// active area's.
	if f.Width < l.w || f.Height < l.h {
		f.X0 -= im.active.X0
		f.Y0 -= im.active.Y0
		return TrimCrop(im, f)
	}
	return nil
}

// TrimCrop cuts the crop to a frame in the active area.
func TrimCrop(im *Image, f opcode.Frame) error {
	if !im.Meta.CutCrop(f.X0, f.Y0, f.Width, f.Height) {
		return rawerr.Formatf("dng", "TrimBounds leaves nothing of the default crop %v", im.Meta.Crop)
	}
	return nil
}

// listedRows applies list 1 to the rows of a decoder.
type listedRows struct {
	next          rowReader
	chain         *opcode.Chain
	width, height int
	rows          []float32
	kept          []uint16 // stored rows keptFrom to keptEnd-1: those read last
	keptFrom      int
	keptEnd       int
}

const storedScale = 1.0 / 65535

func (r *listedRows) readRows(y0, n, x0, x1 int, dst []uint16) error {
	if cap(r.rows) < n*r.width {
		r.rows = make([]float32, n*r.width)
	}
	rows := r.rows[:n*r.width]
	if err := r.chain.Rows(y0, n, rows); err != nil {
		return err
	}
	for y := range n {
		out := dst[y*(x1-x0):][:x1-x0]
		for i, v := range rows[y*r.width+x0:][:x1-x0] {
			out[i] = uint16(min(max(v, 0), 1)*65535 + 0.5)
		}
	}
	return nil
}

// stored is the chain's source. Rows that the last call gave too are not decoded
// again: repairs look a few rows up and down.
func (r *listedRows) stored(y0, n int, dst []float32) error {
	w := r.width
	buf := r.kept
	if cap(buf) < n*w {
		buf = make([]uint16, n*w)
	}
	buf = buf[:n*w]
	have := 0
	if y0 >= r.keptFrom && y0 < r.keptEnd {
		have = min(r.keptEnd-y0, n)
		copy(buf, r.kept[(y0-r.keptFrom)*w:][:have*w])
	}
	r.keptFrom, r.keptEnd = 0, 0
	if err := r.next.readRows(y0+have, n-have, 0, w, buf[have*w:]); err != nil {
		return err
	}
	r.kept, r.keptFrom, r.keptEnd = buf, y0, y0+n
	for i, v := range buf {
		dst[i] = float32(v) * storedScale
	}
	return nil
}

// firstLinearList is firstList of a linear image, whose stored samples are integers.
func (s *source) firstLinearList(im *Image, l *layout) error {
	if l.float {
		return skipAll(im.Opcodes[0], "list 1 of an image of floating-point numbers is not applied")
	}
	r := &listedLinear{next: im.linearRows, width: l.w}
	r.chain = opcode.NewChain(l.w, l.h, linearPlanes, r.stored)
	if err := r.chain.Add(im.Opcodes[0], opcode.Stored); err != nil {
		return err
	}
	if !r.chain.Empty() {
		im.linearRows = r
	}
	return im.trimmed(r.chain.Frame(), l)
}

// skipAll gives operations a problem, or refuses those that must be done.
func skipAll(list []opcode.Operation, problem string) error {
	for i := range list {
		op := &list[i]
		if !op.Optional {
			return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%v in OpcodeList1, which the file says must not be skipped: %s", op.ID, problem)}
		}
		op.Params, op.Problem = nil, problem
	}
	return nil
}

// listedLinear applies list 1 to the rows of a linear image.
type listedLinear struct {
	next  linearReader
	chain *opcode.Chain
	width int
	rows  []float32
}

// readFloats implements linearReader.
func (r *listedLinear) readFloats(y0, n, x0, x1 int, dst []float32) error {
	size := n * linearPlanes * r.width
	if cap(r.rows) < size {
		r.rows = make([]float32, size)
	}
	rows := r.rows[:size]
	if err := r.chain.Rows(y0, n, rows); err != nil {
		return err
	}
	for k := range n * linearPlanes {
		out := dst[k*(x1-x0):][:x1-x0]
		for i, v := range rows[k*r.width+x0:][:x1-x0] {
			out[i] = float32(math.Round(float64(min(max(v, 0), 1)) * math.MaxUint16))
		}
	}
	return nil
}

// stored is the chain's source.
func (r *listedLinear) stored(y0, n int, dst []float32) error {
	if err := r.next.readFloats(y0, n, 0, r.width, dst); err != nil {
		return err
	}
	for i := range dst[:n*linearPlanes*r.width] {
		dst[i] *= storedScale
	}
	return nil
}
