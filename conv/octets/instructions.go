package octets

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed instructions.cl
var plainInstructionsCL string

// instructionsCL has the products by warpgroups beside the other instructions, whose texts name as many
// registers as they have.
var instructionsCL = sync.OnceValue(func() string { return plainInstructionsCL + warpgroupInstructions() })

// Instructions is the text with the device's instructions in every kernel. Tests on other devices put another in its place.
func Instructions() string { return instructionsCL() }

// maxOctets is how many octets of outputs a product makes at most.
const maxOctets = 16

func warpgroupInstructions() string {
	var b strings.Builder
	b.WriteString("#ifndef OCTETS_WARPGROUPS\n#define OCTETS_WARPGROUPS\n")
	for nt := 1; nt <= maxOctets; nt++ {
		var names, sums []string
		for i := range 4 * nt {
			names = append(names, fmt.Sprintf("%%%d", i))
			sums = append(sums, fmt.Sprintf(`"+f"((d)[%d][%d])`, i/4, i%4))
		}
		n, all := strings.Join(names, ","), strings.Join(sums, ", ")
		fmt.Fprintf(&b, `#define OCT_WGMMA_%d(d, a, b) asm volatile(OCT_LATE "{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 {%s}, %%%d, %%%d, p, 1, 1, 0, 0;}" : %s : "l"(a), "l"(b) : "memory");`+"\n",
			nt, 8*nt, n, 4*nt, 4*nt+1, all)
		fmt.Fprintf(&b, `#define OCT_WGMMA_RS_%d(d, a, b) asm volatile(OCT_LATE "{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 {%s}, {%%%d,%%%d,%%%d,%%%d}, %%%d, p, 1, 1, 0;}" : %s : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b) : "memory");`+"\n",
			nt, 8*nt, n, 4*nt, 4*nt+1, 4*nt+2, 4*nt+3, 4*nt+4, all)
		fmt.Fprintf(&b, `#define OCT_WAIT_ALL_%d(d) asm volatile(OCT_LATE "wgmma.wait_group.sync.aligned 0;" : %s :: "memory");`+"\n", nt, all)
	}
	b.WriteString(`#define OCT_PASTE2(a, b) a##b
#define OCT_PASTE(a, b) OCT_PASTE2(a, b)
#define OCT_WGMMA(d, a, b) OCT_PASTE(OCT_WGMMA_, NT)(d, a, b)
#define OCT_WGMMA_RS(d, a, b) OCT_PASTE(OCT_WGMMA_RS_, NT)(d, a, b)
#define OCT_WAIT_ALL(d) OCT_PASTE(OCT_WAIT_ALL_, NT)(d)
// The same where all warpgroups of a work-group come.
#define OCT_WAIT_TOGETHER(d) OCT_WAIT_ALL(d)
#endif
`)
	return b.String()
}
