package imgio

import (
	"math"

	"enhance/internal/jpegbits"
)

// fixed is a factor of the transform with 13 bits behind the point.
const fixedBits = 13

func fixed(v float64) int32 { return int32(math.Round(v * (1 << fixedBits))) }

// The rotations of the transform: sums of cosines of multiples of π/16.
var (
	c0298, c0390, c0541, c0765 = fixed(0.298631336), fixed(0.390180644), fixed(0.541196100), fixed(0.765366865)
	c0899, c1175, c1501, c1847 = fixed(0.899976223), fixed(1.175875602), fixed(1.501321110), fixed(1.847759065)
	c1961, c2053, c2562, c3072 = fixed(1.961570560), fixed(2.053119869), fixed(2.562915447), fixed(3.072711026)
)

// forwardLine transforms eight numbers, step apart, in place: C. Loeffler, A. Ligtenberg and
// G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", ICASSP 1989,
// figure 1, with 12 multiplications and no more than one behind the other. The results are
// sqrt(8) times those of T.81 A.3.3, times 2^(fixedBits-down).
func forwardLine(v []int32, step int, down uint) {
	s0, d0 := v[0]+v[7*step], v[0]-v[7*step]
	s1, d1 := v[step]+v[6*step], v[step]-v[6*step]
	s2, d2 := v[2*step]+v[5*step], v[2*step]-v[5*step]
	s3, d3 := v[3*step]+v[4*step], v[3*step]-v[4*step]
	half := int32(1) << (down - 1)

	a0, a1, a2, a3 := s0+s3, s1+s2, s1-s2, s0-s3
	rotate := (a2 + a3) * c0541
	v[0] = ((a0+a1)<<fixedBits + half) >> down
	v[4*step] = ((a0-a1)<<fixedBits + half) >> down
	v[2*step] = (rotate + a3*c0765 + half) >> down
	v[6*step] = (rotate - a2*c1847 + half) >> down

	b1, b2, b3, b4 := d3+d0, d2+d1, d3+d1, d2+d0
	b5 := (b3 + b4) * c1175
	b1, b2, b3, b4 = -b1*c0899, -b2*c2562, b5-b3*c1961, b5-b4*c0390
	v[7*step] = (d3*c0298 + b1 + b3 + half) >> down
	v[5*step] = (d2*c2053 + b2 + b4 + half) >> down
	v[3*step] = (d1*c3072 + b2 + b3 + half) >> down
	v[step] = (d0*c1501 + b1 + b4 + half) >> down
}

// finerBits are kept behind the point between rows and columns.
const finerBits = 2

// forwardDCT makes coefficients of a block's samples, around 0, in place: 8 times those of
// T.81 A.3.3.
func forwardDCT(b *[64]int32) {
	for y := range 8 {
		forwardLine(b[8*y:][:8], 1, fixedBits-finerBits)
	}
	for x := range 8 {
		forwardLine(b[x:], 8, fixedBits+finerBits)
	}
}

// quantiser divides coefficients by a table's steps.
type quantiser struct {
	steps   [64]byte // in zigzag order, as files have them
	half    [64]int32
	inverse [64]uint64
}

// newQuantiser scales a table of T.81 annex K, in zigzag order, to a quality of 1 to 100 as
// the IJG's programs do.
func newQuantiser(table *[64]byte, quality int) *quantiser {
	scale := 200 - 2*quality
	if quality < 50 {
		scale = 5000 / quality
	}
	q := new(quantiser)
	for k, v := range table {
		step := min(max((int(v)*scale+50)/100, 1), 255)
		q.steps[k] = byte(step)
		q.half[k] = 4 * int32(step)
		q.inverse[k] = (1<<32)/(8*uint64(step)) + 1 // exact for coefficients, which are below 2^16
	}
	return q
}

// at divides coefficient k, rounding to the nearest.
func (q *quantiser) at(k int, v int32) int32 {
	if v < 0 {
		return -int32(uint64(q.half[k]-v) * q.inverse[k] >> 32)
	}
	return int32(uint64(q.half[k]+v) * q.inverse[k] >> 32)
}

// huffmanTable has codes by symbol.
type huffmanTable struct {
	spec *huffmanSpec
	code [256]uint16
	bits [256]uint8
}

func newHuffmanTable(s *huffmanSpec) *huffmanTable {
	t := &huffmanTable{spec: s}
	code, k := uint16(0), 0
	for l, n := range s.counts {
		for range n {
			t.code[s.values[k]], t.bits[s.values[k]] = code, uint8(l+1)
			code++
			k++
		}
		code <<= 1
	}
	return t
}

// put writes a symbol and the rest of d, of as many bits as the symbol's lower half says.
func (t *huffmanTable) put(w *jpegbits.Writer, symbol int, d int32) {
	n := symbol & 15
	w.Put(uint64(t.code[symbol])<<n|jpegbits.Rest(d, n), int(t.bits[symbol])+n)
}

// jpegPlane is what the blocks of a component are coded with.
type jpegPlane struct {
	*quantiser
	dc, ac *huffmanTable
}

// block codes a block of samples around 0 and returns its mean's coefficient, which last is
// of the block before.
func (p *jpegPlane) block(w *jpegbits.Writer, b *[64]int32, last int32) int32 {
	forwardDCT(b)
	mean := p.at(0, b[0])
	p.dc.put(w, jpegbits.Category(mean-last), mean-last)
	run := 0
	for k := 1; k < 64; k++ {
		v := p.at(k, b[jpegbits.Zigzag[k]])
		if v == 0 {
			run++
			continue
		}
		for ; run > 15; run -= 16 {
			p.ac.put(w, 0xf0, 0)
		}
		p.ac.put(w, run<<4|jpegbits.Category(v), v)
		run = 0
	}
	if run > 0 {
		p.ac.put(w, 0, 0)
	}
	return mean
}
