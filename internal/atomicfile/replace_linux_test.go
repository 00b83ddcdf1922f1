package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// wantUnreplaceable wants Create and Check to refuse path for a reason, and the system to
// refuse the rename that they save the work for.
func wantUnreplaceable(t *testing.T, path string, want error) {
	t.Helper()
	f, err := Create(path, Options{Overwrite: true})
	if f != nil {
		defer f.Abort()
	}
	var e *Error
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Path != path || e.Hint == "" {
		t.Errorf("Create: error %v, want %v", err, want)
	}
	if err := Check(path, Options{Overwrite: true}); !errors.Is(err, want) {
		t.Errorf("Check: error %v, want %v", err, want)
	}
	beside := filepath.Join(filepath.Dir(path), "beside")
	if err := os.WriteFile(beside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(beside)
	if err := os.Rename(beside, path); err == nil {
		t.Error("the system replaces the file")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("the file holds %q (%v)", got, err)
	}
}

// TestReplaceImmutable: a file whose attribute forbids changes (chattr +i).
func TestReplaceImmutable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.png")
	put(t, path, "old", 0o644)
	for _, flag := range []int{unix.STATX_ATTR_IMMUTABLE, unix.STATX_ATTR_APPEND} { // FS_IMMUTABLE_FL and FS_APPEND_FL have the same values
		setFlags(t, path, flag)
		wantUnreplaceable(t, path, errImmutable)
		setFlags(t, path, 0)
	}
	if err := Check(path, Options{Overwrite: true}); err != nil {
		t.Errorf("an ordinary file: %v", err)
	}
}

func setFlags(t *testing.T, path string, flags int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
		t.Skipf("NO ATTRIBUTES OF FILES HERE (needs root and a file system that has them): %v", err)
	}
}

// TestReplaceSticky: another user's file in a directory like /tmp. The test is a user's
// without privileges for a while, for the file system only.
func TestReplaceSticky(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: files of other users are not tested")
	}
	dir, err := os.MkdirTemp("/tmp", "sticky-") // t.TempDir's parents are root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "out.png")
	put(t, path, "old", 0o644)
	const owner, other, user = 12001, 12002, 12003
	for _, err := range []error{os.Chown(path, other, other), os.Chown(dir, owner, owner), os.Chmod(dir, 0o777|fs.ModeSticky)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() { // its thread ends with it
		defer close(done)
		runtime.LockOSThread()
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETFSUID, user, 0, 0); e != 0 {
			t.Error(e)
			return
		}
		wantUnreplaceable(t, path, errSticky)
	}()
	<-done
	if err := Check(path, Options{Overwrite: true}); err != nil {
		t.Errorf("root: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
}

// TestReplaceMounted: a file that is a mount point, as containers have them.
func TestReplaceMounted(t *testing.T) {
	dir := t.TempDir()
	path, source := filepath.Join(dir, "out.png"), filepath.Join(dir, "source")
	put(t, path, "", 0o644)
	put(t, source, "old", 0o644)
	if err := unix.Mount(source, path, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("CANNOT MOUNT (needs root): %v", err)
	}
	defer unix.Unmount(path, unix.MNT_DETACH)
	wantUnreplaceable(t, path, errMount)
}

// TestReplaceLongPath: a path with room for the file, but not for the name that the
// finished file has before it replaces the old one.
func TestReplaceLongPath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	long := strings.Repeat("x", 200)
	path := ""
	for len(path)+len(long)+1 < pathMax-30 {
		path += long + "/"
	}
	path += strings.Repeat("y", pathMax-5-len(path))
	// The system makes no directory by so long a name at once.
	parts := strings.Split(path, "/")
	for _, part := range parts[:len(parts)-1] {
		if err := os.Mkdir(part, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Chdir(part)
	}
	put(t, parts[len(parts)-1], "old", 0o644)
	t.Chdir(dir)
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Fatalf("the file holds %q (%v)", got, err)
	}
	for _, err := range []error{func() error { _, err := Create(path, Options{Overwrite: true}); return err }(), Check(path, Options{Overwrite: true})} {
		var e *Error
		if !errors.Is(err, syscall.ENAMETOOLONG) || !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("error %v", err)
		}
	}
}
