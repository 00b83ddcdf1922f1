// Package hostmemory says how much memory the host has, and how much of it the process
// holds and could have, where the system tells (Linux does). Start at [Available].
package hostmemory

import (
	"os"
	"runtime"
)

// Available is how many more bytes of memory the process can have without swapping,
// within the limits of the machine, of control groups and of the process; not ok where
// the system does not tell. What a CPU device reports is the machine's whole memory, or
// less reliable.
func Available() (int64, bool) {
	return linux{os.DirFS("/proc"), os.DirFS("/sys/fs/cgroup")}.available()
}

// Total is the machine's memory in bytes; not ok where the system does not tell.
func Total() (int64, bool) {
	n, ok := fields(os.DirFS("/proc"), "meminfo", ":")["MemTotal"]
	return n, ok && n > 0
}

// Attainable is how many bytes the process could have in all: what it holds and what is
// available; not ok where the system does not tell.
func Attainable() (int64, bool) {
	more, ok := Available()
	if !ok {
		return 0, false
	}
	held, _ := Resident()
	return held + more, true
}

// Resident is the process's resident memory in bytes, now and at most so far (proc(5):
// VmRSS, VmHWM); 0 where the system does not tell.
func Resident() (now, peak int64) {
	status := fields(os.DirFS("/proc"), "self/status", ":")
	return status["VmRSS"], status["VmHWM"]
}

// AddressRoom is how many addresses a limit on them (ulimit -v) leaves the process, and
// the limit; not ok where there is none. More than that counts against it: Go and C
// libraries take addresses in large pieces that nothing lies at.
func AddressRoom() (room, limit int64, ok bool) {
	l := linux{os.DirFS("/proc"), os.DirFS("/sys/fs/cgroup")}
	if limit, ok = l.addressSpace(); !ok {
		return 0, 0, false
	}
	return limit - fields(l.proc, "self/status", ":")["VmSize"], limit, true
}

// AddressesForThreads is how many addresses the threads of a run take.
func AddressesForThreads() int64 {
	const stack = 8 << 20
	return int64(runtime.GOMAXPROCS(0)+threads) * (addresses + stack)
}
