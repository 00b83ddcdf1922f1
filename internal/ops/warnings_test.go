package ops_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/model"
)

// TestCompilesWithoutWarnings compiles the kernels anew: what a CPU's compiler
// cannot do as a pragma asks it warns of, and PoCL's counts that on standard error.
func TestCompilesWithoutWarnings(t *testing.T) {
	dev := convtest.Device(t)
	caps := conv.CapsOf(dev.Info())
	if !caps.CPU {
		t.Skip("compilers of GPUs say how many registers they use")
	}
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		texts := []string{ops.Source(caps, true), ops.SamplesSource(false), ops.PictureSource(false), ops.PictureSource(true), ops.ApplySource()}
		if p == planar.FP16 {
			texts = append(texts, ops.SamplesSource(true), ops.OctetsSource(caps, true))
		}
		for _, text := range texts {
			fresh := fmt.Sprintf("__constant long fresh = %d;\n", time.Now().UnixNano()) // in nobody's cache
			prog, err := ctx.Build(fresh+planar.Source(p, model.PadReflect)+text, "-cl-std=CL1.2")
			if err != nil {
				t.Fatal(err)
			}
			if log := prog.BuildLog(); strings.Contains(log, "warning") {
				t.Errorf("%s: %s", p, log)
			}
			prog.Close()
		}
	}
}
