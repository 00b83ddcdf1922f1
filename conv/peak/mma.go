package peak

import (
	_ "embed"
	"errors"

	"enhance/clrt"
)

//go:embed mma.cl
var mmaText string

const (
	mmaChains = 8   // as in mma.cl
	mmaGroup  = 256 // work-items of a group, eight warps
)

// MMA returns what the matrix units of an NVIDIA GPU do out of registers, in 10^9
// floating-point operations a second: m16n8k16 products of binary16, or m16n8k8 of
// tf32. Ask only where package conv/mma finds such units: other compilers may do
// anything with inline PTX.
func MMA(ctx *clrt.Context, tf32 bool) (gflops float64, err error) {
	src, each := mmaText, 2.0*16*8*16
	if tf32 {
		src, each = "#define TF32\n"+mmaText, 2*16*8*8
	}
	m := &meter{ctx: ctx}
	defer func() { err = errors.Join(err, m.close()) }()
	prog, err := ctx.Build(src, "-cl-std=CL1.2")
	if err != nil {
		return 0, err
	}
	defer prog.Close()
	if m.kernel, err = prog.Kernel("peak_mma"); err != nil {
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
		if err := m.kernel.SetArgs(out, int32(turns), uint32(0x3c003c00)); err != nil {
			return 0, err
		}
		ns, err := m.best([]int{groups * mmaGroup}, []int{mmaGroup})
		if err != nil {
			return 0, err
		}
		if ns >= enough || turns >= 1<<24 {
			return each * mmaChains * float64(turns) * float64(groups*mmaGroup/32) / ns, nil
		}
	}
}
