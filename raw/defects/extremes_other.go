//go:build !amd64

package defects

const hasExtremeUnits = false

func extremeUnits(_, _ *uint64, _, _, _ *uint16, _, _ int) {}
