package mma

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/internal/planar"
)

//go:embed probe.cl
var probeCL string

// Probe reports whether the device of ctx has matrix units, asynchronous copies and the
// local memory that the kernels of this package use. It asks the compiler and the device, by building and
// running a kernel and checking what it computes; its buffers are released
// before it returns. Devices whose compiler is not NVIDIA's are not asked: inline
// PTX is more than other compilers can be trusted to refuse in good order. What the compiler
// or the device refuses is an answer; any other failure is an error, since without matrix units the
// same photo gets other bytes.
func Probe(ctx *clrt.Context) (bool, error) {
	info := ctx.Device().Info()
	if info.Type != clrt.GPU || !info.HasExtension("cl_nv_compiler_options") {
		return false, nil
	}
	in, want := probeData()
	got, err := runProbe(ctx, probeSource(), in, len(want)*4)
	if err != nil {
		return false, unlessRefused(err)
	}
	for i, w := range want {
		if math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])) != w {
			return false, nil
		}
	}
	return true, nil
}

// unlessRefused is nil if the device has no such units, and err otherwise.
func unlessRefused(err error) error {
	if clrt.Refused(err) {
		return nil
	}
	return fmt.Errorf("asking for matrix units: %w", err)
}

// probedLocal is how many bytes of local memory kernels of samples may use, where the device has more than OpenCL says.
const probedLocal = 64 << 10

func probeSource() string {
	return fmt.Sprintf("%s#define LOCAL_WORDS %d\n%s", instructionsCL, max(probedLocal, codesLocal)/4, probeCL)
}

func runProbe(ctx *clrt.Context, source string, in []byte, n int) (out []byte, err error) {
	prog, err := ctx.Build(source, "-cl-std=CL1.2")
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	k, err := prog.Kernel("conv_mma_probe")
	if err != nil {
		return nil, err
	}
	defer k.Close()
	q, err := ctx.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	src, err := ctx.NewBuffer(int64(len(in)), "probing matrix units")
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dst, err := ctx.NewBuffer(int64(n), "probing matrix units")
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	if err := q.Write(src, 0, in); err != nil {
		return nil, err
	}
	if err := k.SetArgs(src, dst); err != nil {
		return nil, err
	}
	if err := q.LaunchQuiet(k, []int{32}, []int{32}); err != nil {
		return nil, err
	}
	out = make([]byte, n)
	return out, q.Read(dst, 0, out)
}

// probeData gives the registers of the probe's fragments, twenty for each lane,
// and the sums that it must leave in four for each. All of them are exact.
func probeData() (in []byte, want []float32) {
	left := func(row, k int) float32 { return float32((row*7+k*3)%11 - 5) }
	right := func(k, col int) float32 { return float32((k*5+col*2)%7 - 3) }
	weight := func(row, k int) int { return (row*29+k*37)%256 - 128 }
	code := func(k, col int) int { return (k*53 + col*91) % 256 }
	four := func(of func(row, k int) int, row, k int) (word uint32) {
		for b := range 4 {
			word |= uint32(uint8(of(row, k+b))) << (8 * b)
		}
		return word
	}
	half := func(lo, hi float32) uint32 { return uint32(planar.Half(lo)) | uint32(planar.Half(hi))<<16 }
	for lane := range 32 {
		g, t := lane/4, lane%4
		words := []uint32{
			half(left(g, 2*t), left(g, 2*t+1)), half(left(g+8, 2*t), left(g+8, 2*t+1)),
			half(left(g, 2*t+8), left(g, 2*t+9)), half(left(g+8, 2*t+8), left(g+8, 2*t+9)),
			half(right(2*t, g), right(2*t+1, g)), half(right(2*t+8, g), right(2*t+9, g)),
		}
		for _, v := range []float32{left(g, t), left(g+8, t), left(g, t+4), left(g+8, t+4), right(t, g), right(t+4, g)} {
			words = append(words, math.Float32bits(v))
		}
		for _, k := range []int{4 * t, 4*t + 16} {
			words = append(words, four(weight, g, k), four(weight, g+8, k))
		}
		column := func(col, k int) int { return code(k, col) }
		words = append(words, four(column, g, 4*t), four(column, g, 4*t+16), 0, 0)
		for _, w := range words {
			in = binary.LittleEndian.AppendUint32(in, w)
		}
		for i := range 4 {
			row, col, sum := g+i/2*8, 2*t+i%2, float32(0)
			for k := range 16 {
				sum += left(row, k) * right(k, col)
			}
			for k := range 8 {
				sum += left(row, k) * right(k, col)
			}
			for k := range 32 {
				sum += float32(weight(row, k) * code(k, col))
			}
			for k := range 16 {
				sum += float32(weight(row, k) * code(k, col))
			}
			want = append(want, sum)
		}
	}
	return in, want
}
