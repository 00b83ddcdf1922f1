package compilers

import (
	"runtime"
	"strings"

	"enhance/clrt"
	"enhance/internal/hostmemory"
)

const (
	// maxProcesses bounds what many cores would allow. A network has 12 to 40 programs;
	// a process has to pay for opening its device.
	maxProcesses = 12
	// hostBytes is reckoned for a process: what a driver and its compiler hold.
	hostBytes = 512 << 20
	// deviceBytes is reckoned for a context on a device with memory of its own.
	deviceBytes = 512 << 20
)

// most is how many processes there may be beside this one for a device: fewer than
// cores, an eighth of the device's memory and a quarter of the host's that is free (below 0:
// unknown).
func most(i *clrt.DeviceInfo, cores int, free int64) int {
	if strings.Contains(i.Platform, "Oclgrind") { // what it checks is watched in this process
		return 0
	}
	n := min(cores-1, maxProcesses)
	if i.Type != clrt.CPU && !i.Unified {
		n = min(n, int(i.GlobalMem/8/deviceBytes))
	}
	if free >= 0 {
		n = min(n, int(free/4/hostBytes))
	}
	return max(n, 0)
}

// mostNow is most with the cores and the memory that there are.
func mostNow(i *clrt.DeviceInfo) int {
	free, ok := hostmemory.Available()
	if !ok {
		free = -1
	}
	return most(i, min(runtime.GOMAXPROCS(0), runtime.NumCPU()), free)
}
