package raw

import (
	"fmt"
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/rawerr"
)

// corrected yields the rows of a photo after operations on its normalised mosaic
// (see opcode.Mosaic). They come as 16-bit integers again, on a scale of their
// own: the largest white level is 65535 and black keeps its share of it, so that
// noise below black has as much room as in the file.
type corrected struct {
	next   rowSource
	stored Meta // whose levels next's samples have
	meta   *Meta
	chain  *opcode.Chain
	buf    []uint16
	rows   []float32
}

// correct applies OpcodeList2, and of OpcodeList3 what need not wait for
// demosaicing, once the levels are final. It says in Warnings what is not done.
func (p *Photo) correct() error {
	m := &p.meta
	c := &corrected{next: p.rows, stored: *m, meta: m}
	c.chain = opcode.NewChain(m.Width, m.Height, 1, c.normalised)
	c.chain.ArrayOf(m.CFA)
	if err := c.chain.Add(p.opcodes[1], opcode.Mosaic); err != nil {
		return err
	}
	rest := p.gainsFirst(c.chain)
	p.frame = c.chain.Frame()
	if err := p.finishOpcodes(rest); err != nil {
		return err
	}
	if c.chain.Empty() {
		return nil
	}
	p.rows = c
	if c.chain.Multiplies() {
		p.gains = c.chain
	}
	c.setLevels()
	return nil
}

// correctLinear is correct for a photo without a mosaic: OpcodeList2, and
// OpcodeList3 up to its first warp.
func (p *Photo) correctLinear() error {
	if err := p.linear.Add(p.opcodes[1], opcode.Mosaic); err != nil {
		return err
	}
	list := p.opcodes[2]
	n := 0
	for n < len(list) && !isWarp(list[n].Params) {
		n++
	}
	if err := p.linear.Add(list[:n], opcode.Developed); err != nil {
		return err
	}
	p.frame = p.linear.Frame()
	return p.finishOpcodes(list[n:])
}

func isWarp(params any) bool {
	_, ok := params.(opcode.Warp)
	return ok
}

// finishOpcodes keeps what waits for demosaicing, cuts the crop and says what is not
// done.
func (p *Photo) finishOpcodes(rest []opcode.Operation) error {
	p.waiting, p.waitsAt = len(rest), p.frame
	if err := p.setLens(rest); err != nil {
		return err
	}
	f, m := p.frame, &p.meta
	if !m.CutCrop(f.X0, f.Y0, f.Width, f.Height) {
		return rawerr.Formatf("dng", "TrimBounds leaves nothing of the default crop %v", m.Crop)
	}
	p.warnOfOpcodes()
	return nil
}

// gainsFirst adds the gains that OpcodeList3 begins with to the operations on the
// mosaic, and returns the rest of the list. A factor that varies slowly over the
// image passes through demosaicing, and before it the network sees even noise
// and true highlights.
func (p *Photo) gainsFirst(c *opcode.Chain) []opcode.Operation {
	list := p.opcodes[2]
	for i, op := range list {
		switch op := op.Params.(type) {
		case *opcode.GainMap:
			if op.Area.RowPitch != 1 || op.Area.ColPitch != 1 {
				return list[i:]
			}
			c.AddPointwise(&onMosaic{op, p.meta.CFA})
		case *opcode.VignetteRadial:
			c.AddPointwise(op)
		case nil:
		default:
			return list[i:]
		}
	}
	return nil
}

// onMosaic applies an operation for camera RGB to a mosaic: to each sample what is
// for the plane of its colour.
type onMosaic struct {
	op  opcode.Pointwise
	cfa Pattern
}

// Row implements opcode.Pointwise.
func (o *onMosaic) Row(f opcode.Frame, y, x0, _ int, row []float32) {
	line, stored := make([]float32, len(row)), append([]float32(nil), row...)
	step := o.cfa.Cols()
	for plane := range mosaic.Blue + 1 {
		done := false
		for k := range min(step, len(row)) {
			if o.cfa.At(y+f.Y0, x0+f.X0+k) != plane {
				continue
			}
			if !done {
				copy(line, stored)
				o.op.Row(f, y, x0, int(plane), line)
				done = true
			}
			for i := k; i < len(row); i += step {
				row[i] = line[i]
			}
		}
	}
}

// Multiplies implements opcode.Multiplier.
func (o *onMosaic) Multiplies() bool { return true } // it is for gains alone

// Gains returns what gives, for samples of row y from column x0 on, the factor that
// gain maps and their like have put on them, and on their noise; nil if there are
// none. It may be called by several goroutines.
func (p *Photo) Gains() func(y, x0 int, dst []float32) {
	if p.gains == nil {
		return nil
	}
	return func(y, x0 int, dst []float32) { p.gains.Factors(y, x0, 0, dst) }
}

// setLevels puts the levels of the corrected samples into the photo's facts.
func (c *corrected) setLevels() {
	m, s := c.meta, &c.stored
	sum := 0.0
	for _, b := range s.Black {
		sum += float64(b)
	}
	mean := func(v []float32) float64 {
		t := 0.0
		for _, x := range v {
			t += float64(x)
		}
		return t / float64(max(len(v), 1))
	}
	white := max(s.White[0], s.White[1], s.White[2])
	scale := math.MaxUint16 / float64(white)
	black := sum/float64(len(s.Black)) + mean(s.BlackDeltaH) + mean(s.BlackDeltaV)
	m.SetBlack(float32(math.Round(max(black, 0) * scale)))
	for i, w := range s.White {
		m.White[i] = float32(float64(w) * scale)
	}
	m.BitDepth = 16
}

// normalised is the chain's source.
func (c *corrected) normalised(y0, n int, dst []float32) error {
	w := c.stored.Width
	if cap(c.buf) < n*w {
		c.buf = make([]uint16, n*w)
	}
	buf := c.buf[:n*w]
	if err := c.next.ReadRows(y0, n, buf); err != nil {
		return err
	}
	for y := range n {
		c.stored.Normalise(y0+y, 0, buf[y*w:][:w], dst[y*w:][:w])
	}
	return nil
}

// ReadRows implements rowSource.
func (c *corrected) ReadRows(y0, n int, dst []uint16) error {
	w := c.meta.Width
	if cap(c.rows) < n*w {
		c.rows = make([]float32, n*w)
	}
	rows := c.rows[:n*w]
	if err := c.chain.Rows(y0, n, rows); err != nil {
		return err
	}
	black := c.meta.Black[0]
	for y := range n {
		var room [mosaic.MaxPeriod]float32
		span := room[:c.meta.CFA.Cols()]
		for k := range span {
			span[k] = c.meta.White[c.meta.CFA.At(y0+y, k)] - black
		}
		in, out := rows[y*w:][:w], dst[y*w:][:w]
		for k, s := range span {
			for x := k; x < w; x += len(span) {
				out[x] = uint16(min(max(float32(in[x]*s)+black, 0), math.MaxUint16) + 0.5)
			}
		}
	}
	return nil
}

// Opcodes are the file's opcode lists 1 to 3; an operation that cannot be done has a
// Problem. The caller must not change them.
func (p *Photo) Opcodes() *[3][]opcode.Operation { return &p.opcodes }

// warnOfOpcodes says what is not done.
func (p *Photo) warnOfOpcodes() {
	for i, list := range p.opcodes {
		for _, op := range list {
			if op.Problem != "" {
				p.warnf("%v in OpcodeList%d is not applied: %s.", op.ID, i+1, op.Problem)
			}
		}
	}
}

func (p *Photo) warnf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, w := range p.meta.Warnings {
		if w == text {
			return
		}
	}
	if len(p.meta.Warnings) < maxWarnings {
		p.meta.Warnings = append(p.meta.Warnings, text)
	}
}

// maxWarnings bounds what a damaged file with thousands of operations can say.
const maxWarnings = 16
