package main

import "runtime"

// coresUsage describes -j.
const coresUsage = "`N` cores at most, of the host's stages and of a CPU device; without it all"

// maxCores bounds -j: more is a mistake.
const maxCores = 1 << 16

// limitCores keeps Go's own work to n cores, 0 for all; the device's are the
// pipeline's business.
func limitCores(n int) error {
	if n < 0 || n > maxCores {
		return usagef("-j: %d: want 1 to %d cores, or 0 for all", n, maxCores)
	}
	if n > 0 && n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
	return nil
}
