//go:build !unix

package bench

// usage is not known here.
func usage() (cpuSeconds float64, peakResident int64) { return 0, 0 }
