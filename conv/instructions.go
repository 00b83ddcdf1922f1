package conv

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"golang.org/x/sys/cpu"

	"enhance/clrt"
	"enhance/internal/planar"
)

//go:embed codes_probe.cl
var codesProbeCL string

// ProbeVNNI reports whether a CPU device multiplies bytes by VPDPBUSD as [DirectCodes] has it: whether the
// processor has it, PoCL's compiler takes it in inline assembly, and the sums are right. A compiler that does
// not know an instruction may end its process: so one of compiler's processes tries it first, and without a
// compiler the answer is no. (Results are the same with and without it.)
func ProbeVNNI(ctx *clrt.Context, compiler clrt.Compiler) (bool, error) {
	i := ctx.Device().Info()
	vector, has := vectorOf(CapsOf(i)), cpu.X86.HasAVX512VNNI
	if vector == 8 {
		has = cpu.X86.HasAVXVNNI
	}
	if i.Type != clrt.CPU || !has || compiler == nil || !strings.Contains(i.Platform, "Portable Computing Language") {
		return false, nil
	}
	form := `""`
	if vector == 8 {
		form = `"%{vex%} "`
	}
	return probeInstruction(ctx, compiler, define(codesProbeCL, "V", vector, "FORM", form), "VPDPBUSD", vnniData(vector))
}

//go:embed pairs_probe.cl
var pairsProbeCL string

// ProbePairs is ProbeVNNI for VDPBF16PS, as [DirectPairs] has it.
func ProbePairs(ctx *clrt.Context, compiler clrt.Compiler) (bool, error) {
	i := ctx.Device().Info()
	if i.Type != clrt.CPU || !cpu.X86.HasAVX512BF16 || vectorOf(CapsOf(i)) != 16 || compiler == nil || !strings.Contains(i.Platform, "Portable Computing Language") {
		return false, nil
	}
	return probeInstruction(ctx, compiler, pairsProbeCL, "VDPBF16PS", pairsData())
}

// probeInstruction compiles the probe of an instruction by a child and runs it.
func probeInstruction(ctx *clrt.Context, compiler clrt.Compiler, source, name string, d probeData) (bool, error) {
	dev := ctx.Device()
	if !dev.Cached(source, BuildOptions) {
		compiled, done := compiler.Compile(dev, source, BuildOptions)
		done()
		if compiled == nil || !dev.Cached(source, BuildOptions) { // this process is not to compile it
			return false, nil
		}
	}
	right, err := d.run(ctx, source)
	if clrt.Refused(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for %s: %w", name, err)
	}
	return right, nil
}

// probeData are the words that a probe multiplies and adds to, and those that the sums must be.
type probeData struct{ x, w, sums, want []uint32 }

// vnniData has sums beyond 16 bits.
func vnniData(vector int) (d probeData) {
	for lane := range vector {
		var x, w uint32
		sum := int32(lane)
		for b := range 4 {
			code, weight := uint8(255-lane*b), int8(127-9*lane*b%255)
			x, w = x|uint32(code)<<(8*b), w|uint32(uint8(weight))<<(8*b)
			sum += int32(code) * int32(weight)
		}
		d.x, d.w, d.sums, d.want = append(d.x, x), append(d.w, w), append(d.sums, uint32(lane)), append(d.want, uint32(sum))
	}
	return d
}

// pairsData are of small whole numbers, whose sums are exact.
func pairsData() (d probeData) {
	for lane := range 16 {
		n := float32(lane)
		pair := func(even, odd float32) uint32 { return uint32(planar.BFloat(even)) | uint32(planar.BFloat(odd))<<16 }
		d.x, d.w = append(d.x, pair(n+1, 3-n)), append(d.w, pair(7, -n))
		d.sums, d.want = append(d.sums, math.Float32bits(n/4)), append(d.want, math.Float32bits(n/4+7*(n+1)-n*(3-n)))
	}
	return d
}

// run runs the probe and compares its sums.
func (d probeData) run(ctx *clrt.Context, source string) (right bool, err error) {
	prog, err := ctx.Build(source, BuildOptions)
	if err != nil {
		return false, err
	}
	defer prog.Close()
	k, err := prog.Kernel("conv_probe")
	if err != nil {
		return false, err
	}
	defer k.Close()
	q, err := ctx.NewUntimedQueue()
	if err != nil {
		return false, err
	}
	defer q.Close()
	var bufs [3]*clrt.Buffer
	sums := make([]byte, 4*len(d.sums))
	for n, words := range [][]uint32{d.x, d.w, d.sums} {
		if bufs[n], err = ctx.NewBuffer(int64(len(sums)), "probing an instruction"); err != nil {
			return false, err
		}
		defer bufs[n].Close()
		raw := make([]byte, 0, len(sums))
		for _, word := range words {
			raw = binary.LittleEndian.AppendUint32(raw, word)
		}
		if err := q.Write(bufs[n], 0, raw); err != nil {
			return false, err
		}
	}
	if err := k.SetArgs(bufs[0], bufs[1], bufs[2]); err != nil {
		return false, err
	}
	if err := q.LaunchQuiet(k, []int{1}, []int{1}); err != nil {
		return false, err
	}
	if err := q.Read(bufs[2], 0, sums); err != nil {
		return false, err
	}
	for lane, sum := range d.want {
		if binary.LittleEndian.Uint32(sums[4*lane:]) != sum {
			return false, nil
		}
	}
	return true, nil
}

// vectorOf is how many words vectors of codes have on a CPU.
func vectorOf(c Caps) int {
	if c.Vector >= 16 {
		return 16
	}
	return 8
}
