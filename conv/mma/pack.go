package mma

import (
	"math"

	"enhance/internal/planar"
)

// channelOrder lists the channels in the order in which stages take them: each
// source in chunks of n, the last one of a source filled with places that hold
// no channel (-1), and an even number of chunks.
func channelOrder(sources []int, n int) []int {
	var order []int
	first := 0
	for _, c := range sources {
		for i := range ceilDiv(c, n) * n {
			if i < c {
				order = append(order, first+i)
			} else {
				order = append(order, -1)
			}
		}
		first += c
	}
	for len(order)%(2*n) != 0 {
		order = append(order, -1)
	}
	return order
}

func (m *impl) stages() int { return len(m.order) / (2 * m.precision.chunk()) }

// groups is the number of work-groups that share a tile of pixels.
func (m *impl) groups() int { return ceilDiv(m.shape.OutC, m.variant.outputs()) }

// tapWords is how many words a work-group reads for a tap of a stage.
func (m *impl) tapWords() int { return m.variant.wo * m.variant.tapWords(m.precision) }

// weightWords is how many words there are before the bias.
func (m *impl) weightWords() int {
	k := m.shape.K
	return m.groups() * m.stages() * k * k * m.tapWords()
}

func (m *impl) biasAt() int { return m.weightWords() }

func (m *impl) PackedLen() int { return m.weightWords() + m.groups()*m.variant.outputs() }

// Pack lays the weights out as the matrix fragments of mma.sync want them:
//
//	[work-group][stage][ky][kx][warp][m-tile][lane][4 words]
//
// With FP32 a tap has the m-tiles of the large parts and then those of the small
// ones. Lane 4g+t holds words 2t and 2t+1 of the stage's eight for outputs g and
// g+8 of the m-tile, in the order (g, 2t), (g+8, 2t), (g, 2t+1), (g+8, 2t+1). A
// word is two channels in binary16, one in tf32: bits in a float32's place, and
// as weights are finite none of them is a NaN. Bias follows as float32.
func (m *impl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, m.PackedLen())
	kk, inC, v := m.shape.K*m.shape.K, m.shape.InC(), m.variant
	perStage := 2 * m.precision.chunk()
	for o := range m.shape.OutC {
		group, warp, row := o/v.outputs(), o/(16*v.mt)%v.wo, o%(16*v.mt)
		for place, c := range m.order {
			if c < 0 {
				continue
			}
			stage, at := place/perStage, place%perStage
			for tap := range kk {
				words := out[((group*m.stages()+stage)*kk+tap)*m.tapWords():]
				m.put(words[warp*v.tapWords(m.precision):], row, at, weights[(o*inC+c)*kk+tap])
			}
		}
		out[m.biasAt()+o] = bias[o]
	}
	return out
}

// put stores weight w of a warp's output row and of channel at of a stage among
// the words of a tap.
func (m *impl) put(words []float32, row, at int, w float32) {
	if m.precision == FP16 {
		i := word(row, at/2)
		words[i] = math.Float32frombits(math.Float32bits(words[i]) | uint32(planar.Half(w))<<(16*(at%2)))
		return
	}
	large := roundTF32(w)
	words[word(row, at)] = large
	if m.precision == FP32 {
		words[word(row+16*m.variant.mt, at)] = roundTF32(w - large)
	}
}

// word is the place among a tap's words of word k of the stage's eight, for
// a warp's output row.
func word(row, k int) int {
	lane := row%8*4 + k/2
	return row/16*128 + lane*4 + row/8%2 + k%2*2
}

// roundTF32 rounds to 11 significant bits, ties away from zero, as
// cvt.rna.tf32.f32 does; overflow becomes infinity.
func roundTF32(v float32) float32 {
	b := math.Float32bits(v)
	if b>>23&0xff == 0xff {
		return v
	}
	return math.Float32frombits((b + 1<<12) &^ (1<<13 - 1))
}
