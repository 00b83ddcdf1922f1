//go:build !amd64

package pipeline

const hasLargestUnits = false

func largestUnits(*uint16, int) uint16 { return 0 }
