package amx

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"golang.org/x/sys/cpu"

	"enhance/clrt"
	"enhance/conv"
)

//go:embed probe.cl
var probeCL string

// Probe reports whether kernels of a device may use tiles for products of bytes and of bfloat16: whether it is the processor
// under PoCL, which has them, the system permits them to this process, and a product of each kind is right. Nothing is
// executed that the processor might not know.
func Probe(ctx *clrt.Context) (bool, error) {
	i := ctx.Device().Info()
	has := cpu.X86.HasAMXTile && cpu.X86.HasAMXInt8 && cpu.X86.HasAMXBF16 && cpu.X86.HasAVX512BF16 // the last rounds pairs
	if i.Type != clrt.CPU || !has || !strings.Contains(i.Platform, "Portable Computing Language") || !permitted() {
		return false, nil
	}
	a, b, want := probeData()
	got, err := runProbe(ctx, instructionsCL+probeCL, a, b)
	if clrt.Refused(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for AMX: %w", err)
	}
	for k, w := range want {
		if got[k] != w {
			return false, nil
		}
	}
	return true, nil
}

// probeData are factors that are sums of small powers of two as bfloat16, and their products, which are exact.
func probeData() (a, b, want []uint32) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b, want = make([]uint32, 256), make([]uint32, 256), make([]uint32, 512)
	number := func() uint32 { return math.Float32bits(float32(rng.IntN(65)-32)/8) >> 16 }
	for k := range a {
		a[k], b[k] = number()|number()<<16, number()|number()<<16
	}
	for r := range tileRows {
		for c := range tileRows {
			var bytes int32
			var sum float32
			for k := range tileWords {
				x, y := a[r*tileWords+k], b[k*tileWords+c]
				for n := 0; n < 32; n += 8 {
					bytes += int32(int8(x>>n)) * int32(uint8(y>>n))
				}
				sum += math.Float32frombits(x<<16)*math.Float32frombits(y<<16) + math.Float32frombits(x&0xffff0000)*math.Float32frombits(y&0xffff0000)
			}
			want[r*tileRows+c], want[256+r*tileRows+c] = uint32(bytes), math.Float32bits(sum)
		}
	}
	return a, b, want
}

// runProbe runs the kernel and returns the sums.
func runProbe(ctx *clrt.Context, source string, in ...[]uint32) (sums []uint32, err error) {
	prog, err := ctx.Build(source, conv.BuildOptions)
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	k, err := prog.Kernel("conv_amx_probe")
	if err != nil {
		return nil, err
	}
	defer k.Close()
	q, err := ctx.NewUntimedQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var args []any
	var last *clrt.Buffer
	out := make([]byte, 4*512)
	for _, words := range append(in, make([]uint32, len(out)/4)) {
		raw, err := binary.Append(nil, binary.LittleEndian, words)
		if err != nil {
			return nil, err
		}
		if last, err = ctx.NewBuffer(int64(len(raw)), "probing AMX"); err != nil {
			return nil, err
		}
		defer last.Close()
		if err := q.Write(last, 0, raw); err != nil {
			return nil, err
		}
		args = append(args, last)
	}
	if err := k.SetArgs(args...); err != nil {
		return nil, err
	}
	if err := q.LaunchQuiet(k, []int{1}, []int{1}); err != nil {
		return nil, err
	}
	if err := q.Read(last, 0, out); err != nil {
		return nil, err
	}
	sums = make([]uint32, len(out)/4)
	_, err = binary.Decode(out, binary.LittleEndian, sums)
	return sums, err
}
