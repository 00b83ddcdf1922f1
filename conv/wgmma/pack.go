package wgmma

import (
	"math"

	"enhance/internal/planar"
)

const (
	tapBytes   = 64 * 16 * 2 // left factor of a tap: 64×16 binary16
	eightBytes = 8 * 16 * 2  // eight rows of it
)

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
	if v.block == 2 {
		return (m.stages()*(k+1) + 1) * k * tapBytes / 2 / 4
	}
	return ceilDiv(m.stages()*k, v.piece) * v.piece * k * tapBytes / 4
}

func (m *impl) biasAt() int { return m.groups() * m.groupWords() }

func (m *impl) PackedLen() int { return m.biasAt() + m.groups()*m.variant.outputs() }

// Pack lays the weights out as wgmma reads its left factor from local memory:
//
//	[work-group][stage][kernel row][kx][M/8][K/8][8 of M][8 of K] binary16
//
// where M is the output and a group's kernel rows end with a whole piece; or, where
// M has two rows of the picture,
//
//	[work-group][stage][kernel row][output/8][kx][K/8][8 outputs][8 of K] binary16
//
// with a kernel row of zeros before each stage and after the last: two kernel rows, one
// after the other, are what two rows of the picture need. Two binary16 are in a
// float32's place; as weights are finite it is no NaN. Bias follows as float32.
func (m *impl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, m.PackedLen())
	k, inC, v := m.shape.K, m.shape.InC(), m.variant
	for o := range m.shape.OutC {
		words := out[o/v.outputs()*m.groupWords():]
		for place, c := range m.order {
			if c < 0 {
				continue
			}
			for ky := range k {
				for kx := range k {
					w := uint32(planar.Half(weights[((o*inC+c)*k+ky)*k+kx]))
					at := m.eight(o%v.outputs()/8, place/16, ky, kx)*eightBytes/2 + place%16/8*64 + o%8*8 + place%8
					words[at/2] = math.Float32frombits(math.Float32bits(words[at/2]) | w<<(16*(at%2)))
				}
			}
		}
		out[m.biasAt()+o] = bias[o]
	}
	return out
}

// eight is the place of a tap's weights for outputs 8·i to 8·i+7 of a group, in units
// of eightBytes.
func (m *impl) eight(i, stage, ky, kx int) int {
	k := m.shape.K
	if m.variant.block == 2 {
		return ((stage*(k+1)+1+ky)*4+i)*k + kx
	}
	return ((stage*k+ky)*k+kx)*8 + i
}
