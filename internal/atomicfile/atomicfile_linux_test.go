package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestUmask(t *testing.T) {
	tests := []struct {
		umask int
		want  fs.FileMode
	}{{0o022, 0o644}, {0o077, 0o600}, {0, 0o644}, {0o027, 0o640}}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "f")
		old := syscall.Umask(tt.umask)
		f, err := Create(path, Options{})
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != tt.want {
			t.Errorf("umask %03o: mode %v, want %v", tt.umask, info.Mode().Perm(), tt.want)
		}
	}
}

// needUnnamed skips where the file system of dir has no unnamed files.
func needUnnamed(t *testing.T, dir string) {
	t.Helper()
	f := openUnnamed(dir)
	if f == nil {
		t.Skipf("NO UNNAMED FILES IN %s: what they are for is not tested", dir)
	}
	f.Close()
}

// TestKilled: a process that is killed while it writes leaves nothing.
func TestKilled(t *testing.T) {
	const env = "ATOMICFILE_TEST_KILLED"
	if dir := os.Getenv(env); dir != "" { // the process itself
		f := create(t, filepath.Join(dir, "out.png"), Options{Overwrite: true})
		io.WriteString(f, "half")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	dir := t.TempDir()
	needUnnamed(t, dir)
	put(t, filepath.Join(dir, "out.png"), "old", 0o644)
	c := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	c.Env = append(os.Environ(), env+"="+dir)
	var exit *exec.ExitError
	if err := c.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended with %v", err)
	}
	if got := names(t, dir); got != "out.png" {
		t.Errorf("directory holds %q", got)
	}
	wantContents(t, filepath.Join(dir, "out.png"), "old")
}

// TestKilledWhileNamed: a process that is killed at any system call of Commit leaves the
// whole file, or none, and no other name. Replacing a file may leave a hidden one.
func TestKilledWhileNamed(t *testing.T) {
	const env = "ATOMICFILE_TEST_NAMED"
	if dir := os.Getenv(env); dir != "" { // the process itself
		f := create(t, filepath.Join(dir, "out.png"), Options{})
		io.WriteString(f, "whole")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		return
	}
	needUnnamed(t, t.TempDir())
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NO STRACE: kills inside system calls are not tested")
	}
	for _, call := range []string{"fsync", "linkat", "renameat2", "unlinkat"} {
		for when := 1; when <= 2; when++ {
			t.Run(fmt.Sprintf("%s%d", call, when), func(t *testing.T) {
				dir := t.TempDir()
				inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, when)
				c := exec.Command(strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace="+call, "-e", inject, os.Args[0], "-test.run", "^TestKilledWhileNamed$")
				c.Env = append(os.Environ(), env+"="+dir)
				if out, err := c.CombinedOutput(); err != nil && strings.Contains(string(out), "ptrace") {
					t.Skipf("NO PTRACE HERE: %s", out)
				}
				switch got := names(t, dir); got {
				case "":
				case "out.png":
					wantContents(t, filepath.Join(dir, "out.png"), "whole")
				default:
					t.Errorf("directory holds %q", got)
				}
			})
		}
	}
}

// TestUnlinkFails: a file that has its final name is no failure, even if another name
// of it cannot be removed.
func TestUnlinkFails(t *testing.T) {
	const env = "ATOMICFILE_TEST_UNLINK"
	if dir := os.Getenv(env); dir != "" { // the process itself
		newUnnamed = func(string) *os.File { return nil }
		f := create(t, filepath.Join(dir, "out.png"), Options{})
		io.WriteString(f, "whole")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NO STRACE: system calls that fail are not tested")
	}
	dir := t.TempDir()
	c := exec.Command(strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace=unlinkat,renameat2", "-e", "inject=unlinkat:error=EACCES", "-e", "inject=renameat2:error=EINVAL",
		os.Args[0], "-test.run", "^TestUnlinkFails$")
	c.Env = append(os.Environ(), env+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("NO PTRACE HERE: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	wantContents(t, filepath.Join(dir, "out.png"), "whole")
}

// TestNamingRefused: where an unnamed file cannot be named after all, its contents
// are copied, and nothing else changes.
func TestNamingRefused(t *testing.T) {
	dir := t.TempDir()
	needUnnamed(t, dir)
	linkUnnamed = func(*os.File, string) error { return syscall.ENOENT }
	defer func() { linkUnnamed = linkOpen }()
	path := filepath.Join(dir, "out.png")
	for _, contents := range []string{"first", "second"} {
		f := create(t, path, Options{Overwrite: true})
		io.WriteString(f, contents)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		wantContents(t, path, contents)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o600 != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, dir); got != "out.png" {
		t.Errorf("directory holds %q", got)
	}
	f := create(t, filepath.Join(dir, "new"), Options{})
	put(t, filepath.Join(dir, "new"), "other", 0o644)
	if err := f.Commit(); !errors.Is(err, ErrExists) {
		t.Errorf("Commit: %v, want ErrExists", err)
	}
	if got := names(t, dir); got != "new out.png" {
		t.Errorf("directory holds %q", got)
	}
}

// TestUnwritableForRoot uses a directory where not even root may create files.
func TestUnwritableForRoot(t *testing.T) {
	f, err := Create("/proc/self/out.png", Options{})
	if err == nil {
		f.Abort()
		t.Fatal("Create succeeded in /proc/self")
	}
}

func TestUnwritableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root ignores permission bits: the mode 0555 part needs another user")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(dir, "f"), Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Create: %v, want permission denied", err)
	}
}

// TestDevFull takes the kernel's own "no space left" through a File.
func TestDevFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full:", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.png")
	f := create(t, path, Options{})
	f.out.Close()
	f.out = full
	checkFull(t, f, path, dir, "")
}

// TestFullTmpfs fills a real file system of 64 KiB.
func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount a tmpfs (needs root):", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	path := filepath.Join(dir, "out.png")
	put(t, path, "old", 0o644)
	f := create(t, path, Options{Overwrite: true})
	checkFull(t, f, path, dir, "out.png")
	wantContents(t, path, "old")
}

func checkFull(t *testing.T, f *File, path, dir, left string) {
	t.Helper()
	var err error
	for range 100 {
		if _, err = io.WriteString(f, strings.Repeat("x", 4096)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("Write: %v, want ENOSPC and the path", err)
	}
	if err := f.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Commit: %v, want ENOSPC", err)
	}
	if got := names(t, dir); got != left {
		t.Errorf("directory holds %q, want %q", got, left)
	}
}
