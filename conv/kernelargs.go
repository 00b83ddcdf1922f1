package conv

import (
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/internal/planar"
)

// KernelArgs lists the arguments of a kernel. Its methods append one kind of argument
// each and are called in the order of the parameters in the .cl file:
//
//	new(KernelArgs).Sources(a).Buffer(packed).Int(biasAt).Residual(a).Ring(a.Dst).Launch(q, k, global, local)
//
// [KernelArgs.Set] holds their number and kinds against the kernel's parameters.
type KernelArgs struct {
	values []any
	err    error // of the first value that its parameter cannot hold
}

// maxKernelArgs is room for the arguments of any kernel here.
const maxKernelArgs = 32

func (l *KernelArgs) add(values ...any) *KernelArgs {
	if l.values == nil {
		l.values = make([]any, 0, maxKernelArgs)
	}
	l.values = append(l.values, values...)
	return l
}

// Sources appends buffer and ring of each of MaxSources sources, absent ones with no
// channels.
func (l *KernelArgs) Sources(a *Args) *KernelArgs {
	for i := range MaxSources {
		src := a.Src[0].Slice(0, 0)
		if i < len(a.Src) {
			src = a.Src[i]
		}
		l.Ring(src)
	}
	return l
}

// Residual appends buffer and ring of the residual. If there is none, they are the null
// pointer and the destination's ring.
func (l *KernelArgs) Residual(a *Args) *KernelArgs {
	if a.Res.Buf == nil {
		return l.add(nil, a.Dst.Arg())
	}
	return l.Ring(a.Res)
}

// Ring appends a buffer, which may be nil, and the ring_t of the rows in it.
func (l *KernelArgs) Ring(r planar.Ring) *KernelArgs { return l.add(r.Buf, r.Arg()) }

// Buffer appends a buffer, nil for the null pointer.
func (l *KernelArgs) Buffer(b *clrt.Buffer) *KernelArgs { return l.add(b) }

// Int appends values for parameters of type int.
func (l *KernelArgs) Int(values ...int) *KernelArgs {
	for _, v := range values {
		if (v < math.MinInt32 || v > math.MaxInt32) && l.err == nil {
			l.err = fmt.Errorf("conv: argument %d of a kernel is %d, more than 32 bits hold: use a smaller picture or budget", len(l.values), v)
		}
		l.add(int32(v))
	}
	return l
}

// Float appends a value for a parameter of type float.
func (l *KernelArgs) Float(v float32) *KernelArgs { return l.add(v) }

// Int4 appends values for a parameter of type int4.
func (l *KernelArgs) Int4(a, b, c, d int) *KernelArgs {
	n := len(l.values)
	l.Int(a, b, c, d) // which refuses what 32 bits do not hold
	l.values = l.values[:n]
	return l.add([4]int32{int32(a), int32(b), int32(c), int32(d)})
}

// Int8 appends a vector for a parameter of type int8.
func (l *KernelArgs) Int8(v [8]int32) *KernelArgs { return l.add(v) }

// Set gives the kernel its arguments.
func (l *KernelArgs) Set(k *clrt.Kernel) error {
	if l.err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name(), l.err)
	}
	return k.SetArgs(l.values...)
}

// Launch gives the kernel its arguments and has q run it.
func (l *KernelArgs) Launch(q *clrt.Queue, k *clrt.Kernel, global, local []int) error {
	if err := l.Set(k); err != nil {
		return err
	}
	return q.LaunchQuiet(k, global, local)
}
