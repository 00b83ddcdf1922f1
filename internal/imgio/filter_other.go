//go:build !amd64

package imgio

const hasUnits = false

func paethUnits(_, _, _, _, _ *byte, _ int)        {}
func costUnits(_ *[5]int, _, _, _, _ *byte, _ int) {}
func reduceUnits(_ *byte, _ *uint16, _ int)        {}
