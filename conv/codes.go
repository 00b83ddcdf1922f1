package conv

import (
	_ "embed"
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed codes.cl.tmpl
var codesText string

var codesTemplate = kerneltext.NewTemplate("codes", codesText, kerneltext.Funcs)

// Integer is an Impl of a Shape with Codes.
type Integer interface {
	Impl
	// PackCodes is Pack of convolutions of codes. The words of integers travel as the bits of
	// float32; there are PackedLen of them.
	PackCodes(*IntegerWeights) []float32
}

// IntegerWeights are the parameters of a convolution of codes: OutC×InC×K×K integers of 8 bits, a factor and a
// bias for each output, and the byte that stands for zero in the source. Inner is those of a Shape's inner
// convolution; Zero is then of the codes between.
type IntegerWeights struct {
	Weights       []float32
	Factors, Bias []float32
	Zero          int
	Inner         *IntegerWeights
}

// Quantizer is what makes codes of what a launch would store, as model.Node.Code has it: bytes are
// clamp(rint(x·Inverse) + Zero, 0, 255).
type Quantizer struct {
	Inverse float32
	Zero    int
}

// Word is the word of four codes of zero.
func (q Quantizer) Word() uint32 { return uint32(q.Zero) * 0x1010101 }

// DirectCodes is direct convolution of codes (fuse.Codes) on any device: exact sums of integers, so that all devices
// agree with the definition to the bit. On CPUs it multiplies bytes four at a time by VPDPBUSD where Caps.VNNI says so, and
// pairs of 16 bits by VPMADDWD elsewhere.
type DirectCodes struct{}

// Name is "direct-codes".
func (DirectCodes) Name() string { return "direct-codes" }

// New refuses shapes that are not of codes.
func (DirectCodes) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if !s.Codes {
		return nil, fmt.Errorf("conv: direct-codes does convolutions of codes of 8 bits")
	}
	plain := s
	plain.Codes, plain.Store = false, false
	if err := plain.WithinRim("direct-codes"); err != nil {
		return nil, err
	}
	if len(s.SrcC) != 1 {
		return nil, fmt.Errorf("conv: direct-codes reads one tensor, not %d", len(s.SrcC))
	}
	i := &codesImpl{shape: s, cpu: c.CPU && !c.Plain, vector: 1, lanes: 8, tile: 1, items: min(64, max(c.MaxWorkGroup, 1))}
	if c.Plain || s.OutC <= 4 {
		i.lanes = 4
	}
	if i.cpu {
		i.items, i.vector, i.vnni = 1, vectorOf(c), c.VNNI
		i.lanes, i.tile = codesTile(s.OutC, i.vector, i.vnni)
	}
	return i, nil
}

// codesTile chooses the outputs, a multiple of four, and vectors of columns that a work-item keeps in
// registers, as registerTile does.
func codesTile(outs, vector int, vnni bool) (lanes, tile int) {
	registers := 16
	if vector == 16 {
		registers = 32
	}
	best := 0.0
	for t := 1; t <= 4; t++ {
		for l := 4; l <= 16; l += 4 {
			inputs := t
			if !vnni {
				inputs = 3 * t
			}
			if l*t+inputs+2 > registers || l-3 > outs {
				continue
			}
			useful := float64(outs) / float64((outs+l-1)/l*l)
			loads := float64(t+l) / float64(l*t)
			if score := useful / (1 + loads/2) / (1 + 0.03*float64(t)); score > best {
				best, lanes, tile = score, l, t
			}
		}
	}
	return lanes, tile
}

// codesImpl makes lanes outputs × tile vectors of columns at a time.
type codesImpl struct {
	shape               Shape
	cpu, vnni           bool
	vector, lanes, tile int
	items               int // of a work-group, along a row
}

// halves is how many words the four weights of a word of codes take.
func (i *codesImpl) halves() int {
	if i.cpu && !i.vnni {
		return 2
	}
	return 1
}

func (i *codesImpl) name() string {
	name := fmt.Sprintf("conv_codes_k%d_o%d_v%dx%d_%d", i.shape.K, i.lanes, i.tile, i.vector, i.halves())
	if i.shape.Store {
		name += "_codes"
	}
	return name
}

func (i *codesImpl) Kernels() []Kernel {
	typed := func(name string) string {
		if i.vector == 1 {
			return name
		}
		return fmt.Sprintf("%s%d", name, i.vector)
	}
	text := codesTemplate.Fill(map[string]any{"Name": i.name(), "K": i.shape.K, "CPU": i.cpu, "VNNI": i.vnni, "Pairs": i.halves() == 2, "Halves": i.halves(),
		"Lanes": i.lanes, "Words": i.lanes / fuse.CodesInWord, "Tile": i.tile, "Vector": i.vector, "Store": i.shape.Store,
		"Int": typed("int"), "Uint": typed("uint"), "Float": typed("float")})
	return []Kernel{{i.name(), planar.CodesSource() + text}}
}

func (i *codesImpl) blocks() int { return (i.shape.OutC + i.lanes - 1) / i.lanes }

// firstAt is the number of words of weights, after which first sums, factors and biases follow.
func (i *codesImpl) firstAt() int {
	return i.blocks() * planar.Words(i.shape.InC()) * i.shape.K * i.shape.K * i.lanes * i.halves()
}

func (i *codesImpl) PackedLen() int { return i.firstAt() + 3*i.blocks()*i.lanes }

// Pack panics: the weights of codes are packed by PackCodes.
func (i *codesImpl) Pack(_, _ []float32) []float32 {
	panic("conv: direct-codes packs integers")
}

func (i *codesImpl) PackCodes(w *IntegerWeights) []float32 {
	out := make([]uint32, i.PackedLen())
	inC, taps, words := i.shape.InC(), i.shape.K*i.shape.K, planar.Words(i.shape.InC())
	first, outs := i.firstAt(), i.blocks()*i.lanes
	for o := range i.shape.OutC {
		var sum int32
		for c := range inC {
			for t := range taps {
				v := int32(w.Weights[(o*inC+c)*taps+t])
				sum += v
				at := (((o/i.lanes*words+c/fuse.CodesInWord)*taps+t)*i.lanes + o%i.lanes) * i.halves()
				if b := c % fuse.CodesInWord; i.halves() == 1 {
					out[at] |= uint32(uint8(v)) << (8 * b)
				} else {
					out[at+b%2] |= uint32(uint16(v)) << (16 * (b / 2))
				}
			}
		}
		out[first+o] = uint32(-int32(w.Zero) * sum)
		out[first+outs+o] = math.Float32bits(w.Factors[o])
		out[first+2*outs+o] = math.Float32bits(w.Bias[o])
	}
	packed := make([]float32, len(out))
	for k, v := range out {
		packed[k] = math.Float32frombits(v)
	}
	return packed
}

func (i *codesImpl) Granule() int      { return 1 }
func (i *codesImpl) Scratch(int) int64 { return 0 }

func (i *codesImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	first, outs := i.firstAt(), i.blocks()*i.lanes
	args := new(KernelArgs).Ring(a.Src[0]).Buffer(packed).Int(first, first+outs, first+2*outs, int(int32(a.Zero.Word()))).Residual(a).Ring(a.Dst).
		Int(i.shape.OutC, a.Y0, int(i.shape.Act)).Float(a.Slope).Float(a.Store.Inverse).Float(float32(a.Store.Zero))
	if i.cpu {
		return args.Launch(q, k[0], []int{i.blocks(), a.Y1 - a.Y0}, []int{1, 1})
	}
	columns := (a.Dst.W + i.items - 1) / i.items * i.items
	return args.Launch(q, k[0], []int{columns, i.blocks(), a.Y1 - a.Y0}, []int{i.items, 1, 1})
}
