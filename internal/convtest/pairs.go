package convtest

import (
	"encoding/binary"
	"math/rand/v2"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// PairPlace is Anywhere in a tensor of pairs, or of split samples.
func (b *Bench) PairPlace(c, rows, h int, split bool) Place {
	p := b.Anywhere(c, rows, h)
	if p.Words = fuse.Pairs; split {
		p.Words = fuse.Split
	}
	if p.C0 = p.C0 / 2 * 2; c%2 != 0 { // then it ends with its tensor
		p.CAll = p.C0 + c
	}
	return p
}

// BFloats rounds a plane to bfloat16.
func BFloats(p *Plane) {
	for i, v := range p.V {
		p.V[i] = planar.OfBFloat(planar.BFloat(v))
	}
}

// pairWord is the word of line g at column x of a plane.
func pairWord(p *Plane, words fuse.Storage, g, y, x int) uint32 {
	rest := words == fuse.Split && g%planar.LinesInSplit == 2
	if words == fuse.Split {
		g /= planar.LinesInSplit
	}
	var word uint32
	for c := 2 * g; c < min(2*g+2, p.C); c++ {
		v := p.At(c, y, x)
		if rest {
			v -= planar.OfBFloat(planar.BFloat(v))
		}
		word |= uint32(planar.BFloat(v)) << (16 * (c % 2))
	}
	return word
}

// pairSource is Source in a tensor of pairs or split samples.
func (b *Bench) pairSource(p *Plane, at Place, first, end int) *Ring {
	b.Helper()
	lines, c0, all := planar.Pairs(p.C), at.C0/2, planar.Pairs(at.CAll)
	if at.Words == fuse.Split {
		lines, c0, all = planar.LinesInSplit*lines, planar.LinesInSplit*c0, planar.LinesInSplit*all
	}
	return b.ring(p.C, p.H, p.W, at, func(ring []byte) {
		for y := first; y < end; y++ {
			for g := range lines {
				line := ring[4*((y%at.Rows)*all+c0+g)*planar.Pitch(p.W):]
				for x := -planar.Rim; x < p.W+planar.Rim; x++ {
					var word uint32
					if from := fuse.PadIndex(b.Pad, x, p.W); from >= 0 {
						word = pairWord(p, at.Words, g, y, from)
					}
					binary.LittleEndian.PutUint32(line[4*(planar.Pad+x):], word)
				}
			}
		}
	})
}

// takePairs is Take of a ring of pairs, whose buffer holds now. It checks that a channel that is none is zero.
func (r *Ring) takePairs(p *Plane, y0, y1 int, now []byte) {
	r.b.Helper()
	for y := y0; y < y1; y++ {
		for g := range r.C {
			from := int(r.Base) + 4*((y%r.Rows)*r.CAll+r.C0+g)*r.Pitch
			line := now[from:][:4*r.Pitch]
			at := func(x int) uint32 { return binary.LittleEndian.Uint32(line[4*(planar.Pad+x):]) }
			for x := range p.W {
				for half, h := range []uint16{uint16(at(x)), uint16(at(x) >> 16)} {
					if c := 2*g + half; c < p.C {
						p.Line(c, y)[x] = planar.OfBFloat(h)
					} else if h != 0 {
						r.b.Errorf("channel %d of %d at row %d, column %d is %#x, want 0", c, p.C, y, x, h)
						return
					}
				}
			}
			for i := 1; i <= planar.Rim; i++ {
				for _, x := range []int{-i, r.W - 1 + i} {
					var want uint32
					if from := fuse.PadIndex(r.b.Pad, x, r.W); from >= 0 {
						want = at(from)
					}
					if at(x) != want {
						r.b.Errorf("rim column %d of row %d, line %d (width %d) is %#x, want %#x", x, y, g, r.W, at(x), want)
						return
					}
				}
			}
			copy(line, r.image[from:])
		}
	}
	if at := differ(now, r.image); at >= 0 {
		r.b.Errorf("a launch over rows [%d,%d) of %d wrote outside them, %s", y0, y1, r.H, r.where(at))
	}
}

// PairAccuracy is what convolutions of pairs promise: bfloat16 rounds weights, sums are truncated at worst.
var PairAccuracy = Accuracy{Growth: 2, Factor: 0x1p-8}

// SplitAccuracy is that of split samples: of both factors 16 bits are left, and one product of parts is not summed.
var SplitAccuracy = Accuracy{Growth: 2, Factor: 3 * 0x1p-16}

// PairShape draws a convolution of pairs, to pairs in three of four cases: kernels of side 1, 3 and 5, planes small and
// larger than a tile.
func PairShape(rng *rand.Rand) conv.Shape {
	s := conv.Shape{K: 1 + 2*rng.IntN(3), SrcC: []int{1 + rng.IntN(70)}, OutC: 1 + rng.IntN(70), Act: fuse.Act(rng.IntN(3)), H: 1 + rng.IntN(30), W: 1 + rng.IntN(100),
		Pairs: true, PairsOut: rng.IntN(4) > 0}
	switch rng.IntN(5) {
	case 0: // as networks have them
		s.SrcC[0], s.OutC = 8*(1+rng.IntN(12)), 8*(1+rng.IntN(12))
	case 1: // smaller than the kernel
		s.H, s.W = 1+rng.IntN(4), 1+rng.IntN(5)
	case 2:
		s.H, s.W = 1+rng.IntN(8), 130+rng.IntN(300)
	}
	return s
}

// SplitShape draws a convolution of split samples.
func SplitShape(rng *rand.Rand) conv.Shape {
	s := PairShape(rng)
	s.SrcC[0], s.Split = 1+rng.IntN(24), true
	return s
}
