package convtest

import (
	"slices"
	"testing"
)

// TestParseReport reads what NVIDIA's compiler (driver 580.159) prints, of one kernel and, with
// figures changed, of two.
func TestParseReport(t *testing.T) {
	const head = `ptxas info    : Compiling entry function 'conv_wgmma_k9_b2_s1_p1x6_act1' for 'sm_90a'
ptxas info    : Function properties for conv_wgmma_k9_b2_s1_p1x6_act1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 45792 bytes smem
ptxas info    : Compile time = 501.629 ms
`
	const second = `ptxas info    : Compiling entry function 'ops_pointwise' for 'sm_90'
ptxas info    : Function properties for ops_pointwise
    8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 32 registers
`
	first := kernelUse{"conv_wgmma_k9_b2_s1_p1x6_act1", 128, 0}
	for _, c := range []struct {
		log  string
		want []kernelUse
	}{
		{head, []kernelUse{first}},
		{"warning: something\n" + head + second, []kernelUse{first, {"ops_pointwise", 32, 8}}},
		{"", nil},
		{"ptxas info    : Used 32 registers\n", nil},
	} {
		if got := parseReport(c.log); !slices.Equal(got, c.want) {
			t.Errorf("%+v, want %+v, of %s", got, c.want, c.log)
		}
	}
}
