package tempdir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNew: what a killed process left goes when the next begins; what a running one has and
// what is not of this package stays.
func TestNew(t *testing.T) {
	const env = "TEMPDIR_TEST"
	if os.Getenv(env) != "" { // the process that is killed
		dir, err := New("farm")
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, "photo"), []byte("x"), 0o600)
		os.Stdout.WriteString("dir " + dir + "\n")
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	if runtime.GOOS == "windows" {
		t.Skip("no locks")
	}
	t.Setenv("TMPDIR", t.TempDir())
	own, err := New("farm")
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(os.TempDir(), "enhance-other")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	link := filepath.Join(os.TempDir(), "enhance-farm-link")
	if err := errors.Join(os.WriteFile(filepath.Join(elsewhere, lockName), nil, 0o600), os.Symlink(elsewhere, link)); err != nil {
		t.Fatal(err)
	}
	runtime.GC() // the lock is held, though nothing but the package refers to it
	runtime.GC()
	c := exec.Command(os.Args[0], "-test.run", "^TestNew$")
	c.Env = append(os.Environ(), env+"=1")
	out, err := c.Output()
	text, _, _ := bytes.Cut(out, []byte("\n"))
	left, ok := strings.CutPrefix(string(text), "dir ")
	if err == nil || !ok {
		t.Fatalf("the process was not killed: %v, %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(left, "photo")); err != nil {
		t.Fatal(err)
	}
	second, err := New("queue")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	for _, dir := range []string{own, second, foreign, link, filepath.Join(elsewhere, lockName)} {
		if _, err := os.Lstat(dir); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(Remove(own), Remove(second)); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{own, second} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}
