package mma

import (
	"math"

	"enhance/conv"
	"enhance/internal/fuse"
)

// groups is the number of work-groups that share a tile of pixels.
func (m *codesImpl) groups() int { return ceilDiv(m.shape.OutC, m.variant.outputs()) }

// outputs counts them with those that fill the last group.
func (m *codesImpl) outputs() int { return m.groups() * m.variant.outputs() }

// firstAt is the number of words of weights, after which first sums, factors and biases follow.
func (m *codesImpl) firstAt() int { return m.groups() * m.stages() * m.variant.stageWords(m.shape.K) }

func (m *codesImpl) PackedLen() int { return m.firstAt() + 3*m.outputs() }

// Pack panics: the weights of codes are packed by PackCodes.
func (m *codesImpl) Pack(_, _ []float32) []float32 { panic("conv: mma-codes packs integers") }

// PackCodes lays the weights out as the matrix fragments of mma.sync want them:
//
//	[work-group][stage][ky][kx][warp][step][m-tile][lane][4 or 2 words]
//
// A step is eight words of the source, with 4 words of weights for a lane, or, at the end of a stage of an odd
// number of fours, four with 2. Lane 4q+t holds words t and t+4 of the step for rows q and q+8 of the m-tile,
// in the order (q, t), (q+8, t), (q, t+4), (q+8, t+4). Which output a row is, codes.cl says.
func (m *codesImpl) PackCodes(w *conv.IntegerWeights) []float32 {
	out := make([]uint32, m.PackedLen())
	inC, taps, first, outs := m.shape.InC(), m.shape.K*m.shape.K, m.firstAt(), m.outputs()
	for o := range m.shape.OutC {
		var sum int32
		for c := range inC {
			for tap := range taps {
				v := int32(w.Weights[(o*inC+c)*taps+tap])
				sum += v
				out[m.wordOf(o, c/fuse.CodesInWord, tap)] |= uint32(uint8(v)) << (8 * (c % fuse.CodesInWord))
			}
		}
		out[first+o] = uint32(-int32(w.Zero) * sum)
		out[first+outs+o] = math.Float32bits(w.Factors[o])
		out[first+2*outs+o] = math.Float32bits(w.Bias[o])
	}
	packed := make([]float32, len(out))
	for i, v := range out {
		packed[i] = math.Float32frombits(v)
	}
	return packed
}

// wordOf is the place of the weights of output o for a word of the source and a tap.
func (m *codesImpl) wordOf(o, word, tap int) int {
	v := m.variant
	group, warp, within := o/v.outputs(), o/(16*v.mt)%v.wo, o%(16*v.mt)
	stage, at := word/v.words, word%v.words
	start := ((group*m.stages()+stage)*m.shape.K*m.shape.K+tap)*v.wo*v.tapWords() + warp*v.tapWords() + at/8*v.mt*128
	tile, row := rowOf(v.mt, within)
	registers := 4 // of a lane
	if v.words-at/8*8 < 8 {
		registers = 2
	}
	return start + tile*32*registers + (row%8*4+at%4)*registers + row/8 + at%8/4*2
}

// rowOf is the m-tile and the row of it for an output of a warp with mt of them: lane 4q+t has sums of outputs 4q to 4q+3 of
// two m-tiles together, or of 2q and 2q+1 of the last one if their number is odd.
func rowOf(mt, output int) (tile, row int) {
	if pair := output / 32; pair < mt/2 {
		i := output % 32
		return 2*pair + i%4/2, i/4 + i%2*8
	}
	i := output % 16
	return mt - 1, i/2 + i%2*8
}
