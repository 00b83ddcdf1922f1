package usage

// CPUSeconds is the processor time of the process: on a CPU device it measures kernels even
// while other programs share the cores.
func CPUSeconds() float64 {
	s, _ := Process()
	return s
}
