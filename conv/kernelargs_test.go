package conv_test

import (
	"strings"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// TestKernelArgs: a list is held against the kernel's parameters, and values against
// the size of theirs.
func TestKernelArgs(t *testing.T) {
	b := convtest.Open(t, convtest.Device(t), planar.FP32, 1)
	p, err := b.Ctx.Build("__kernel void three(__global float *out, const int n, const float f) { out[n] = f; }", conv.BuildOptions)
	b.Must(err)
	defer p.Close()
	k, err := p.Kernel("three")
	b.Must(err)
	defer k.Close()
	buf := b.Buffer(make([]byte, 64))
	for _, c := range []struct {
		name string
		args *conv.KernelArgs
		want string // in the error, "" for none
	}{
		{"right", new(conv.KernelArgs).Buffer(buf).Int(3).Float(1.5), ""},
		{"too few", new(conv.KernelArgs).Buffer(buf).Int(3), "argument 2"},
		{"too many", new(conv.KernelArgs).Buffer(buf).Int(3).Float(1).Float(1), "takes 3 arguments"},
		{"another order", new(conv.KernelArgs).Buffer(buf).Float(1).Int(3), "argument 1"},
		{"largest", new(conv.KernelArgs).Buffer(buf).Int(1<<31 - 1).Float(1), ""},
		{"too large", new(conv.KernelArgs).Buffer(buf).Int(1 << 31).Float(1), "kernel three: conv: argument 1 of a kernel is 2147483648"},
		{"too small", new(conv.KernelArgs).Buffer(buf).Int(-1<<31 - 1).Float(1), "argument 1"},
	} {
		err := c.args.Set(k)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
