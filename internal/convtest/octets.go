package convtest

import (
	"encoding/binary"
	"math/rand/v2"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// OctetPlace is Anywhere in a tensor of octets.
func (b *Bench) OctetPlace(c, rows, h int) Place {
	p := Place{Rows: rows, CAll: c, Octets: true}
	if h > rows {
		p.Rows += b.Rng.IntN(h - rows + 1)
	}
	if b.Rng.IntN(2) == 0 {
		p.C0 = fuse.ChannelsInOctet * b.Rng.IntN(3)
		if p.CAll = p.C0 + c; c%fuse.ChannelsInOctet == 0 {
			p.CAll += b.Rng.IntN(20)
		}
	}
	return p
}

// sourcePlace and targetPlace are Anywhere in tensors as a shape reads and writes them.
func (b *Bench) sourcePlace(s conv.Shape, c, rows, h int) Place {
	switch {
	case s.Octets:
		return b.OctetPlace(c, rows, h)
	case s.Pairs:
		return b.PairPlace(c, rows, h, s.Split)
	}
	return b.Anywhere(c, rows, h)
}

func (b *Bench) targetPlace(s conv.Shape, rows int) Place {
	switch {
	case s.OctetsOut:
		return b.OctetPlace(s.OutC, rows, s.H)
	case s.PairsOut:
		return b.PairPlace(s.OutC, rows, s.H, false)
	}
	return b.Anywhere(s.OutC, rows, s.H)
}

// octetSource is Source in a tensor of octets.
func (b *Bench) octetSource(p *Plane, at Place, first, end int) *Ring {
	b.Helper()
	return b.ring(p.C, p.H, p.W, at, func(ring []byte) {
		for y := first; y < end; y++ {
			for g := range planar.Octets(p.C) {
				line := ring[octetLine(at.CAll, p.W, y%at.Rows, at.C0/fuse.ChannelsInOctet+g):]
				for x := -planar.Rim; x < p.W+planar.Rim; x++ {
					from := fuse.PadIndex(b.Pad, x, p.W)
					for half := range fuse.ChannelsInOctet {
						v := float32(0)
						if c := fuse.ChannelsInOctet*g + half; c < p.C && from >= 0 {
							v = p.At(c, y, from)
						}
						binary.LittleEndian.PutUint16(line[(planar.Pad+x)*planar.OctetBytes+2*half:], planar.Half(v))
					}
				}
			}
		}
	})
}

// octetLine is where line g of a slot begins in a ring of tensors of c channels and w columns.
func octetLine(c, w, slot, g int) int {
	return (slot*planar.Octets(c) + g) * planar.Pitch(w) * planar.OctetBytes
}

// takeOctets is Take of a ring of octets, whose buffer holds now. It checks that channels that are none are zero.
func (r *Ring) takeOctets(p *Plane, y0, y1 int, now []byte) {
	r.b.Helper()
	for y := y0; y < y1; y++ {
		for g := range r.C {
			from := int(r.Base) + octetLine(r.CAll*fuse.ChannelsInOctet, r.W, y%r.Rows, r.C0+g)
			line := now[from:][:r.Pitch*planar.OctetBytes]
			at := func(x int) []byte { return line[(planar.Pad+x)*planar.OctetBytes:][:planar.OctetBytes] }
			for x := range p.W {
				for half := range fuse.ChannelsInOctet {
					v := planar.Float(binary.LittleEndian.Uint16(at(x)[2*half:]))
					if c := fuse.ChannelsInOctet*g + half; c < p.C {
						p.Line(c, y)[x] = v
					} else if v != 0 {
						r.b.Errorf("channel %d of %d at row %d, column %d is %v, want 0", c, p.C, y, x, v)
						return
					}
				}
			}
			for i := 1; i <= planar.Rim; i++ {
				for _, x := range []int{-i, r.W - 1 + i} {
					want := make([]byte, planar.OctetBytes)
					if from := fuse.PadIndex(r.b.Pad, x, r.W); from >= 0 {
						want = at(from)
					}
					if string(at(x)) != string(want) {
						r.b.Errorf("rim column %d of row %d, octet %d (width %d) is %x, want %x", x, y, g, r.W, at(x), want)
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

// OctetShape draws a convolution of octets, to octets in three of four cases: kernels of side 1, 3 and 5, of
// one source or several, planes small and larger than a tile.
func OctetShape(rng *rand.Rand) conv.Shape {
	s := conv.Shape{K: 1 + 2*rng.IntN(3), Act: fuse.Act(rng.IntN(3)), H: 1 + rng.IntN(40), W: 1 + rng.IntN(100), Octets: true, OctetsOut: rng.IntN(4) > 0}
	for range 1 + max(0, rng.IntN(5)-2) {
		s.SrcC = append(s.SrcC, fuse.ChannelsInOctet*(1+rng.IntN(6)))
	}
	if rng.IntN(3) == 0 {
		s.SrcC[len(s.SrcC)-1] -= rng.IntN(fuse.ChannelsInOctet)
	}
	s.OutC = fuse.ChannelsInOctet * (1 + rng.IntN(10))
	switch rng.IntN(5) {
	case 0:
		s.OutC = 1 + rng.IntN(50)
	case 1: // smaller than the kernel
		s.H, s.W = 1+rng.IntN(4), 1+rng.IntN(5)
	case 2: // wider than any tile
		s.H, s.W = 1+rng.IntN(8), 130+rng.IntN(300)
	}
	return s
}
