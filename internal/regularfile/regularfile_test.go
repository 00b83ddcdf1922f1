package regularfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"enhance/internal/regularfile"
)

// irregular makes one of each kind of thing that is no regular file.
func irregular(t *testing.T) map[string]error {
	t.Helper()
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := makePipe(pipe); err != nil {
		t.Skipf("SKIPPED, nothing was tested: no pipes here: %v", err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skipf("SKIPPED, nothing was tested: no sockets here: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	return map[string]error{
		dir:                           syscall.EISDIR,
		pipe:                          regularfile.ErrNotRegular,
		socket:                        regularfile.ErrNotRegular,
		os.DevNull:                    regularfile.ErrNotRegular,
		"/dev/zero":                   regularfile.ErrNotRegular,
		filepath.Join(dir, "missing"): fs.ErrNotExist,
	}
}

// TestOpenRefuses: a pipe without a writer would make the test wait for ever.
func TestOpenRefuses(t *testing.T) {
	for path, want := range irregular(t) {
		f, _, err := regularfile.Open(path)
		var of *fs.PathError
		if f != nil || !errors.Is(err, want) || !errors.As(err, &of) || of.Path != path {
			t.Errorf("Open(%s): %v, want %v", path, err, want)
		}
		if _, err := regularfile.Read(path, 10); !errors.Is(err, want) {
			t.Errorf("Read(%s): %v, want %v", path, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		f, size, err := regularfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 3)
		if _, err := f.ReadAt(b, 2); err != nil || size != 8 || string(b) != "nte" {
			t.Errorf("%s: %q of %d bytes, %v", name, b, size, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 999, 1000, 1001, 5000} {
		want := bytes.Repeat([]byte{7}, size)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := regularfile.Read(path, 1000)
		if size > 1000 {
			if !errors.Is(err, regularfile.ErrTooLarge) {
				t.Errorf("%d bytes: %v, want ErrTooLarge", size, err)
			}
		} else if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d read, %v", size, len(got), err)
		}
	}
	if runtime.GOOS == "linux" { // a file that tells no size
		if b, err := regularfile.Read("/proc/self/status", 1<<20); err != nil || !bytes.HasPrefix(b, []byte("Name:")) {
			t.Errorf("/proc/self/status: %q, %v", b, err)
		}
		if _, err := regularfile.Read("/proc/self/status", 10); !errors.Is(err, regularfile.ErrTooLarge) {
			t.Errorf("/proc/self/status within 10 bytes: %v", err)
		}
	}
}

// TestReadSparse: a file of gigabytes is refused without memory for it.
func TestReadSparse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("SKIPPED, nothing was tested: no sparse files here: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := regularfile.Read(path, 1<<16); !errors.Is(err, regularfile.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were allocated for a file of at most %d", took, 1<<16)
	}
}
