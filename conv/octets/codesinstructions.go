package octets

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed codesinstructions.cl
var plainCodesInstructionsCL string

// codesInstructionsCL is the text with the device's instructions in every kernel of codes. The products have a text for each
// number of outputs, as they name so many registers.
var codesInstructionsCL = sync.OnceValue(func() string { return instructionsCL() + plainCodesInstructionsCL + productInstructions() })

// CodesInstructions is that text, which tests on other devices replace by another.
func CodesInstructions() string { return codesInstructionsCL() }

// productOctets are the numbers of octets of outputs that integer products can have, up to those
// that registers hold.
var productOctets = []int{1, 2, 3, 4, 6, 8, 10, 12, 14, 16}

// roundOctets is the least of them that holds n, 0 if there is none.
func roundOctets(n int) int {
	if i := slices.IndexFunc(productOctets, func(p int) bool { return p >= n }); i >= 0 {
		return productOctets[i]
	}
	return 0
}

func productInstructions() string {
	var b strings.Builder
	b.WriteString("#ifndef OCTETCODES_PRODUCTS\n#define OCTETCODES_PRODUCTS\n")
	for _, n := range productOctets {
		var names, sums []string
		for i := range 4 * n {
			names = append(names, fmt.Sprintf("%%%d", i))
			sums = append(sums, fmt.Sprintf(`"+r"((d)[%d][%d])`, i/4, i%4))
		}
		all := strings.Join(sums, ", ")
		fmt.Fprintf(&b, `#define C8_WGMMA_%d(d, a, b, more) asm volatile(OCT_LATE "{.reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %%%d, 0; mov.b64 a, {%%%d, 8}; mov.b64 b, {%%%d, 8}; wgmma.mma_async.sync.aligned.m64n%dk32.s32.u8.s8 {%s}, a, b, p;}" : %s : "r"(a), "r"(b), "r"((int)(more)) : "memory");`+"\n",
			n, 4*n+2, 4*n, 4*n+1, 8*n, strings.Join(names, ","), all)
		fmt.Fprintf(&b, `#define C8_WAIT_%d(d) asm volatile(OCT_LATE "wgmma.wait_group.sync.aligned 0;" : %s :: "memory");`+"\n", n, all)
		fmt.Fprintf(&b, `#define C8_WAIT_BUT_LAST_%d(d) asm volatile(OCT_LATE "wgmma.wait_group.sync.aligned 1;" : %s :: "memory");`+"\n", n, all)
	}
	b.WriteString(`#define C8_PASTE2(a, b) a##b
#define C8_PASTE(a, b) C8_PASTE2(a, b)
#define C8_WGMMA(n, d, a, b, more) C8_PASTE(C8_WGMMA_, n)(d, a, b, more)
#define C8_WAIT(n, d) C8_PASTE(C8_WAIT_, n)(d)
#define C8_WAIT_BUT_LAST(n, d) C8_PASTE(C8_WAIT_BUT_LAST_, n)(d)
#endif
`)
	return b.String()
}
