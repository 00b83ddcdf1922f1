package convtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
)

// verbose asks NVIDIA's compiler for its report.
const verbose = "-cl-std=CL1.2 -cl-nv-verbose"

// kernelUse is what the report says of a kernel.
type kernelUse struct {
	name               string
	registers, spilled int // spilled: bytes
}

var (
	reportName      = regexp.MustCompile(`(?:Compiling entry function|Function properties for) '?([A-Za-z0-9_]+)`)
	reportSpills    = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)
	reportRegisters = regexp.MustCompile(`Used (\d+) registers`)
)

// parseReport reads a build log: the kernels whose spills it has a line about.
func parseReport(log string) (all []kernelUse) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // digits
		return n
	}
	name := ""
	for line := range strings.Lines(log) {
		if m := reportName.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := reportSpills.FindStringSubmatch(line); m != nil {
			all = append(all, kernelUse{name: name, spilled: max(number(m[1]), number(m[2]))})
		}
		if m := reportRegisters.FindStringSubmatch(line); m != nil && len(all) > 0 {
			all[len(all)-1].registers = number(m[1])
		}
	}
	return all
}

// Uncached is a context on d, closed with the test, whose programs are compiled anew: those of
// a cache have no report.
func Uncached(t *testing.T, d *clrt.Device) *clrt.Context {
	t.Helper()
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ctx.Close(); err != nil {
			t.Errorf("closing the context: %v", err)
		}
	})
	return ctx
}

// NoSpills fails if NVIDIA's compiler spills registers in a kernel of a program, or says
// nothing about it. The context is to be an [Uncached] one.
func NoSpills(t *testing.T, ctx *clrt.Context, what, source string) {
	t.Helper()
	fresh := fmt.Sprintf("__constant long fresh = %d;\n", time.Now().UnixNano()) // in no cache of the driver's, either
	prog, err := ctx.Build(fresh+source, verbose)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer prog.Close()
	all := parseReport(prog.BuildLog())
	if len(all) == 0 {
		t.Errorf("%s: the compiler's report has no line about spills; with CUDA_CACHE_DISABLE=1 the driver compiles anew: %q", what, prog.BuildLog())
	}
	for _, k := range all {
		t.Logf("%s: %-60s %d registers, %d bytes spilled", what, k.name, k.registers, k.spilled)
		if k.spilled > 0 {
			t.Errorf("%s: %s spills %d bytes", what, k.name, k.spilled)
		}
	}
}
