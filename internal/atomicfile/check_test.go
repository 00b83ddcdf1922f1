package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCheck: it refuses what Create refuses, alike, and leaves nothing behind.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "old", "old", 0o644)
	if err := os.Mkdir("d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("none", "dangling"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		opt  Options
		want error
	}{
		{"new", Options{}, nil},
		{"d/new", Options{}, nil},
		{"old", Options{}, ErrExists},
		{"old", Options{Overwrite: true}, nil},
		{"old", Options{Overwrite: true, Keep: []string{"d/../old"}}, ErrKept},
		{"d", Options{Overwrite: true}, ErrNotRegular},
		{"dangling", Options{}, ErrNotRegular},
		{"none/new", Options{}, fs.ErrNotExist},
		{"old/new", Options{}, syscall.ENOTDIR},
		{"", Options{}, fs.ErrInvalid},
	} {
		err := Check(c.path, c.opt)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%q: %v, want %v", c.path, err, c.want)
		}
		f, cerr := Create(c.path, c.opt)
		if f != nil {
			f.Abort()
		}
		if (err == nil) != (cerr == nil) || err != nil && err.Error() != cerr.Error() {
			t.Errorf("%q: Check says %v, Create %v", c.path, err, cerr)
		}
	}
	if got := names(t, dir); got != "d dangling old" {
		t.Errorf("directory holds %q", got)
	}
}

// TestCheckPermission: a directory that may not be written to.
func TestCheckPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("ROOT MAY WRITE EVERYWHERE: needs another user")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := Check(filepath.Join(dir, "f"), Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, want permission denied", err)
	}
	if err := MakeDir(filepath.Join(dir, "d"), true); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, want permission denied", err)
	}
}

// TestMakeDir: made, or only looked at, and refused alike.
func TestMakeDir(t *testing.T) {
	for _, dry := range []bool{true, false} {
		t.Chdir(t.TempDir())
		put(t, "old", "old", 0o644)
		for path, want := range map[string]error{
			"new/":      nil,
			"./":        nil,
			"old/":      syscall.ENOTDIR,
			"old/new/":  syscall.ENOTDIR,
			"none/new/": fs.ErrNotExist,
		} {
			if err := MakeDir(path, dry); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s, dry %t: %v, want %v", path, dry, err, want)
			}
		}
		if info, err := os.Stat("new"); (err == nil) == dry || err == nil && !info.IsDir() {
			t.Errorf("dry %t: new is there: %t", dry, err == nil)
		}
	}
}
