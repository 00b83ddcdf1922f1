//go:build unix

// Package usage says what the process has used so far.
package usage

import (
	"runtime"
	"syscall"
)

// Process is what the process has used so far: seconds of all processors together,
// and the most bytes resident at a time.
func Process() (cpuSeconds float64, peakResident int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	unit := int64(1 << 10)
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		unit = 1
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, int64(u.Maxrss) * unit
}
