//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakOf is the most that a process held; 0 if the system does not tell.
func peakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss) << 10
	}
	return 0
}

// peakOfSelf is the most that this program held.
func peakOfSelf() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) << 10
}
