package exec_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/ops"
	"enhance/exec"
	"enhance/planar"
)

// TestNoSpills reads NVIDIA's compiler report: registers that no kernel of any
// algorithm may spill to memory.
func TestNoSpills(t *testing.T) {
	dev := device(t)
	if !strings.Contains(dev.Info().Platform, "NVIDIA") {
		t.Skip("needs NVIDIA's compiler, whose report names spills")
	}
	t.Setenv("ENHANCE_CACHE_DIR", "off") // a cached program has no report
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	caps := conv.CapsOf(dev.Info())
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		report(t, ctx, "steps that are not convolutions", planar.Source(p)+ops.Source(caps))
		for _, a := range exec.Algorithms(caps) {
			if a.Name() == "direct-rows" {
				continue // for CPUs
			}
			for _, k := range []int{3, 5, 7, 9} {
				impl, err := a.New(caps, conv.Shape{K: k, SrcC: []int{64}, OutC: 32, H: 720, W: 992}, p)
				if err != nil {
					continue
				}
				src := planar.Source(p)
				for _, k := range impl.Kernels() {
					src += k.Source
				}
				report(t, ctx, a.Name(), src)
			}
		}
	}
}

var (
	reportName  = regexp.MustCompile(`(?:Compiling entry function|Function properties for) '?([A-Za-z0-9_]+)`)
	reportSpill = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)
	reportRegs  = regexp.MustCompile(`Used (\d+) registers`)
)

func report(t *testing.T, ctx *clrt.Context, what, source string) {
	p, err := ctx.Build(source, "-cl-std=CL1.2 -cl-nv-verbose")
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer p.Close()
	name, seen := "", 0
	for _, line := range strings.Split(p.BuildLog(), "\n") {
		if m := reportName.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := reportSpill.FindStringSubmatch(line); m != nil {
			seen++
			if m[1] != "0" || m[2] != "0" {
				t.Errorf("%s: %s spills: %s", what, name, strings.TrimSpace(line))
			}
		}
		if m := reportRegs.FindStringSubmatch(line); m != nil && os.Getenv("ENHANCE_SPILLS") != "" {
			t.Logf("%-24s %-40s %s registers", what, name, m[1])
		}
	}
	if seen == 0 {
		t.Errorf("%s: the compiler's report has no line about spills: %q", what, p.BuildLog())
	}
}
