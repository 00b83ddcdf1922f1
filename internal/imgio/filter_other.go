//go:build !amd64

package imgio

var hasUnits, fastCodes, manyCodes bool

func paethUnits(_, _, _, _, _ *byte, _ int)        {}
func subtractUnits(_, _, _ *byte, _ int)           {}
func meanUnits(_, _, _, _ *byte, _ int)            {}
func costUnits(_ *[5]int, _, _, _, _ *byte, _ int) {}
func reduceUnits(_ *byte, _ *uint16, _ int)        {}
func adlerUnits(_ *[3]uint64, _ *byte, _ int)      {}
func codeUnits(_, _ *byte, _ int, _ *[256]uint32, _, _ uint64) (int, uint64, uint64) {
	return 0, 0, 0
}
func codeManyUnits(_, _ *byte, _ int, _ *[3][256]byte, _, _ uint64) (int, uint64, uint64) {
	return 0, 0, 0
}
