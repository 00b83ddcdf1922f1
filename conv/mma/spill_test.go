package mma

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/fuse"
	"enhance/planar"
)

// TestNoSpills reads the compiler's report: registers that the kernel may not
// spill to memory, neither plain nor with norms before and after.
func TestNoSpills(t *testing.T) {
	dev := matrixDevice(t)
	t.Setenv("ENHANCE_CACHE_DIR", "off") // a cached program has no report
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	seen := map[string]bool{}
	for _, p := range []Precision{FP16, TF32, FP32} {
		for _, s := range []conv.Shape{
			{K: 3, SrcC: []int{64}, OutC: 64, H: 720, W: 992}, {K: 3, SrcC: []int{32}, OutC: 32, H: 1440, W: 1984}, {K: 3, SrcC: []int{16}, OutC: 3, H: 2880, W: 3968},
			{K: 5, SrcC: []int{64}, OutC: 64, H: 720, W: 992}, {K: 7, SrcC: []int{32}, OutC: 32, H: 1440, W: 1984}, {K: 9, SrcC: []int{32}, OutC: 32, H: 1440, W: 1984},
		} {
			made, err := Algo(p).New(*capsOf(dev), s, p.Storage())
			if err != nil {
				t.Fatal(err)
			}
			full, _ := made.(*impl).Summed()
			if scaled, ok := full.(*impl).Scaled(fuse.LeakyReLU).(*impl); ok {
				full = scaled
			}
			for _, m := range []conv.Impl{made, full} {
				if k := m.Kernels()[0]; !seen[k.Name] {
					seen[k.Name] = true
					noSpills(t, ctx, planar.Source(p.Storage())+k.Source, k.Name)
				}
			}
		}
	}
}

func noSpills(t *testing.T, ctx *clrt.Context, source, name string) {
	t.Helper()
	fresh := fmt.Sprintf("__constant long fresh = %d;\n", time.Now().UnixNano()) // not in the driver's cache either
	prog, err := ctx.Build(fresh+source, "-cl-std=CL1.2 -cl-nv-verbose")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer prog.Close()
	f := spills.FindStringSubmatch(prog.BuildLog())
	switch {
	case f == nil:
		t.Fatalf("%s: the compiler's report has no line about spills: %q", name, prog.BuildLog())
	case strings.Trim(f[1], "0") != "":
		t.Errorf("%s spills %s bytes", name, f[1])
	}
	if f := registers.FindStringSubmatch(prog.BuildLog()); f != nil {
		t.Logf("%-60s %s registers", name, f[1])
	}
}
