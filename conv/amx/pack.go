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

// Pack panics: the weights of codes are packed by PackCodes.
func (i *impl) Pack(_, _ []float32) []float32 { panic("conv: amx-codes packs integers") }

// wordAt is the word with the weight from channel c by tap t to output o.
func (i *impl) wordAt(o, c, t int) int {
	k, size, line := i.shape.K, i.tiles*i.rows, c/i.inWord()
	g := line / i.words
	step := ((o/size*k+t/k)*i.stages+g)*k + t%k
	return (step*size+o%size)*tileWords + line - min(g*i.words, i.lines()-i.words)
}

// PackCodes implements [conv.Integer].
func (i *impl) PackCodes(w *conv.IntegerWeights) []float32 {
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
				out[i.wordAt(o, c, t)] |= uint32(uint8(v)) << (8 * (c % fuse.CodesInWord))
			}
		}
		first[o] = uint32(-int32(w.Zero) * sum)
		factors[o], bias[o] = math.Float32bits(w.Factors[o]), math.Float32bits(w.Bias[o])
	}
	for n := range tileWords {
		tail[n] = conv.Quantizer{Zero: w.Zero}.Word()
	}
	packed := make([]float32, len(out))
	for k, v := range out {
		packed[k] = math.Float32frombits(v)
	}
	return packed
}
