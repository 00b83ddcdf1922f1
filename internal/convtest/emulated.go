package convtest

import (
	"strings"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// Emulated is an algorithm on a vendor's instructions made one for any device: where
// its kernels have the text instructions they get emulation. Loops stay loops:
// unrolled they take a CPU's compiler minutes. Forms that take norms in or leave
// statistics are there where the algorithm has them.
func Emulated(a conv.Algo, instructions, emulation string) conv.Algo {
	return emulated{a, strings.NewReplacer(instructions, emulation, "#pragma unroll\n", "", `_Pragma("unroll")`, "")}
}

type emulated struct {
	conv.Algo
	text *strings.Replacer
}

func (e emulated) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	m, err := e.Algo.New(c, s, p)
	if err != nil {
		return nil, err
	}
	if _, forms := m.(conv.Summing); !forms {
		return emulatedPlain{m, e.text}, nil
	}
	return emulatedImpl{emulatedPlain{m, e.text}}, nil
}

type emulatedPlain struct {
	conv.Impl
	text *strings.Replacer
}

func (m emulatedPlain) Kernels() []conv.Kernel {
	k := m.Impl.Kernels()
	for i := range k {
		k[i].Source = m.text.Replace(k[i].Source)
	}
	return k
}

// emulatedImpl has forms, too.
type emulatedImpl struct{ emulatedPlain }

// PackCodes implements [conv.Integer].
func (m emulatedPlain) PackCodes(w *conv.IntegerWeights) []float32 {
	return m.Impl.(conv.Integer).PackCodes(w)
}

// Scaled implements [conv.Scaling].
func (m emulatedImpl) Scaled(pre fuse.Act) conv.Impl {
	if can, ok := m.Impl.(conv.Scaling); ok {
		if s := can.Scaled(pre); s != nil {
			return emulatedImpl{emulatedPlain{s, m.text}}
		}
	}
	return nil
}

// Summed implements [conv.Summing].
func (m emulatedImpl) Summed() (conv.Impl, conv.StatsTile) {
	s, p := m.Impl.(conv.Summing).Summed()
	return emulatedImpl{emulatedPlain{s, m.text}}, p
}
