package planar

// Processors since about 2012 convert eight samples of binary16 with one
// instruction (F16C), ten times as fast as the loops in rows.go, whose results are
// the same bits.

// unit is how many samples the functions below take at a time.
const unit = 16

// halvesOf stores n samples as binary16, floatsOf widens them; n is a multiple of
// unit and not 0.
//
//go:noescape
func halvesOf(dst *byte, src *float32, n int)

//go:noescape
func floatsOf(dst *float32, src *byte, n int)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv is the lower half of XCR0: which registers the system saves.
func xgetbv() uint32

// converts says whether halvesOf and floatsOf can be used: the processor has them
// and the system saves the registers they use.
var converts = func() bool {
	const (
		osxsave = 1 << 27
		avx     = 1 << 28
		f16c    = 1 << 29
		saved   = 1<<1 | 1<<2 // SSE, AVX
	)
	if most, _, _, _ := cpuid(0, 0); most < 1 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	return c&osxsave != 0 && c&avx != 0 && c&f16c != 0 && xgetbv()&saved == saved
}()
