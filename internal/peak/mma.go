package peak

import (
	_ "embed"
	"errors"

	"enhance/clrt"
)

//go:embed mma.cl
var mmaText string

//go:embed wgmma.cl
var warpgroupText string

const (
	mmaChains      = 8   // as in mma.cl
	warpgroupPairs = 4   // as in wgmma.cl
	mmaGroup       = 256 // work-items of a group: eight warps, two warpgroups
)

// Factors are what matrix units multiply.
type Factors uint8

const (
	FP16  Factors = iota // m16n8k16 products of binary16
	TF32                 // m16n8k8 products of tf32
	Codes                // m16n8k32 products of integers of 8 bits
)

// MMA returns what the matrix units of an NVIDIA GPU do out of registers, in 10^9
// operations a second. Ask only where package conv/mma finds such units: other compilers may do
// anything with inline PTX.
func MMA(ctx *clrt.Context, f Factors) (gops float64, err error) {
	of := [...]struct {
		defines string
		deep    float64
	}{FP16: {"", 16}, TF32: {"#define TF32\n", 8}, Codes: {"#define CODES\n", 32}}[f]
	return products(ctx, "peak_mma", of.defines+mmaText, 2*16*8*of.deep*mmaChains*mmaGroup/32, 0x3c003c00)
}

// Warpgroup returns what the matrix units of a Hopper GPU do by its instructions for four
// warps together (wgmma), out of local memory, in 10^9 floating-point operations a
// second. Ask only where package conv/wgmma finds them.
func Warpgroup(ctx *clrt.Context) (gflops float64, err error) {
	return products(ctx, "peak_wgmma", warpgroupText, 2.0*64*128*16*warpgroupPairs*mmaGroup/128, 1)
}

// products times a kernel of src that takes a result for each work-item, a number of turns,
// and another; in each turn a group does each operations.
func products(ctx *clrt.Context, name, src string, each float64, last uint32) (gflops float64, err error) {
	m := &meter{ctx: ctx}
	defer func() { err = errors.Join(err, m.close()) }()
	prog, err := ctx.Build(src, "-cl-std=CL1.2")
	if err != nil {
		return 0, err
	}
	defer prog.Close()
	if m.kernel, err = prog.Kernel(name); err != nil {
		return 0, err
	}
	if m.q, err = ctx.NewQueue(); err != nil {
		return 0, err
	}
	groups := 8 * max(ctx.Device().Info().ComputeUnits, 1)
	out, err := m.buffer(int64(groups) * mmaGroup * 4)
	if err != nil {
		return 0, err
	}
	for turns := 1 << 8; ; turns *= 2 {
		if err := m.kernel.SetArgs(out, int32(turns), last); err != nil {
			return 0, err
		}
		ns, err := m.best([]int{groups * mmaGroup}, []int{mmaGroup})
		if err != nil {
			return 0, err
		}
		if ns >= enough || turns >= 1<<24 {
			return each * float64(turns) * float64(groups) / ns, nil
		}
	}
}
