package compilers

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"enhance/clrt"
)

const (
	// maxProcesses bounds what many cores would allow: a network has 12 to 40 programs.
	maxProcesses = 15
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
// the process's control group leaves it; -1 where nobody tells.
func freeMemory() int64 {
	free := int64(-1)
	if f, err := os.Open("/proc/meminfo"); err == nil { // proc(5)
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, _ := strings.Cut(s.Text(), ":"); name == "MemAvailable" {
				if kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64); err == nil {
					free = kb << 10
				}
			}
		}
	}
	limit, used := groupNumber("memory.max"), groupNumber("memory.current")
	if left := max(0, limit-used); limit >= 0 && used >= 0 && (free < 0 || left < free) {
		free = left
	}
	return free
}

// groupNumber reads a number of the control group that containers see as the root;
// -1 for none ("max" is none).
func groupNumber(name string) int64 {
	text, err := os.ReadFile("/sys/fs/cgroup/" + name)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
