// Package amx is convolution by the tile registers of Intel's processors (AMX, since Sapphire Rapids), in
// OpenCL kernels of PoCL on their cores.
//
// [Codes] convolves codes of 8 bits by TDPBSUD: 16 outputs by 16 columns by 64 channels an instruction, where
// VPDPBUSD does 1 by 16 by 4. [Pairs] convolves pairs of bfloat16 by TDPBF16PS, 16 by 16 by 32. tiles.cl is the
// kernel, instructions.cl has the instructions by their bytes, and [Probe] asks the system for the permission
// to use them, which a process needs.
package amx

import (
	_ "embed"
	"fmt"
	"strings"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed tiles.cl
var tilesCL string

//go:embed instructions.cl
var instructionsCL string

// Codes is the convolution of codes of 8 bits ([conv.Integer]), for devices that pass [Probe]. Its sums are of integers, so
// that results are those of conv.DirectCodes to the bit.
func Codes() conv.Algo { return codes{} }

// Pairs is the convolution of pairs of bfloat16 and of split samples, for the same devices. Its factors are those of
// conv.DirectPairs, its sums have another order.
func Pairs() conv.Algo { return pairs{} }

type (
	codes struct{}
	pairs struct{}
)

// Name is "amx-codes".
func (codes) Name() string { return "amx-codes" }

// Name is "amx-pairs".
func (pairs) Name() string { return "amx-pairs" }

// needTiles refuses devices without tiles.
func needTiles(c conv.Caps, a conv.Algo) error {
	if !c.Tiles {
		return fmt.Errorf("conv: %s needs a processor with AMX under PoCL, and a system that lets the process use it", a.Name())
	}
	return nil
}

// New refuses shapes that are not of codes, and devices without tiles.
func (a codes) New(c conv.Caps, s conv.Shape, _ planar.Precision) (conv.Impl, error) {
	if !s.Codes {
		return nil, fmt.Errorf("conv: %s does convolutions of codes of 8 bits", a.Name())
	}
	if err := needTiles(c, a); err != nil {
		return nil, err
	}
	plain := s
	plain.Codes, plain.Store = false, false
	if err := plain.WithinRim(a.Name()); err != nil {
		return nil, err
	}
	if len(s.SrcC) != 1 {
		return nil, fmt.Errorf("conv: %s reads one tensor, not %d", a.Name(), len(s.SrcC))
	}
	return codesImpl{newImpl(s, planar.Words(s.InC()))}, nil
}

// New refuses shapes that are not of pairs, and devices without tiles.
func (a pairs) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if err := needTiles(c, a); err != nil {
		return nil, err
	}
	if err := s.CheckPairs(a.Name(), p); err != nil {
		return nil, err
	}
	return newImpl(s, s.PairLines()), nil
}

// The most rows of a tile, and words of a row.
const (
	tileRows  = 16
	tileWords = 16
)

// impl divides outputs into groups of tiles ×
// rows of them, and lines of words into stages of words.
type impl struct {
	shape  conv.Shape
	tiles  int // of outputs, one or two, beside as many of columns and rows as make four sums
	rows   int // outputs of a tile
	groups int
	lines  int // of the source
	words  int // lines of a stage
	stages int
}

func newImpl(s conv.Shape, lines int) *impl {
	i := &impl{shape: s, tiles: 1, lines: lines}
	if s.OutC > tileRows {
		i.tiles = 2
	}
	i.groups = ceilDiv(s.OutC, i.tiles*tileRows)
	i.rows = ceilDiv(ceilDiv(s.OutC, i.groups*i.tiles), i.inWord()) * i.inWord()
	i.stages = ceilDiv(lines, tileWords)
	i.words = ceilDiv(lines, i.stages)
	return i
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// inWord is how many channels a word holds.
func (i *impl) inWord() int {
	if i.shape.Pairs {
		return fuse.ChannelsInPair
	}
	return fuse.CodesInWord
}

func (i *impl) name() string {
	kind := "codes"
	if i.shape.Pairs {
		kind = "pairs"
	}
	name := fmt.Sprintf("conv_amx_%s_k%d_m%dx%d_l%d_w%dx%d", kind, i.shape.K, i.tiles, i.rows, i.lines, i.stages, i.words)
	if i.shape.Store || i.shape.PairsOut {
		name += "_store"
	}
	return name
}

func (i *impl) Kernels() []conv.Kernel {
	flag := map[bool]int{true: 1}
	text := kerneltext.Define(tilesCL, "NAME", i.name(), "CONFIG", i.name()+"_config", "FINISH", i.name()+"_finish", "KS", i.shape.K, "MT", i.tiles, "NT", 2/i.tiles, "ROWS", i.rows, "KW", i.words, "SOURCE", i.lines, "STAGES", i.stages,
		"PAIRS", flag[i.shape.Pairs], "STORE", flag[i.shape.Store || i.shape.PairsOut])
	return []conv.Kernel{{Name: i.name(), Source: planar.PairsSource() + "#ifndef TILE_STATE\n" + instructionsCL + "#endif\n" + text}}
}

func (i *impl) Granule() int      { return 1 }
func (i *impl) Scratch(int) int64 { return 0 }

func (i *impl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args := new(conv.KernelArgs).Ring(a.Src[0]).Buffer(packed).Int(i.tailAt()).Residual(a).Ring(a.Dst).Int(i.shape.OutC, a.Y0, a.Y1, int(i.shape.Act)).Float(a.Slope).
		Float(a.Store.Inverse).Float(float32(a.Store.Zero))
	return args.Launch(q, k[0], []int{i.groups, (a.Y1 - a.Y0 + 1) / 2}, []int{1, 1})
}

// Sources is the text of all kernels of this package: programs that differ in it may differ in speed and results.
func Sources() string { return strings.Join([]string{tilesCL, instructionsCL, probeCL}, "\x00") }
