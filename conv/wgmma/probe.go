package wgmma

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// probed is the convolution that Probe tries, by probedVariant: several stages, two
// rows in M, patches that are fetched ahead.
var (
	probed        = conv.Shape{K: 3, SrcC: []int{15, 9}, OutC: 32, H: 12, W: 21}
	probedVariant = variant{block: 2, buffers: 2, piece: 1, slots: 3}
)

// Probe reports whether the kernels of this package run on the device of ctx. It
// asks the compiler what it compiles for, and then the device, by a small
// convolution of whole numbers whose result must be exact. Its memory is released
// before it returns. Devices whose compiler is not NVIDIA's are not asked. Errors are those of
// mma.Probe.
func Probe(ctx *clrt.Context) (bool, error) {
	info := ctx.Device().Info()
	if info.Type != clrt.GPU || !info.HasExtension("cl_nv_compiler_options") {
		return false, nil
	}
	var got, want []float32
	hopper, err := forHopper(ctx)
	if hopper {
		got, want, err = probe(ctx, algo{&probedVariant})
	}
	switch {
	case clrt.Refused(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("asking for Hopper's matrix units: %w", err)
	}
	return hopper && slices.Equal(got, want), nil
}

// Likely reports whether the device is one that Probe is expected to find right.
func Likely(ctx *clrt.Context) bool {
	info := ctx.Device().Info()
	if info.Type != clrt.GPU || !info.HasExtension("cl_nv_compiler_options") {
		return false
	}
	hopper, err := forHopper(ctx)
	return err == nil && hopper
}

// forHopper reports whether the compiler makes programs for Hopper GPUs. To find
// that out by the kernels themselves would take a second on every other GPU.
func forHopper(ctx *clrt.Context) (bool, error) {
	prog, err := ctx.Build("__kernel void conv_wgmma_asks(__global int *a) { *a = 0; }", "-cl-std=CL1.2")
	if err != nil {
		return false, err
	}
	defer prog.Close()
	text, err := prog.Binary()
	return err == nil && bytes.Contains(text, []byte(".target sm_90")), err
}

// probe runs the convolution and gives its outputs, row by row, and what they have to be.
func probe(ctx *clrt.Context, a conv.Algo) (got, want []float32, err error) {
	caps := conv.CapsOf(ctx.Device().Info())
	caps.Warpgroup = true // or so it will show
	made, err := a.New(caps, probed, planar.FP16)
	if err != nil {
		return nil, nil, err
	}
	prog, err := ctx.Build(conv.ProgramSource(made, planar.FP16, conv.Shape{}), conv.BuildOptions)
	if err != nil {
		return nil, nil, err
	}
	defer prog.Close()
	kern, err := prog.Kernel(made.Kernels()[0].Name)
	if err != nil {
		return nil, nil, err
	}
	defer kern.Close()
	q, err := ctx.NewQueue()
	if err != nil {
		return nil, nil, err
	}
	defer q.Close()

	input, weights, bias := probeData()
	got, err = probeRun(ctx, q, made, kern, input, made.Pack(weights, bias))
	return got, probeSums(input, weights, bias), err
}

// probeRun launches the convolution and gives its outputs, row by row.
func probeRun(ctx *clrt.Context, q *clrt.Queue, made conv.Impl, kern *clrt.Kernel, input func(c, y, x int) float32, weights []float32) (got []float32, err error) {
	args := &conv.Args{Y1: probed.H}
	first := 0
	for _, c := range probed.SrcC {
		from := first
		src, err := probeRing(ctx, q, c, func(i, y, x int) float32 { return input(from+i, y, x) })
		if err != nil {
			return nil, err
		}
		defer src.Buf.Close()
		args.Src = append(args.Src, src)
		first += c
	}
	dst, err := probeRing(ctx, q, probed.OutC, func(int, int, int) float32 { return 0 })
	if err != nil {
		return nil, err
	}
	defer dst.Buf.Close()
	packed, err := floats(ctx, q, weights)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	args.Dst = dst
	if err := made.Launch(q, []*clrt.Kernel{kern}, packed, args); err != nil {
		return nil, err
	}
	raw := make([]byte, dst.Buf.Size())
	if err := q.Read(dst.Buf, 0, raw); err != nil {
		return nil, err
	}
	for y := range probed.H {
		for o := range probed.OutC {
			line := raw[2*((y*probed.OutC+o)*dst.Pitch+planar.Pad):]
			for x := range probed.W {
				got = append(got, planar.Float(binary.LittleEndian.Uint16(line[2*x:])))
			}
		}
	}
	return got, nil
}

// probeData gives whole numbers, few and small, so that every sum is a binary16.
func probeData() (input func(c, y, x int) float32, weights, bias []float32) {
	input = func(c, y, x int) float32 { return float32((c*5+y*4+x*7+x*y)%3 - 1) }
	for i := range probed.OutC * probed.InC() * probed.K * probed.K {
		weights = append(weights, float32((i*i/7+i*11)%3-1))
	}
	for o := range probed.OutC {
		bias = append(bias, float32(o%9-4))
	}
	return input, weights, bias
}

// probeSums are the outputs by the definition, row by row.
func probeSums(input func(c, y, x int) float32, weights, bias []float32) []float32 {
	k, inC, h, w := probed.K, probed.InC(), probed.H, probed.W
	sums := make([]float32, 0, h*probed.OutC*w)
	line := make([]float32, w+k-1)
	for y := range h {
		row := make([]float32, probed.OutC*w)
		for o := range probed.OutC {
			for x := range w {
				row[o*w+x] = bias[o]
			}
		}
		for i := range inC * k {
			c, ky := i/k, i%k
			for x := range line {
				line[x] = input(c, fuse.Reflect(y+ky-k/2, h), fuse.Reflect(x-k/2, w))
			}
			for o := range probed.OutC {
				taps := weights[((o*inC+c)*k+ky)*k:][:k]
				for x := range w {
					for kx, t := range taps {
						row[o*w+x] += t * line[x+kx]
					}
				}
			}
		}
		sums = append(sums, row...)
	}
	return sums
}

// probeRing puts a tensor of c channels on the device.
func probeRing(ctx *clrt.Context, q *clrt.Queue, c int, at func(c, y, x int) float32) (planar.Ring, error) {
	t := fuse.Tensor{Shape: model.Shape{C: c, H: probed.H, W: probed.W}}
	raw := make([]byte, planar.RowBytes(t, planar.FP16)*int64(t.H)+planar.RimBytes(t, planar.FP16))
	pitch := planar.Pitch(t.W)
	for y := range t.H {
		for i := range c {
			line := raw[2*(y*c+i)*pitch:]
			for x := -planar.Rim; x < t.W+planar.Rim; x++ {
				binary.LittleEndian.PutUint16(line[2*(planar.Pad+x):], planar.Half(at(i, y, fuse.Reflect(x, t.W))))
			}
		}
	}
	buf, err := written(ctx, q, raw)
	if err != nil {
		return planar.Ring{}, err
	}
	return planar.NewRing(buf, 0, t, t.H), nil
}

func floats(ctx *clrt.Context, q *clrt.Queue, v []float32) (*clrt.Buffer, error) {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return written(ctx, q, raw)
}

func written(ctx *clrt.Context, q *clrt.Queue, raw []byte) (*clrt.Buffer, error) {
	buf, err := ctx.NewBuffer(int64(len(raw)), "probing matrix units")
	if err != nil {
		return nil, err
	}
	if err := q.Write(buf, 0, raw); err != nil {
		buf.Close()
		return nil, err
	}
	return buf, nil
}
