package amx

import (
	"math"

	"enhance/conv"
	"enhance/internal/fuse"
)

// What stands behind the weights, in words: the configuration of the tiles, a line of zeros, and the parameters of outputs.
const (
	blankAt  = 16
	paramsAt = 32
)

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
	i.configure(tail)
	for n := range tileWords {
		tail[blankAt+n] = conv.Quantizer{Zero: w.Zero}.Word()
	}
	packed := make([]float32, len(out))
	for k, v := range out {
		packed[k] = math.Float32frombits(v)
	}
	return packed
}

// configure writes what LDTILECFG reads: palette 1, from byte 16 on the bytes of the rows of each tile, of 16 bits, and from byte 48
// on the rows. Tiles 0 to 3 are sums; then come one or two of weights, and the rest of columns.
func (i *impl) configure(config []uint32) {
	config[0] = 1
	for t := range 8 {
		rows, words := i.rows, tileWords
		switch {
		case t >= 4+i.tiles:
			rows = i.words
		case t >= 4:
			words = i.words
		}
		config[4+t/2] |= uint32(4*words) << (16 * (t % 2))
		config[12+t/4] |= uint32(rows) << (8 * (t % 4))
	}
}
