// Package conv holds the convolution algorithms that run on OpenCL devices, and
// in conv/ops the other steps of a network.
//
// An [Algo] says whether it can do a [Shape] on a device ([Caps]) and gives an
// [Impl] for it: the kernel sources to compile, the weights in the order the
// kernels want, the scratch and row granule the planner must respect, and the
// launch. What an algorithm computes for an output depends on the shape alone,
// never on which rows a launch covers: that is what lets the planner cut a
// picture anywhere.
//
// Kernels are .cl files beside the Go code that launches them; each opens with
// its purpose, its layouts and the definitions it expects.
package conv

import (
	"fmt"
	"math"
	"strings"

	"enhance/clrt"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
	"enhance/model"
)

// MaxSources is how many tensors a convolution reads as one concatenation.
const MaxSources = fuse.MaxSources

// Caps is what algorithms need to know of a device.
type Caps struct {
	CPU          bool // one work-item per core: no local memory, explicit vectors
	Vector       int  // float32 lanes of the native vector
	Cores        int  // compute units
	LocalMem     int64
	MaxWorkGroup int
	MaxAlloc     int64 // bytes of the largest buffer; 0: not known

	// Plain says that the device's compiler takes minutes for kernels with many
	// accumulators and unrolled loops, so that only the plain algorithm is for it.
	Plain bool

	Units
}

// Units are arithmetic units that some devices have. A device and its compiler are asked for each by trying it.
type Units struct {
	Matrix    bool // matrix units of GPUs, for package conv/mma (see mma.Probe)
	Warpgroup bool // Hopper's, for conv/wgmma (see wgmma.Probe)
	Octets    bool // the same, for conv/octets: activations may be octets
	Tiles     bool // tile registers of CPUs, for conv/amx (see amx.Probe)
	VNNI      bool // a CPU's VPDPBUSD (see ProbeVNNI)
	Pairs     bool // a CPU's VDPBF16PS (see ProbePairs)
}

// Arithmetic is how numbers are stored and multiplied, as the user wants it.
type Arithmetic struct {
	Precision planar.Precision // of storage
	// TF32 says that tf32 products of matrix units may stand in for float32 ones.
	TF32 bool
}

// String is "fp32", "tf32" or "fp16". Findings of tuning for one hold for none of the
// others.
func (a Arithmetic) String() string {
	if a.TF32 {
		return "tf32"
	}
	return a.Precision.String()
}

// CapsOf reads them off a device.
func CapsOf(i *clrt.DeviceInfo) Caps {
	return Caps{CPU: i.Type == clrt.CPU, Vector: i.NativeVectorFloat, Cores: i.ComputeUnits, LocalMem: i.LocalMem, MaxWorkGroup: i.MaxWorkGroup,
		MaxAlloc: i.MaxAlloc, Plain: SlowCompiler(i)}
}

// SlowCompiler reports whether a device's compiler takes minutes for large kernels:
// Mesa's Rusticl on processors (llvmpipe, Mesa 22.3: over 100 s for one kernel of direct-rows,
// 2 s for one of direct-naive). The list is by name, not by measured time, as the
// algorithm decides bytes of the picture.
func SlowCompiler(i *clrt.DeviceInfo) bool {
	return i.Type == clrt.CPU && strings.EqualFold(i.Platform, "rusticl")
}

// Shape is a convolution: a square kernel of side K over the concatenation of
// sources with SrcC channels, to OutC channels of an H×W plane.
type Shape struct {
	K    int
	SrcC []int
	OutC int
	H, W int
	Act  fuse.Act
	// ResFirst says that the residual is added before the activation.
	ResFirst bool
	// NoResidual says that there is none. Where it does not, there may be one.
	NoResidual bool
	// Pad is what lies outside a plane. The program is compiled for it (see ProgramSource), so
	// that algorithms care only if they pad themselves.
	Pad model.PadMode
	// Window, if not nil, is the kernel instead of K, which is 0 then.
	Window *Window
	// Codes says that the source is codes of 8 bits (see planar), and Store that the destination is.
	// The residual is of samples.
	Codes, Store bool
	// Octets says that all sources are octets (see planar), each but the last a multiple of eight channels, and
	// OctetsOut that destination and residual are; elsewhere they are planes. With Codes, too, the convolution is of
	// codes that it makes of octets of samples itself.
	Octets, OctetsOut bool
	// Pairs says that the source is pairs of bfloat16, or Split samples (see planar), and PairsOut that destination
	// and residual are pairs; elsewhere they are planes of float32.
	Pairs, PairsOut, Split bool
	// Inner, if not nil, is a convolution of codes before this one, which reads its codes. These are never
	// stored. The sources are the inner one's.
	Inner *Inner
}

// Inner is what a Shape says of its inner convolution, of the same pad: its kernel's side, its outputs and its activation.
type Inner struct {
	K, OutC int
	Act     fuse.Act
}

// Window is a kernel of any sides, strides, dilations, pads and groups over one source with
// planes of SrcH×SrcW. Pad is what lies outside these, whatever the program pads.
type Window struct {
	model.Window
	Groups     int
	SrcH, SrcW int
	Pad        model.PadMode
}

// InC is the number of channels read.
func (s Shape) InC() int {
	n := 0
	for _, c := range s.SrcC {
		n += c
	}
	return n
}

// FLOPs counts two operations per multiply-add of the direct sum.
func (s Shape) FLOPs() float64 {
	if w := s.Window; w != nil {
		return 2 * float64(w.KH*w.KW) * float64(s.InC()/w.Groups) * float64(s.OutC) * float64(s.H) * float64(s.W)
	}
	if in := s.Inner; in != nil {
		return 2 * (float64(in.K*in.K)*float64(s.InC()) + float64(s.K*s.K)*float64(s.OutC)) * float64(in.OutC) * float64(s.H) * float64(s.W)
	}
	return 2 * float64(s.K*s.K) * float64(s.InC()) * float64(s.OutC) * float64(s.H) * float64(s.W)
}

func (s Shape) String() string { return fmt.Sprintf("%d,%d,%d,%d,%d", s.InC(), s.H, s.W, s.K, s.OutC) }

// Args is one launch: rows [Y0,Y1) of Dst.
type Args struct {
	Src     []planar.Ring
	Dst     planar.Ring
	Res     planar.Ring // Buf nil if there is no residual
	Y0, Y1  int
	Slope   float32 // of the leaky ReLU, or as [SlopesAt] says
	Scratch *clrt.Buffer

	// Of a Scaling implementation: scales of the source's channels, and the slope
	// of what is applied after them.
	Scales   planar.Ring
	PreSlope float32

	// Of shapes with Codes: what made the source's, or makes them of octets, and what makes the destination's.
	Zero, Store Quantizer
	// Of shapes with Inner: what makes its codes, and the slope of its activation.
	Between    Quantizer
	InnerSlope float32
}

// SlopesAt is the Args.Slope of shapes with PReLU: the slopes of the outputs are in packed from
// index at on.
func SlopesAt(at int) float32 { return math.Float32frombits(uint32(at)) }

// Kernel is a kernel's name and its source text, without the prelude.
type Kernel struct{ Name, Source string }

// Algo is a way to compute convolutions.
type Algo interface {
	Name() string
	// New returns the algorithm for one shape, or an error that says what it
	// cannot do.
	New(Caps, Shape, planar.Precision) (Impl, error)
}

// Impl is an algorithm for one shape on one device.
type Impl interface {
	Kernels() []Kernel
	// Pack lays out weights (OutC×InC×K×K, row-major) and bias (OutC) as the
	// kernels read them; the result has PackedLen values.
	Pack(weights, bias []float32) []float32
	PackedLen() int
	// Granule is the number of rows launches must start at multiples of.
	Granule() int
	// Scratch is the device memory in bytes that a launch of rows rows uses.
	Scratch(rows int) int64
	// Launch enqueues the convolution; k are the compiled Kernels, packed what
	// Pack returned.
	Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error
}

// Dividing is an Impl whose launches take what scratch they are given and divide their
// work where that is less than Scratch, with the same result.
type Dividing interface {
	Impl
	// LessScratch lists sizes that launches of any height work with, from the fastest to the
	// least. A launch works with every size down to the last, and no slower than with
	// the next smaller one of these.
	LessScratch() []int64
}

// Sharing is an Impl whose work-groups share out the tiles of a launch evenly: a launch lasts as
// long as the largest share.
type Sharing interface {
	Impl
	// Shared is the number of rows that a busy device makes in the time that a launch over rows of them takes.
	Shared(rows int) float64
}

// Grouping is an Impl whose outputs can be made some at a time, so that fewer parameters
// are needed at a time.
type Grouping interface {
	Impl
	// Group is the convolution of the same sources to outs of the outputs, to the bit as the
	// whole makes them.
	Group(outs int) (Impl, error)
}

// Scaling is an Impl for one source that can take in a norm before it.
type Scaling interface {
	Impl
	// Scaled is the same convolution of pre(x·scale + shift), with Args.Scales, in
	// place of every sample x of the source, to the bit as if that had been stored.
	// It is nil if that would not pay.
	Scaled(pre fuse.Act) Impl
}

// Summing is an Impl that can take the statistics of instance norm along.
type Summing interface {
	Impl
	// Summed is the same convolution, whose launches also leave statistics of
	// tiles of their rows, before rounding to the storage, at the start of
	// Scratch. It has neither activation nor residual.
	Summed() (Impl, StatsTile)
}

// StatsTile is the size of the tiles that an output is divided into for partial statistics:
// Rows × Columns samples, from row 0 and column 0 on; the last ones
// have what remains. The statistics of a launch, whose rows start at a multiple
// of Rows and end at one or at the plane's end, are
//
//	[row of tiles][tile][mean, sum of squared deviations from it][output]
//
// in float32.
type StatsTile struct{ Rows, Columns int }

// Bytes is the size of the statistics of rows rows of a shape.
func (t StatsTile) Bytes(s Shape, rows int) int64 {
	down, across := (rows+t.Rows-1)/t.Rows, (s.W+t.Columns-1)/t.Columns
	return int64(down) * int64(across) * 2 * int64(s.OutC) * 4
}

// Direct is the direct algorithm of the device's kind. It does every shape, on GPUs
// whose work-groups and local memory hold a tile; see [Tile].
func Direct(c Caps) Algo {
	if c.Plain {
		return Simple{}
	}
	if c.CPU {
		return Rows{}
	}
	return Tile{}
}

// block packs weights as [block][channel][k][k][lanes] followed by the bias as
// [block][lanes], absent outputs zero.
func block(s Shape, lanes int, weights, bias []float32) []float32 {
	blocks, inC, kk := (s.OutC+lanes-1)/lanes, s.InC(), s.K*s.K
	out := make([]float32, blocks*lanes*(inC*kk+1))
	for o := range s.OutC {
		b, lane := o/lanes, o%lanes
		for i := range inC * kk {
			out[(b*inC*kk+i)*lanes+lane] = weights[o*inC*kk+i]
		}
		out[blocks*lanes*inC*kk+o] = bias[o]
	}
	return out
}

// define puts macro definitions before a kernel text and removes them after it.
func define(text string, defs ...any) string { return kerneltext.Define(text, defs...) }
