package gemm_test

import "syscall"

// cpuSeconds is the processor time of the process: on a CPU device it measures
// kernels even while other programs share the cores.
func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
