package pipeline

const hasLargestUnits = true

// largestUnits is the largest of n samples, which is not 0 and a multiple of largestUnit.
//
//go:noescape
func largestUnits(samples *uint16, n int) uint16
