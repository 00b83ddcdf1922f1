package clrt

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// latePTX begins a line of inline assembly that NVIDIA's OpenCL compiler must
// not see: to its assembler it is a comment. The compiler assembles for the
// plain architecture of a device only, which has no instructions of the
// architecture's own variants such as sm_90a. Its binaries are PTX text,
// though: Build makes the comments instructions, names the variant and has the
// driver assemble that.
//
// In the source it stands as asm volatile("//@sm_90a wgmma.fence.sync.aligned;").
// "//@sm_90a entry .minnctapersm 2" anywhere in a kernel is a directive for all of it.
//
// The compiler assembles what it compiled, which takes as long as the late assembly. So a kernel may have
// asm volatile("/*@sm_90a"); as its first statement, and another kernel behind it, NAME(__global int *a), asm volatile("@sm_90a*/ ret;
// }\n.entry NAME(.param .u64 a)\n{ //@sm_90a@"); as its only one: all between is a comment until the driver assembles it late, and
// both kernels are there before, with nothing in them. Where a compiler does not take that, the source is compiled with LATE_PLAIN
// defined, and must have neither then.
const (
	latePTX   = "//@sm_90a "
	lateEntry = latePTX + "entry "
	lateBegin = "/*@sm_90a"
	latePlain = "#define LATE_PLAIN\n"
)

const (
	lateVersion = ".version 8.0"
	lateTarget  = ".target sm_90a"
)

var (
	ptxVersion = regexp.MustCompile(`(?m)^\.version[ \t]+(\d+)\.(\d+).*$`)
	entryLine  = regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(lateEntry) + `(.*)$`)
	lateEnd    = regexp.MustCompile(`(?s)@sm_90a\*/.*?//@sm_90a@`)
	ptxTarget  = regexp.MustCompile(`(?m)^\.target[ \t]+sm_\d+[af]?`)
)

// assembleLate makes instructions of the comments of a compiled program.
func assembleLate(binary []byte) ([]byte, error) {
	text := binary
	version := ptxVersion.FindSubmatch(text)
	if version == nil || !ptxTarget.Match(text) || !bytes.Contains(text, []byte(latePTX)) {
		return nil, fmt.Errorf("clrt: the source has instructions for %s, but what the compiler made is not PTX with them",
			strings.TrimPrefix(lateTarget, ".target "))
	}
	if len(version[1]) == 1 && version[1][0] < '8' { // the first that knows the architecture
		text = ptxVersion.ReplaceAll(text, []byte(lateVersion))
	}
	text = ptxTarget.ReplaceAll(text, []byte(lateTarget))
	text = lateEnd.ReplaceAll(bytes.ReplaceAll(text, []byte(lateBegin), nil), nil)
	kernels := bytes.Split(text, []byte("\n.entry "))
	for i, k := range kernels {
		for _, found := range entryLine.FindAllSubmatch(k, -1) {
			k = bytes.Replace(k, []byte("\n{\n"), append(append([]byte("\n"), found[1]...), "\n{\n"...), 1)
		}
		kernels[i] = entryLine.ReplaceAll(k, nil)
	}
	text = bytes.Join(kernels, []byte("\n.entry "))
	return bytes.ReplaceAll(text, []byte(latePTX), nil), nil
}

// buildLate builds p anew with the instructions that its compiler took for
// comments.
func (c *Context) buildLate(p *Program, options string) (*Program, error) {
	binary, err := p.Binary()
	if err != nil {
		return nil, err
	}
	if binary, err = assembleLate(binary); err != nil {
		return nil, err
	}
	late, err := c.buildBinary(binary, options)
	if err != nil {
		return nil, err
	}
	late.fromCache = false
	return late, nil
}
