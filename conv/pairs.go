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

//go:embed pairs.cl.tmpl
var pairsText string

var pairsTemplate = kerneltext.NewTemplate("pairs", pairsText, kerneltext.Funcs)

// DirectPairs is direct convolution of pairs of bfloat16 (fuse.Pairs) and of split samples (fuse.Split) on CPUs
// with VDPBF16PS, which multiplies two pairs and adds both products to a sum of float32. Weights are rounded to
// bfloat16; those of split samples are split too, so that three of the four products of parts are summed and
// the result is nearly that of float32 (Henry, Tang and Heinecke 2019, section III).
type DirectPairs struct{}

// Name is "direct-pairs".
func (DirectPairs) Name() string { return "direct-pairs" }

// New refuses shapes that are not of pairs, and devices without the instruction.
func (d DirectPairs) New(c Caps, s Shape, p planar.Precision) (Impl, error) {
	if !c.Pairs {
		return nil, fmt.Errorf("conv: %s needs a processor with VDPBF16PS under PoCL", d.Name())
	}
	if err := s.CheckPairs(d.Name(), p); err != nil {
		return nil, err
	}
	i := &pairsImpl{shape: s}
	i.lanes, i.tile = codesTile(s.OutC, 16, true)
	return i, nil
}

// CheckPairs refuses what is no convolution of pairs or split samples of one tensor, or reaches beyond its rim.
func (s Shape) CheckPairs(algo string, p planar.Precision) error {
	if !s.Pairs || p != planar.FP32 {
		return fmt.Errorf("conv: %s does convolutions of pairs of bfloat16, beside planes of float32", algo)
	}
	if len(s.SrcC) != 1 {
		return fmt.Errorf("conv: %s reads one tensor, not %d", algo, len(s.SrcC))
	}
	plain := s
	plain.Pairs, plain.PairsOut, plain.Split = false, false, false
	return plain.WithinRim(algo)
}

// PairLines is how many lines of words the source of a convolution of pairs or split samples has.
func (s Shape) PairLines() int {
	if s.Split {
		return planar.SplitLines(s.InC())
	}
	return planar.Pairs(s.InC())
}

// PairWeights calls put for what a weight adds to words of weights for its channel: one of pairs, of split
// samples three: its first part for both parts of the sample, and its second part for the sample's first.
func (s Shape) PairWeights(c int, w float32, put func(line int, word uint32)) {
	g, shift := c/fuse.ChannelsInPair, 16*(c%fuse.ChannelsInPair)
	high := planar.BFloat(w)
	if !s.Split {
		put(g, uint32(high)<<shift)
		return
	}
	put(planar.LinesInSplit*g, uint32(high)<<shift)
	put(planar.LinesInSplit*g+1, uint32(planar.BFloat(w-planar.OfBFloat(high)))<<shift)
	put(planar.LinesInSplit*g+2, uint32(high)<<shift)
}

// pairsImpl makes lanes outputs × tile vectors of columns at a time.
type pairsImpl struct {
	shape       Shape
	lanes, tile int
}

func (i *pairsImpl) name() string {
	name := fmt.Sprintf("conv_pairs_k%d_o%d_v%d", i.shape.K, i.lanes, i.tile)
	if i.shape.PairsOut {
		name += "_store"
	}
	return name
}

func (i *pairsImpl) Kernels() []Kernel {
	kind, row, lines := "data_t", "ring_row", i.lanes
	if i.shape.PairsOut {
		kind, row, lines = "uint", "codes_row", i.lanes/fuse.ChannelsInPair
	}
	text := pairsTemplate.Fill(map[string]any{"Name": i.name(), "K": i.shape.K, "Lanes": i.lanes, "Words": i.lanes / fuse.ChannelsInPair, "Tile": i.tile,
		"Store": i.shape.PairsOut, "Type": kind, "Row": row, "Lines": lines})
	return []Kernel{{i.name(), planar.PairsSource() + text}}
}

func (i *pairsImpl) blocks() int { return (i.shape.OutC + i.lanes - 1) / i.lanes }

// biasAt is the number of words of weights.
func (i *pairsImpl) biasAt() int {
	return i.blocks() * i.shape.PairLines() * i.shape.K * i.shape.K * i.lanes
}

func (i *pairsImpl) PackedLen() int { return i.biasAt() + i.blocks()*i.lanes }

func (i *pairsImpl) Pack(weights, bias []float32) []float32 {
	words := make([]uint32, i.biasAt())
	inC, taps := i.shape.InC(), i.shape.K*i.shape.K
	for o := range i.shape.OutC {
		for c := range inC {
			for t := range taps {
				i.shape.PairWeights(c, weights[(o*inC+c)*taps+t], func(line int, word uint32) {
					words[((o/i.lanes*i.shape.PairLines()+line)*taps+t)*i.lanes+o%i.lanes] |= word
				})
			}
		}
	}
	out := make([]float32, i.PackedLen())
	for k, v := range words {
		out[k] = math.Float32frombits(v)
	}
	copy(out[i.biasAt():], bias)
	return out
}

func (i *pairsImpl) Granule() int      { return 1 }
func (i *pairsImpl) Scratch(int) int64 { return 0 }

func (i *pairsImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	args := new(KernelArgs).Ring(a.Src[0]).Buffer(packed).Int(i.biasAt()).Residual(a).Ring(a.Dst).Int(i.shape.OutC, a.Y0, int(i.shape.Act)).Float(a.Slope)
	return args.Launch(q, k[0], []int{i.blocks(), a.Y1 - a.Y0}, []int{1, 1})
}
