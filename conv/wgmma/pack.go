package wgmma

import (
	"math"

	"enhance/planar"
)

// tapBytes is the size of the left factor of a tap: 64×16 binary16.
const tapBytes = 64 * 16 * 2

// channelOrder lists the channels in the order in which stages take them: each
// source in chunks of 8, the last one of a source filled with places that hold no
// channel (-1), and an even number of chunks.
func channelOrder(sources []int) []int {
	var order []int
	first := 0
	for _, c := range sources {
		for i := range ceilDiv(c, 8) * 8 {
			if i < c {
				order = append(order, first+i)
			} else {
				order = append(order, -1)
			}
		}
		first += c
	}
	for len(order)%16 != 0 {
		order = append(order, -1)
	}
	return order
}

func (m *impl) stages() int { return len(m.order) / 16 }

// groups is the number of work-groups that share a tile of pixels.
func (m *impl) groups() int { return ceilDiv(m.shape.OutC, m.variant.outputs()) }

// groupWords is how many words of weights a work-group reads.
func (m *impl) groupWords() int {
	k, v := m.shape.K, m.variant
	return ceilDiv(m.stages()*v.rows(k), v.piece) * v.piece * k * tapBytes / 4
}

func (m *impl) biasAt() int { return m.groups() * m.groupWords() }

func (m *impl) PackedLen() int { return m.biasAt() + m.groups()*m.variant.outputs() }

// Pack lays the weights out as wgmma reads its left factor from local memory:
//
//	[work-group][stage][row][kx][M/8][K/8][8 of M][8 of K] binary16
//
// M is [output/8][row of the block][output%8]; row r of a block has the weights of kernel
// row row-r, or zeros where there is none. A group's rows end with a whole piece. Two
// binary16 are in a float32's place; as weights are finite it is no NaN. Bias
// follows as float32.
func (m *impl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, m.PackedLen())
	k, inC, v := m.shape.K, m.shape.InC(), m.variant
	for o := range m.shape.OutC {
		words := out[o/v.outputs()*m.groupWords():]
		for place, c := range m.order {
			if c < 0 {
				continue
			}
			for r := range v.block {
				for ky := range k {
					for kx := range k {
						tap := (place/16*v.rows(k)+ky+r)*k + kx
						at := half((o%v.outputs()/8*v.block+r)*8+o%8, place%16)
						w := uint32(planar.Half(weights[((o*inC+c)*k+ky)*k+kx]))
						i := tap*tapBytes/4 + at/2
						words[i] = math.Float32frombits(math.Float32bits(words[i]) | w<<(16*(at%2)))
					}
				}
			}
		}
		out[m.biasAt()+o] = bias[o]
	}
	return out
}

// half is the place among a tap's binary16 of row i of M and k of K.
func half(i, k int) int { return i/8*128 + k/8*64 + i%8*8 + k%8 }
