package octets

import (
	"encoding/binary"
	"math"

	"enhance/conv"
)

func (m *codesImpl) PackedLen() int { return m.groups() * m.groupBytes() / 4 }

// Pack panics: the weights of codes are packed by PackCodes.
func (m *codesImpl) Pack(_, _ []float32) []float32 { panic("conv: octets-codes packs integers") }

// PackCodes lays parameters out as [work-group][inner, outer][weights, first sums, factors, biases], weights as
//
//	[kernel row][step][half][output][16 channels]
//
// of 8 bits. A half of a step is a group of channels at a column of the kernel. A first sum is what the code of
// zero adds to an output, negated.
func (m *codesImpl) PackCodes(w *conv.IntegerWeights) []float32 {
	image := make([]byte, 4*m.PackedLen())
	s, v := m.shape, m.variant
	for group := range m.groups() {
		part := image[group*m.groupBytes():]
		if in := s.Inner; in != nil {
			p := packing{k: in.K, channels: s.InC(), outs: m.innerOuts()}
			p.pack(part, w.Inner, 0, in.OutC)
			part = part[m.innerBytes():]
		}
		first := group * v.outs * octetWide
		p := packing{k: s.K, channels: m.outerIn(), outs: v.outs}
		p.pack(part, w, first, min(s.OutC-first, v.outs*octetWide))
	}
	words := make([]float32, m.PackedLen())
	for i := range words {
		words[i] = math.Float32frombits(binary.LittleEndian.Uint32(image[4*i:]))
	}
	return words
}

// packing is how the parameters of one convolution lie.
type packing struct {
	k, channels, outs int // outs: octets
}

// pack lays out the parameters of n outputs from first on.
func (p packing) pack(image []byte, w *conv.IntegerWeights, first, n int) {
	consts := image[weightBytes(p.k, groupsOf(p.channels), p.outs):]
	for o := range n {
		sum := int32(0)
		for c := range p.channels {
			for tap := range p.k * p.k {
				v := int32(w.Weights[((first+o)*p.channels+c)*p.k*p.k+tap])
				sum += v
				image[p.at(o, c, tap/p.k, tap%p.k)] = byte(v)
			}
		}
		for i, bits := range []uint32{uint32(-int32(w.Zero) * sum), math.Float32bits(w.Factors[first+o]), math.Float32bits(w.Bias[first+o])} {
			binary.LittleEndian.PutUint32(consts[4*(i*p.outs*octetWide+o):], bits)
		}
	}
}

// at is where the weight of output o for channel c at a tap is.
func (p packing) at(o, c, ky, kx int) int {
	groups := groupsOf(p.channels)
	group := c / groupWide
	step, half := group/2*p.k+kx, group%2
	if group == groups-1 && groups%2 == 1 {
		step, half = groups/2*p.k+kx/2, kx%2
	}
	return (((ky*steps(p.k, groups)+step)*2+half)*p.outs*octetWide+outputPlace(o, p.outs))*groupWide + c%groupWide
}

// outputPlace is which output of the products makes output o of so many octets: lane t of four makes channels 4t to 4t+3 of
// each whole group, as products give it outputs 2t and 2t+1 of either octet.
func outputPlace(o, octets int) int {
	group, r := o/groupWide, o%groupWide
	if group >= octets/2 {
		return o
	}
	return group*groupWide + r%4/2*octetWide + r/4*2 + r%2
}
