// Package fuse turns a network written as primitive operations (package model)
// into the steps that executors run and the tensors they store.
//
// A step is what one kernel does to a range of rows: a convolution takes its
// bias, activation and residual along, a concatenation of convolutions becomes
// slices of one stored tensor, and any other concatenation becomes a list of
// sources that the consumer reads in order, so that nothing is ever copied to
// be joined. Instance normalisation becomes three steps: per-row statistics right
// behind the step that makes the rows, their merge into a scale and shift per
// channel, and a pointwise step that applies them, which [Program.Absorb] puts into
// the convolution that reads the result where that can do it.
//
// The package knows neither memory nor devices. Package memplan decides when
// each step runs over which rows and where the rows live; package exec runs it.
package fuse

import (
	"slices"

	"enhance/model"
)

// Kind is what a step computes.
type Kind uint8

const (
	// Conv is a k×k convolution over the concatenation of Src, padded as Program.Pad says,
	// with bias, activation and residual.
	Conv Kind = iota
	// MaxPool is the 2×2 maximum.
	MaxPool
	// Upsample is bilinear ×2.
	Upsample
	// Pointwise is act(affine(src)) + residual.
	Pointwise
	// Shuffle is the pixel shuffle by two.
	Shuffle
	// RowStats writes, for every row and channel of Src, the mean and the sum of
	// squared deviations.
	RowStats
	// Affine merges all rows of statistics into a scale and a shift per channel.
	Affine
	// Apply is the operation of Node, whose sources are its operands: see apply.go.
	Apply
	// RowReduce writes, for every row and channel of Src, what Node's Reduce makes of it
	// (the sum for a mean, the sum of powers for ReduceLP), and a zero.
	RowReduce
	// Merge makes the one sample of every channel from all rows of RowReduce.
	Merge
	// Unpack makes the network's planes of stored samples: see TakeSamples.
	Unpack
	// Cells sums the light of cells, Colours makes of these sums the colour around each cell,
	// Render makes display light or codes of a network's light, and Sharpen codes of display
	// light: see MakePicture.
	Cells
	Colours
	Render
	Sharpen
	// Convert stores planes as octets or split: see StoreOctets and StorePairs.
	Convert
)

var kindNames = [...]string{"conv", "max_pool", "upsample", "pointwise", "shuffle", "row_stats", "affine", "apply", "row_reduce", "merge",
	"unpack", "cells", "colours", "render", "sharpen", "convert"}

// Summarises reports whether a step writes a few numbers for each row that it reads.
func (k Kind) Summarises() bool { return k == RowStats || k == RowReduce }

// Waits reports whether a step needs all rows of such numbers.
func (k Kind) Waits() bool { return k == Affine || k == Merge }

func (k Kind) String() string { return kindNames[k] }

// Act is the activation of a step, before its residual is added or, if Step.ResFirst, behind it.
type Act uint8

const (
	NoAct Act = iota
	LeakyReLU
	Sigmoid
	// The others are of convolutions alone.
	PReLU     // a leaky ReLU with the slope of its channel, Step.Slopes
	Clipped   // min(max(x, 0), Slope)
	HardSwish // x·min(max(x/6 + 1/2, 0), 1)
	SiLU      // x/(1+e^-x)
	GELU      // x·(1+erf(x/√2))/2
	Tanh
	acts // their number
)

// Acts is the number of activations.
const Acts = int(acts)

// Storage is what a tensor's rows hold.
type Storage uint8

const (
	// Activation rows hold C channels of W samples in the plan's precision.
	Activation Storage = iota
	// Stats rows hold C means and C sums of squared deviations, float32.
	Stats
	// Scales is one row of C scales and C shifts, float32.
	Scales
	// Codes rows hold codes of 8 bits, four channels in a word: see package planar.
	Codes
	// Octets rows hold C channels of W samples of binary16, eight channels of a column together: see
	// package planar.
	Octets
	// Pairs rows hold C channels of W samples of bfloat16, two channels of a column in a word: see package planar.
	Pairs
	// Split rows hold C channels of W samples as sums of two of bfloat16, two channels in three lines of words:
	// see package planar.
	Split
	// Samples rows hold C lines of W stored samples of a mosaic, unsigned, of 16 bits.
	Samples
	// Floats rows hold C lines of W float32, as activations in that precision lie, whatever
	// the plan's is.
	Floats
	// Pixels rows hold W pixels of C codes each, unsigned, of 16 bits.
	Pixels
	// PixelBytes rows hold the same in 8 bits.
	PixelBytes
)

// Planes reports whether rows hold samples of planes, or their codes.
func (s Storage) Planes() bool {
	return s == Activation || s == Codes || s == Octets || s == Pairs || s == Split
}

// ChannelsInPair is how many channels one word of a tensor of pairs holds.
const ChannelsInPair = 2

// ChannelsInOctet is how many channels one octet of a tensor of octets holds.
const ChannelsInOctet = 8

// Tensor is a value that is stored between steps.
type Tensor struct {
	Name    string
	Storage Storage
	model.Shape
}

// View is a range of a stored tensor's channels.
type View struct{ Tensor, C0, C int }

// MaxSources is the most tensors that one step reads as a concatenation; a
// longer one is copied into a tensor of its own.
const MaxSources = 4

// None is the index of a tensor that is not there.
const None = -1

// NormSlice names the parameters that apply to channels [C0, C0+C) of an Affine step.
type NormSlice struct {
	C0, C        int
	Weight, Bias string
	Eps          float32
	// Together is how many channels have mean and variance in common, of an Affine step with one
	// slice; 0: every channel has its own.
	Together int
}

// Step is one fused operation. It writes rows [y0,y1) of Dst whenever the plan says so.
type Step struct {
	Name string
	Kind Kind
	Src  []View // Conv: concatenated along the channels; Apply: the operands; other kinds: exactly one
	Dst  View

	// Conv, Pointwise, Upsample: residual, added after the activation, or before it if ResFirst, which
	// Conv alone has; Tensor == None if absent.
	Res      View
	ResFirst bool
	// Pointwise, and Conv with one source (see Absorb): the Scales tensor applied
	// first (its channels are those of Src's tensor), or None.
	Affine int
	// Conv: what is applied to the source after that.
	Pre      Act
	PreSlope float32

	K            int // Conv; 0 if Node says its window
	Weight, Bias string
	// Conv of codes (see model.OpQuantConv): the factors of its outputs, "" if it is none. Its
	// source is one tensor of codes, which the OpQuantize From made, as is that of an OpDequantize; or of samples, of
	// which it makes these codes itself (see CodesInside).
	Factors string
	From    *model.Node
	Inner   *Inner // Conv of codes that it makes itself: the convolution before it, nil if there is none
	// Conv of codes whose destination is codes: the OpQuantize that makes them of what would be stored.
	Store        *model.Node
	Act          Act
	Slope        float32 // LeakyReLU, Clipped
	Slopes       string  // PReLU: the parameter
	AlignCorners bool    // Upsample
	Norm         []NormSlice

	Node          *model.Node // Apply, RowReduce, Merge, Conv with K 0: the operation; what it says of channels is of its whole value
	Rows, Columns []model.Tap // Apply of OpResize
	// Apply of OpRearrange: how channels, rows and columns are made, and which rows of which (see
	// model.Rearrange).
	Moves             [3][]model.Move
	BlockIn, BlockOut int
	Picture           *Picture // Cells, Colours, Render, Sharpen
}

// Program is a fused network at one size: steps in an order in which they can
// run, and the tensors they read and write.
type Program struct {
	Tensors []Tensor
	Steps   []Step
	Input   int // tensor the host fills
	Output  int // tensor the host reads
	// Pad is what convolutions read outside a plane: all of one program do so alike, as
	// whoever makes a row also stores what lies beside it (see package planar).
	Pad model.PadMode
}

// Reads lists the tensors a step reads, each once.
func (s *Step) Reads() []int {
	var ts []int
	note := func(t int) {
		if t != None && !slices.Contains(ts, t) {
			ts = append(ts, t)
		}
	}
	for _, v := range s.Src {
		note(v.Tensor)
	}
	note(s.Res.Tensor)
	note(s.Affine)
	return ts
}

// FLOPs counts two operations per multiply-add of a convolution over rows rows
// of its output; other kinds count nothing.
func (p *Program) FLOPs(s *Step, rows int) int64 {
	if s.Windowed() {
		w := s.Node.Window
		return 2 * int64(w.KH*w.KW) * int64(s.Src[0].C/s.Node.Groups) * int64(s.Dst.C) * int64(rows) * int64(p.Tensors[s.Dst.Tensor].W)
	}
	if s.Kind != Conv {
		return 0
	}
	var c int
	for _, v := range s.Src {
		c += v.C
	}
	products := int64(s.K*s.K) * int64(c) * int64(s.Dst.C)
	if in := s.Inner; in != nil {
		products = int64(in.K*in.K)*int64(c)*int64(in.C) + int64(s.K*s.K)*int64(in.C)*int64(s.Dst.C)
	}
	return 2 * products * int64(rows) * int64(p.Tensors[s.Dst.Tensor].W)
}

// reach is how many rows of its source a convolution reads on either side of the row that it makes.
func (s *Step) reach() int {
	if s.Inner != nil {
		return s.K/2 + s.Inner.K/2
	}
	return s.K / 2
}

// Integer reports whether the step is a convolution of codes.
func (s *Step) Integer() bool { return s.Factors != "" }

// Selectable reports whether the step is a convolution for which there are several algorithms.
func (s *Step) Selectable() bool { return s.Kind == Conv && !s.Windowed() && !s.Integer() }

// Windowed reports whether the step is a convolution by the window of its Node.
func (s *Step) Windowed() bool { return s.Kind == Conv && s.K == 0 }

// InPlace reports whether the step writes every sample where it read it, so that
// its destination may take over its source's storage.
func (s *Step) InPlace() bool {
	return s.Kind == Pointwise && s.Src[0].C0 == s.Dst.C0
}
