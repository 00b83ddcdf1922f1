package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// faultKinds are surroundings that fail.
var faultKinds = []kind{
	{name: "killed", weight: 3, make: killed},
	{name: "file changes", weight: 3, make: changing},
	{name: "descriptors", weight: 2, make: descriptors, lacks: withoutShell},
	{name: "limits", weight: 2, make: limits, lacks: withoutShell},
	{name: "system calls", weight: 4, make: systemCalls, lacks: withoutStrace},
	{name: "disk", weight: 3, make: disk, lacks: withoutMounts},
}

// larger is a photo that takes a moment.
func (a *attempt) larger(c *campaign) []string {
	var b []byte
	for range 60 {
		b = append(b, c.files.headerless...)
	}
	return []string{a.file("photo.raw", b), "--raw-size", fmt.Sprintf("%dx%d", photoW*6, photoH*10), "--cfa", "RGGB"}
}

// killed ends a run at a random moment, often while a picture is replaced.
func killed(c *campaign, a *attempt) error {
	a.develop(a.larger(c)...)
	if a.IntN(2) == 0 {
		a.args = append(a.args, "-y")
		a.file("out.png", c.files.references[0].data)
	}
	sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[a.IntN(4)]
	wait := time.Duration(a.IntN(1000)) * time.Millisecond
	a.signalled, a.mute = true, true // before the program takes signals they end it
	a.leaves = sig == syscall.SIGKILL && a.own["out.png"]
	a.beside = func(p *os.Process) {
		time.Sleep(wait)
		_ = p.Signal(sig) // it may have ended
	}
	return nil
}

// changing cuts, rewrites, replaces or removes an input while it is read.
func changing(c *campaign, a *attempt) error {
	s := c.files.photos[a.IntN(len(c.files.photos))]
	var path string
	switch a.IntN(6) {
	case 0:
		a.develop(a.larger(c)...)
		path = filepath.Join(a.dir, "photo.raw")
	case 1: // read by another process
		s = c.files.kodak()
		path = a.file(s.name, s.data)
		a.develop(path)
		a.maybe("--dry-run")
		a.extra += 64 << 20
	case 2:
		s = c.files.references[a.IntN(len(c.files.references))]
		a.develop(a.headerless(c)...)
		path = a.file(s.name, s.data)
		a.args = append(a.args, "--reference", path)
	case 3:
		s = c.files.profiles[a.IntN(len(c.files.profiles))]
		path = a.file(s.name, s.data)
		a.args = append(a.headerless(c), "--dry-run", "--device-profile", path)
		a.extra = 64 << 20
	case 4:
		path = a.file(s.name, s.data)
		a.develop(path, "--cfa", "RGGB")
	default:
		w := c.files.weights[0]
		path = a.file(w.name, w.data)
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "-m", path)
	}
	how, wait, size := a.IntN(7), time.Duration(a.IntN(150))*time.Millisecond, a.Int64N(a.bytes)
	over := make([]byte, size)
	a.beside = func(*os.Process) {
		time.Sleep(wait)
		switch how { // the case may be over, and its folder gone
		case 0:
			_ = os.Truncate(path, size)
		case 1:
			_ = os.Truncate(path, 0)
		case 2:
			_ = os.Remove(path)
		case 3:
			_ = os.Truncate(path, a.bytes*2)
		case 4:
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				_, _ = f.Write(over)
				f.Close()
			}
		case 5:
			a.replace(path, func(other string) error { return os.WriteFile(other, over, 0o644) })
		case 6:
			a.replace(path, makePipe)
		}
	}
	return nil
}

// replace puts what is made under the name of path at once. The case may be over.
func (a *attempt) replace(path string, how func(string) error) {
	other := filepath.Join(a.dir, "cache", "other")
	_ = os.Mkdir(filepath.Dir(other), 0o755)
	if how(other) == nil && os.Rename(other, path) != nil {
		_ = os.Remove(other)
	}
}

func withoutShell(*campaign) string {
	if _, err := exec.LookPath("sh"); err != nil {
		return "there is no sh"
	}
	return ""
}

// shell runs the program by a line of sh, in which it and its arguments are "$@".
func (a *attempt) shell(line string) { a.wrap = []string{"sh", "-c", line, "sh"} }

// descriptors closes standard files, or makes them full.
func descriptors(c *campaign, a *attempt) error {
	lines := []string{`exec "$@" <&-`, `exec "$@" >&-`, `exec "$@" 2>&-`, `exec "$@" <&- >&- 2>&-`, `exec "$@" >/dev/full`, `exec "$@" 2>/dev/full`, `exec "$@" >/dev/full 2>/dev/full`}
	line := lines[a.IntN(len(lines))]
	a.mute = strings.Contains(line, "2>")
	a.shell(line)
	a.deaf = true
	switch a.IntN(7) {
	case 0:
		a.args = []string{"--help"}
	case 1:
		a.args = []string{"model", "info", "--json"}
	case 2:
		s := c.files.photos[0]
		a.args = []string{"inspect", a.file(s.name, s.data)}
		a.maybe("--json")
	case 3:
		s := c.files.kodak()
		a.args = []string{"-g", "host", a.file(s.name, s.data), "--dry-run"}
		a.extra = 256 << 20
		a.maybe("--json")
	default:
		a.develop(a.headerless(c)...)
		a.maybe("--json")
	}
	if a.picture == "" && strings.Contains(line, ">/dev/full") && !strings.HasPrefix(line, `exec "$@" 2`) {
		a.refused = true // what nobody could read is no success
	}
	return nil
}

// limits bounds what the process may have.
func limits(c *campaign, a *attempt) error {
	// With fewer than a dozen descriptors the runtime of Go does not begin.
	// Nor does it always with 1.7 gigabytes of addresses: it reserves 1.3, and each of the
	// threads that it starts before main takes 0.13 for a moment (64 MiB of glibc's, aligned).
	lines := []string{"ulimit -n %d", "ulimit -f %d", "ulimit -c 0; ulimit -s %d00", "ulimit -v %d00000"}
	n := []int{12 + a.IntN(12), a.IntN(12), 1 + a.IntN(80), 22 + a.IntN(30)}
	k := a.IntN(len(lines))
	a.shell(fmt.Sprintf(lines[k], n[k]) + `; exec "$@"`)
	if k == len(lines)-1 && c.cache != nil && a.IntN(2) == 0 {
		a.onDevice(c)
	} else {
		a.develop(a.headerless(c)...)
	}
	a.maybe("--json")
	return nil
}

func withoutStrace(*campaign) string {
	if runtime.GOOS != "linux" {
		return "needs Linux"
	}
	if out, err := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace=close", "true").CombinedOutput(); err != nil {
		return fmt.Sprintf("strace does not run: %v %s", err, out)
	}
	return ""
}

// systemCalls makes one call of the process, or all behind it, fail, take long, or end it.
func systemCalls(c *campaign, a *attempt) error {
	calls := []string{"openat", "write", "pwrite64", "read", "pread64", "fstat", "newfstatat", "linkat", "unlinkat", "renameat2", "fsync", "close", "lseek", "fchmodat", "faccessat2"}
	call := calls[a.IntN(len(calls))]
	fault := []string{"error=EIO", "error=ENOSPC", "error=EACCES", "error=EMFILE", "error=EINTR", "error=EDQUOT", "signal=KILL", "signal=TERM", "delay_enter=20000"}[a.IntN(9)]
	again := []string{"", "+"}[a.IntN(2)]
	if fault == "error=EINTR" { // after which a call is made again, for ever
		again = ""
	}
	a.wrap = []string{"strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "signal=none",
		"-e", fmt.Sprintf("inject=%s:%s:when=%d%s", call, fault, 1+a.IntN(60), again)}
	a.develop(a.headerless(c)...)
	if a.IntN(2) == 0 {
		a.args = append(a.args, "-y")
		a.file("out.png", c.files.references[0].data)
	}
	a.signalled = strings.HasPrefix(fault, "signal")
	// The fault may hit the calls that write the message, or that the Go runtime needs.
	a.mute = true
	a.leaves = a.own["out.png"] || call == "unlinkat"
	a.startup = true
	return nil
}

func withoutMounts(*campaign) string {
	if runtime.GOOS != "linux" {
		return "needs Linux"
	}
	dir, err := os.MkdirTemp("", "hostile-mount-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	if err := mount(dir, "size=4k", false); err != nil {
		return fmt.Sprintf("file systems cannot be mounted (%v): run it as root", err)
	}
	unmount(dir)
	return ""
}

// disk writes to one that is full, nearly so, or read-only.
func disk(c *campaign, a *attempt) error {
	dir := filepath.Join(a.dir, "disk")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	a.own["disk"] = true
	options, readOnly := fmt.Sprintf("size=%dk,nr_inodes=%d", 4*(1+a.IntN(6)), 1+a.IntN(4)), a.IntN(4) == 0
	if err := mount(dir, options, readOnly); err != nil {
		return err
	}
	a.after = append(a.after, func() { unmount(dir) })
	switch {
	case a.IntN(3) == 0 && c.cache != nil: // what is kept has no room, which is no reason to fail
		a.onDevice(c)
		a.env = append(a.env, "ENHANCE_CACHE_DIR="+dir)
		a.must = true
		return nil
	case a.IntN(3) == 0: // nor has a process of its own for a photo a need of it
		s := c.files.kodak()
		a.develop(a.file(s.name, s.data))
		a.env = append(a.env, "TMPDIR="+dir)
		return nil
	}
	a.develop(a.headerless(c)...)
	a.picture = filepath.Join(dir, "out.png")
	a.args[len(a.args)-1] = a.picture
	a.maybe("-b", "16")
	a.maybe("--dry-run")
	return nil
}
