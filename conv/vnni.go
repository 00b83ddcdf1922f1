package conv

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/cpu"

	"enhance/clrt"
)

//go:embed codes_probe.cl
var codesProbeCL string

// ProbeVNNI reports whether a CPU device multiplies bytes by VPDPBUSD as [DirectCodes] has it: whether the processor
// has it, PoCL's compiler takes it in inline assembly, and the sums are right. A compiler that does not know an instruction may end its
// process: so one of compiler's processes tries it first, and without a compiler the answer is no. (Results are the same with and without it.)
func ProbeVNNI(ctx *clrt.Context, compiler clrt.Compiler) (bool, error) {
	dev := ctx.Device()
	i := dev.Info()
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
	source := define(codesProbeCL, "V", vector, "FORM", form)
	if !dev.Cached(source, BuildOptions) {
		compiled, done := compiler.Compile(dev, source, BuildOptions)
		done()
		if compiled == nil || !dev.Cached(source, BuildOptions) { // this process is not to compile it
			return false, nil
		}
	}
	right, err := runVNNI(ctx, source, vector)
	if clrt.Refused(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for VPDPBUSD: %w", err)
	}
	return right, nil
}

// runVNNI runs the probe and compares its sums, which are beyond 16 bits.
func runVNNI(ctx *clrt.Context, source string, vector int) (right bool, err error) {
	prog, err := ctx.Build(source, BuildOptions)
	if err != nil {
		return false, err
	}
	defer prog.Close()
	k, err := prog.Kernel("conv_codes_probe")
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
	var data [3][]byte
	want := make([]int32, vector)
	for lane := range vector {
		for b := range 4 {
			x, w := uint8(255-lane*b), int8(127-9*lane*b%255)
			data[0], data[1] = append(data[0], x), append(data[1], uint8(w))
			want[lane] += int32(x) * int32(w)
		}
		data[2] = binary.LittleEndian.AppendUint32(data[2], uint32(lane))
		want[lane] += int32(lane)
	}
	for n := range bufs {
		if bufs[n], err = ctx.NewBuffer(int64(4*vector), "probing VPDPBUSD"); err != nil {
			return false, err
		}
		defer bufs[n].Close()
		if err := q.Write(bufs[n], 0, data[n]); err != nil {
			return false, err
		}
	}
	if err := k.SetArgs(bufs[0], bufs[1], bufs[2]); err != nil {
		return false, err
	}
	if err := q.LaunchQuiet(k, []int{1}, []int{1}); err != nil {
		return false, err
	}
	if err := q.Read(bufs[2], 0, data[2]); err != nil {
		return false, err
	}
	for lane, sum := range want {
		if int32(binary.LittleEndian.Uint32(data[2][4*lane:])) != sum {
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
