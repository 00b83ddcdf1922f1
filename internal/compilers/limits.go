package compilers

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"enhance/clrt"
)

const (
	// maxProcesses bounds what many cores would allow. A network has 12 to 40 programs;
	// a process has to pay for opening its device.
	maxProcesses = 8
	// hostBytes is reckoned for a process: what a driver and its compiler hold.
	hostBytes = 512 << 20
	// deviceBytes is reckoned for a context on a device with memory of its own.
	deviceBytes = 512 << 20
)

// most is how many processes there may be beside this one for a device: fewer than
// cores, an eighth of the device's memory and a quarter of the host's that is free.
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
	return most(i, min(runtime.GOMAXPROCS(0), runtime.NumCPU()), freeMemory())
}

// freeMemory is what Linux says could be had without swapping, and no more than what
// the control group that containers see as the root leaves the process (files that are
// cached can go); -1 where nobody tells.
func freeMemory() int64 {
	free := numberOf("/proc/meminfo", "MemAvailable") // proc(5), kB
	if free >= 0 {
		free <<= 10
	}
	const group = "/sys/fs/cgroup/memory."
	limit, used := numberOf(group+"max", ""), numberOf(group+"current", "") // max may be the word max
	if limit < 0 || used < 0 {
		return free
	}
	used -= max(0, numberOf(group+"stat", "active_file")) + max(0, numberOf(group+"stat", "inactive_file"))
	if left := max(0, limit-used); free < 0 || left < free {
		return left
	}
	return free
}

// numberOf reads the number behind a name, if it is not empty, in a file of lines of
// a name, a number and perhaps more; -1 where there is none.
func numberOf(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if name != "" {
			if len(words) == 0 || strings.TrimSuffix(words[0], ":") != name {
				continue
			}
			words = words[1:]
		}
		if len(words) > 0 {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil && n >= 0 {
				return n
			}
		}
		return -1
	}
	return -1
}
