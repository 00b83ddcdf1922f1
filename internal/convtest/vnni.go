package convtest

import (
	"testing"

	"enhance/clrt"
	"enhance/conv"
)

// VNNI reports whether the device multiplies bytes by VPDPBUSD, asked without another process: a compiler that does not
// know the instruction fails the test.
func VNNI(t testing.TB, d *clrt.Device) bool {
	t.Helper()
	return hasInstruction(t, d, conv.ProbeVNNI)
}

// Pairs reports the same of products of bfloat16 by VDPBF16PS.
func Pairs(t testing.TB, d *clrt.Device) bool {
	t.Helper()
	return hasInstruction(t, d, conv.ProbePairs)
}

func hasInstruction(t testing.TB, d *clrt.Device, probe func(*clrt.Context, clrt.Compiler) (bool, error)) bool {
	t.Helper()
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	found, err := probe(ctx, inProcess{ctx})
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Live() != 0 {
		t.Errorf("the probe left %d bytes", ctx.Live())
	}
	return found
}

// inProcess is a clrt.Compiler that compiles in this process.
type inProcess struct{ ctx *clrt.Context }

func (c inProcess) Compile(_ *clrt.Device, source, options string) ([]byte, func()) {
	none := func() {}
	p, err := c.ctx.Build(source, options)
	if err != nil {
		return nil, none
	}
	defer p.Close()
	binary, err := p.Binary()
	if err != nil {
		return nil, none
	}
	return binary, none
}

func (inProcess) Width(*clrt.Device) int { return 1 }
func (inProcess) Expect(*clrt.Device)    {}
func (inProcess) Rest(bool)              {}
