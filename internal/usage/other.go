//go:build !unix

package usage

// Process is not known here.
func Process() (cpuSeconds float64, peakResident int64) { return 0, 0 }
