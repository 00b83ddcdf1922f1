package conv_test

import (
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
)

// inProcess compiles in this process: a compiler for tests.
type inProcess struct{ ctx *clrt.Context }

func (c inProcess) Compile(d *clrt.Device, source, options string) ([]byte, func()) {
	p, err := c.ctx.Build(source, options)
	if err != nil {
		return nil, func() {}
	}
	defer p.Close()
	binary, _ := p.Binary()
	return binary, func() {}
}
func (inProcess) Width(*clrt.Device) int { return 1 }
func (inProcess) Expect(*clrt.Device)    {}
func (inProcess) Rest(bool)              {}

// TestProbeVNNI: without a compiler the answer is no.
func TestProbeVNNI(t *testing.T) {
	dev := convtest.Device(t)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	if found, err := conv.ProbeVNNI(ctx, nil); found || err != nil {
		t.Errorf("without a compiler: %v, %v", found, err)
	}
	found, err := conv.ProbeVNNI(ctx, inProcess{ctx})
	if err != nil {
		t.Error(err)
	}
	t.Logf("VPDPBUSD: %v", found)
	if ctx.Live() != 0 {
		t.Errorf("%d bytes are left", ctx.Live())
	}
}
