package amx

import (
	"math"

	"enhance/conv"
	"enhance/internal/fuse"
)

// paramsAt is the number of words between the weights and the parameters of outputs.
const paramsAt = tileWords

// outputs is how many outputs there are room for.
func (i *impl) outputs() int { return i.groups * i.tiles * i.rows }

// tailAt is the number of words of weights.
func (i *impl) tailAt() int {
	return i.shape.K * i.shape.K * i.stages * i.outputs() * tileWords
}

func (i *impl) PackedLen() int { return i.tailAt() + paramsAt + 3*i.outputs() }

// wordAt is the word of weights from a line to output o by tap t.
func (i *impl) wordAt(o, line, t int) int {
	k, size, g := i.shape.K, i.tiles*i.rows, line/i.words
	step := ((o/size*k+t/k)*i.stages+g)*k + t%k
	return (step*size+o%size)*tileWords + line - min(g*i.words, i.lines-i.words)
}

// Pack implements [conv.Impl] for pairs.
func (i *impl) Pack(weights, bias []float32) []float32 {
	out := make([]uint32, i.PackedLen())
	inC, taps := i.shape.InC(), i.shape.K*i.shape.K
	for o := range i.shape.OutC {
		for c := range inC {
			for t := range taps {
				i.shape.PairWeights(c, weights[(o*inC+c)*taps+t], func(line int, word uint32) { out[i.wordAt(o, line, t)] |= word })
			}
		}
		out[i.tailAt()+paramsAt+2*i.outputs()+o] = math.Float32bits(bias[o])
	}
	return bits(out)
}

// codesImpl is an impl for codes.
type codesImpl struct{ *impl }

// Pack panics: the weights of codes are packed by PackCodes.
func (codesImpl) Pack(_, _ []float32) []float32 { panic("conv: amx-codes packs integers") }

// PackCodes implements [conv.Integer].
func (i codesImpl) PackCodes(w *conv.IntegerWeights) []float32 {
	out := make([]uint32, i.PackedLen())
	inC, taps := i.shape.InC(), i.shape.K*i.shape.K
	tail := out[i.tailAt():]
	first := tail[paramsAt:]
	factors, bias := first[i.outputs():], first[2*i.outputs():]
	for o := range i.shape.OutC {
		var sum int32
		for c := range inC {
			for t := range taps {
				v := int32(w.Weights[(o*inC+c)*taps+t])
				sum += v
				out[i.wordAt(o, c/fuse.CodesInWord, t)] |= uint32(uint8(v)) << (8 * (c % fuse.CodesInWord))
			}
		}
		first[o] = uint32(-int32(w.Zero) * sum)
		factors[o], bias[o] = math.Float32bits(w.Factors[o]), math.Float32bits(w.Bias[o])
	}
	for n := range tileWords {
		tail[n] = conv.Quantizer{Zero: w.Zero}.Word()
	}
	return bits(out)
}

// bits are words as the bits of float32.
func bits(words []uint32) []float32 {
	packed := make([]float32, len(words))
	for k, v := range words {
		packed[k] = math.Float32frombits(v)
	}
	return packed
}
