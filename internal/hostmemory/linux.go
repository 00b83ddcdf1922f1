package hostmemory

import (
	"bufio"
	"io/fs"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// linux is where Linux says how much memory can be had: /proc and /sys/fs/cgroup.
type linux struct{ proc, cgroup fs.FS }

// A limit of addresses counts those that nothing lies at: Go takes them in pieces of
// 64 MiB, and C libraries give each thread as many for its allocations (glibc's
// HEAP_MAX_SIZE). A run starts about as many threads as it has cores, and some that wait.
const (
	addresses = 64 << 20
	threads   = 3
)

// available is the least of what the machine has left and what limits leave.
func (l linux) available() (int64, bool) {
	machine := fields(l.proc, "meminfo", ":")
	least, ok := machine["MemAvailable"]
	if !ok || least <= 0 {
		return 0, false
	}
	if mode, ok := number(l.proc, "sys/vm/overcommit_memory"); ok && mode == 2 { // no more is promised than there is
		least = min(least, machine["CommitLimit"]-machine["Committed_AS"])
	}
	if limit, ok := l.addressSpace(); ok {
		least = min(least, limit-fields(l.proc, "self/status", ":")["VmSize"]-int64(runtime.GOMAXPROCS(0)+threads)*addresses)
	}
	for _, room := range l.groups() {
		least = min(least, room)
	}
	return max(least, 1), true // 0 would pass for unknown
}

// addressSpace is the limit of ulimit -v (proc(5): limits), if there is one.
func (l linux) addressSpace() (int64, bool) {
	f, err := l.proc.Open("self/limits")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "Max address space"); ok {
			soft, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			n, err := strconv.ParseInt(soft, 10, 64)
			return n, err == nil // "unlimited"
		}
	}
	return 0, false
}

// groups are what the process's control group and those that hold it leave, for
// those that have a limit. Files in memory count as free: the system lets go of them
// first. In a container the names of /proc may be those outside; the groups that
// exist count.
func (l linux) groups() (rooms []int64) {
	data, err := fs.ReadFile(l.proc, "self/cgroup")
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(data), "\n") {
		parts := strings.SplitN(line, ":", 3) // number:controllers:path
		if len(parts) != 3 {
			continue
		}
		v := version2
		if parts[1] != "" {
			if v = version1; !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
		}
		for dir := path.Join(v.below, path.Clean("/"+parts[2])); ; dir = path.Dir(dir) {
			if room, ok := v.room(l.cgroup, dir); ok {
				rooms = append(rooms, room)
			}
			if dir == v.below || dir == "." || dir == "/" {
				break
			}
		}
	}
	return rooms
}

// controller names the files of a version of control groups.
type controller struct {
	below              string // of the mount
	limit, used, files string // files: prefix of the keys of memory.stat
}

var (
	version2 = controller{".", "memory.max", "memory.current", ""}
	version1 = controller{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"}
)

// room is what a group leaves, not ok if it has no limit.
func (c controller) room(root fs.FS, dir string) (int64, bool) {
	limit, ok := number(root, path.Join(dir, c.limit))
	if !ok || limit > math.MaxInt64/2 { // no number: "max"; version 1 prints a large one
		return 0, false
	}
	used, ok := number(root, path.Join(dir, c.used))
	if !ok {
		return 0, false
	}
	stat := fields(root, path.Join(dir, "memory.stat"), " ")
	return limit - used + stat[c.files+"inactive_file"] + stat[c.files+"active_file"], true
}

// number reads a file of one number.
func number(root fs.FS, name string) (int64, bool) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// fields reads lines of a name and a number of bytes, in kB where it says so.
func fields(root fs.FS, name, separator string) map[string]int64 {
	all := map[string]int64{}
	f, err := root.Open(name)
	if err != nil {
		return all
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, ok := strings.Cut(s.Text(), separator)
		text, kilo := strings.CutSuffix(strings.TrimSpace(value), " kB")
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if !ok || err != nil || n < 0 || n > math.MaxInt64>>11 {
			continue
		}
		if kilo {
			n <<= 10
		}
		all[key] = n
	}
	return all
}
