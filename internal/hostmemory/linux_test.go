package hostmemory

import (
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// system is a Linux of files: a name of /proc, or of /sys/fs/cgroup with "cgroup/"
// before it, and its text.
func system(files map[string]string) linux {
	proc, groups := fstest.MapFS{}, fstest.MapFS{}
	for name, text := range files {
		file := &fstest.MapFile{Data: []byte(text)}
		if below, ok := strings.CutPrefix(name, "cgroup/"); ok {
			groups[below] = file
		} else {
			proc[name] = file
		}
	}
	return linux{proc, groups}
}

// TestAvailable: the least of what the machine has and what limits leave.
func TestAvailable(t *testing.T) {
	const mib = 1 << 20
	meminfo := "MemTotal:  16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\nCommitLimit:    4194304 kB\nCommitted_AS:   1048576 kB\n"
	with := func(more ...string) map[string]string {
		files := map[string]string{"meminfo": meminfo}
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	tests := []struct {
		name  string
		files map[string]string
		want  int64 // MiB; 0: unknown
	}{
		{"nothing", nil, 0},
		{"no field", map[string]string{"meminfo": "MemTotal: 5 kB\n"}, 0},
		{"not a number", map[string]string{"meminfo": "MemAvailable: much kB\n"}, 0},
		{"the machine", with(), 8192},
		{"overcommitted by guess", with("sys/vm/overcommit_memory", "0\n"), 8192},
		{"never overcommitted", with("sys/vm/overcommit_memory", "2\n"), 3072},
		{"addresses", with("self/limits", "Limit  Soft Limit  Hard Limit  Units\nMax address space         4294967296           unlimited            bytes     \n",
			"self/status", "VmSize:	 1048576 kB\n"), 3072 - int64(runtime.GOMAXPROCS(0)+threads)*64},
		{"addresses without limit", with("self/limits", "Max address space         unlimited            unlimited            bytes     \n",
			"self/status", "VmSize:	 1048576 kB\n"), 8192},
		{"a group", with("self/cgroup", "0::/job/7\n", "cgroup/job/7/memory.max", "1073741824\n", "cgroup/job/7/memory.current", "536870912\n",
			"cgroup/job/7/memory.stat", "anon 1\nactive_file 104857600\ninactive_file 104857600\n"), 712},
		{"a group without limit in one with", with("self/cgroup", "0::/job/7\n", "cgroup/job/7/memory.max", "max\n", "cgroup/job/7/memory.current", "1\n",
			"cgroup/job/memory.max", "1073741824\n", "cgroup/job/memory.current", "536870912\n"), 512},
		{"a group by the name outside", with("self/cgroup", "0::/kubepods/pod1/c\n", "cgroup/memory.max", "1073741824\n", "cgroup/memory.current", "536870912\n"), 512},
		{"a name that leads out", with("self/cgroup", "0::/../../x\n", "cgroup/memory.max", "1073741824\n", "cgroup/memory.current", "536870912\n"), 512},
		{"version 1", with("self/cgroup", "5:cpu,memory:/job\n4:cpuset:/\n", "cgroup/memory/job/memory.limit_in_bytes", "1073741824\n",
			"cgroup/memory/job/memory.usage_in_bytes", "536870912\n", "cgroup/memory/job/memory.stat", "inactive_file 5\ntotal_inactive_file 104857600\n"), 612},
		{"version 1 without limit", with("self/cgroup", "5:memory:/job\n", "cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n",
			"cgroup/memory/job/memory.usage_in_bytes", "536870912\n"), 8192},
		{"a full group", with("self/cgroup", "0::/\n", "cgroup/memory.max", "1048576\n", "cgroup/memory.current", "2097152\n"), -1},
		{"groups that make no sense", with("self/cgroup", "x\n0:\n::\n0::/a\n", "cgroup/a/memory.max", "-\n"), 8192},
	}
	for _, c := range tests {
		got, ok := system(c.files).available()
		switch {
		case ok != (c.want != 0):
			t.Errorf("%s: %d, known %t", c.name, got, ok)
		case c.want < 0 && got != 1: // nothing left, which is not nothing known
			t.Errorf("%s: %d bytes, want 1", c.name, got)
		case c.want > 0 && got != c.want*mib:
			t.Errorf("%s: %d MiB, want %d", c.name, got/mib, c.want)
		}
	}
}

// FuzzAvailable: whatever the files hold, there is an answer above 0, or none.
func FuzzAvailable(f *testing.F) {
	f.Add("MemAvailable: 8388608 kB\n", "0::/a/b\n1:memory:/c\n", "1073741824", "anon 1\ninactive_file 1\n")
	f.Add("MemAvailable: 9223372036854775807 kB\n", "0::/../..\n", "-9223372036854775808", "inactive_file 9223372036854775807\n")
	f.Fuzz(func(t *testing.T, meminfo, cgroup, n, stat string) {
		files := map[string]string{"meminfo": meminfo, "self/cgroup": cgroup, "self/status": meminfo, "self/limits": "Max address space " + n, "sys/vm/overcommit_memory": n}
		for _, dir := range []string{"", "a/", "a/b/", "memory/c/"} {
			for _, name := range []string{"memory.max", "memory.current", "memory.limit_in_bytes", "memory.usage_in_bytes"} {
				files["cgroup/"+dir+name] = n
			}
			files["cgroup/"+dir+"memory.stat"] = stat
		}
		if got, ok := system(files).available(); ok != (got > 0) {
			t.Errorf("%d, known %t", got, ok)
		}
	})
}

// TestAvailableHere asks the system that runs the test.
func TestAvailableHere(t *testing.T) {
	more, ok := Available()
	if runtime.GOOS == "linux" && !ok {
		t.Error("Linux does not tell")
	}
	now, _ := Resident()
	all, known := Attainable()
	if ok != (more > 0) || known != ok || ok && (now == 0 || all < more/2) {
		t.Errorf("%d bytes more (%t) than %d, in all %d (%t)", more, ok, now, all, known)
	}
}
