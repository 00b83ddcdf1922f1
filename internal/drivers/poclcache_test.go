package drivers

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// small mounts a file system of some bytes, or skips the test.
func small(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).Run(); err != nil {
		t.Skipf("SKIPPED, nothing was tested: a small file system cannot be mounted (that takes root): %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	return dir
}

// TestPoCLFolders: a folder that kernels cannot be kept in is named, and another is used.
func TestPoCLFolders(t *testing.T) {
	for _, c := range []struct{ name, options, want string }{
		{"tiny", "size=4m", "has 4.0 MiB left on its disk"},
		{"no-files", "size=64m,nr_inodes=2", "no more files"},
		{"read-only", "ro", "read-only file system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad, temporary := small(t, c.options), t.TempDir()
			dir := filepath.Join(bad, "kernels")
			if c.name == "no-files" { // the folder itself takes the last
				dir = bad
				if err := os.WriteFile(filepath.Join(bad, "last"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv(poclCacheEnv, dir)
			t.Setenv("TMPDIR", temporary)
			var said []string
			if err := preparePoCL(func(s string) { said = append(said, s) }); err != nil {
				t.Fatal(err)
			}
			if len(said) != 1 || !strings.Contains(said[0], dir) || !strings.Contains(said[0], c.want) {
				t.Errorf("said %q, want %q of %s", said, c.want, dir)
			}
			if got := os.Getenv(poclCacheEnv); !strings.HasPrefix(got, temporary) {
				t.Errorf("PoCL's folder is %s, want one in %s", got, temporary)
			}
			t.Setenv(poclCacheEnv, dir)
			t.Setenv("TMPDIR", filepath.Join(bad, "none"))
			if err := preparePoCL(func(string) {}); err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("with no folder at all: %v", err)
			}
		})
	}
}

// TestTemporaryOfOthers: a folder for libraries is nobody else's.
func TestTemporaryOfOthers(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	dir, err := ownTemporary()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ownTemporary(); err != nil || again != dir {
		t.Errorf("again: %s, %v", again, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ownTemporary(); err == nil {
		t.Error("a folder that all may write to is taken")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := ownTemporary(); err == nil {
		t.Error("a symbolic link is taken")
	}
	if os.Getuid() != 0 {
		t.Log("SKIPPED in part: another user's folder (that takes root)")
		return
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := ownTemporary(); err == nil {
		t.Error("another user's folder is taken")
	}
}

// TestCutKernels: every length of the kernels that PoCL makes, but the whole, is found, in
// both kinds of file; in a folder of the program's own the files go.
func TestCutKernels(t *testing.T) {
	systemPoCL(t)
	o, _ := options(t)
	cache := t.TempDir()
	t.Setenv(poclCacheEnv, cache)
	if failed, err := Prepare(o); err != nil || len(failed) > 0 {
		t.Fatal(failed, err)
	}
	kinds := map[string]string{}
	_ = filepath.WalkDir(cache, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			kinds[filepath.Ext(name)] = name
		}
		return nil
	})
	if bad := damaged(cache); len(bad) > 0 {
		t.Fatalf("damaged from the beginning: %v", bad)
	}
	for _, kind := range []string{".so", ".bc"} {
		name := kinds[kind]
		if name == "" {
			t.Fatalf("PoCL made no %s", kind)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(text) {
			if n > 200 && n < len(text)-200 && n%97 != 0 {
				continue
			}
			if err := os.Truncate(name, int64(n)); err != nil {
				t.Fatal(err)
			}
			if bad := damaged(cache); !slices.Contains(bad, name) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, n, len(text), bad)
			}
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := sound(cache, false, func(string) {}); err == nil || !strings.Contains(err.Error(), "delete "+cache) {
		t.Errorf("in the user's folder: %v", err)
	}
	var said []string
	if err := sound(cache, true, func(s string) { said = append(said, s) }); err != nil || len(said) != 1 {
		t.Errorf("in the program's folder: %v, said %q", err, said)
	}
	if bad := damaged(cache); len(bad) > 0 {
		t.Errorf("left: %v", bad)
	}
}

// TestBeingWritten: a library that PoCL is linking has a name of its own until it is whole; it is not
// taken for a damaged one.
func TestBeingWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "AB"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tempfile_a1B2c3.so", "AB/kernel.so"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := damaged(dir), []string{filepath.Join(dir, "AB/kernel.so")}; !slices.Equal(got, want) {
		t.Errorf("damaged: %v, want %v", got, want)
	}
}

// TestSweep: what PoCL left more than a day ago goes from the program's own folder, and nothing else; of
// the user's folder nothing goes.
func TestSweep(t *testing.T) {
	for _, own := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), poclFolder)
		t.Setenv("ENHANCE_CACHE_DIR", filepath.Dir(dir))
		t.Setenv(poclCacheEnv, "")
		if !own {
			t.Setenv(poclCacheEnv, dir)
		}
		if err := os.MkdirAll(filepath.Join(dir, "AB", "tempfile_dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-25 * time.Hour)
		for name, age := range map[string]time.Time{
			"tempfile_old": old, "tempfile_old.cl": old, "tempfile_new": time.Now(), "tempfile_new.so": old.Add(2 * time.Hour),
			"AB/last_accessed": old, "other": old,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, name), age, age); err != nil {
				t.Fatal(err)
			}
		}
		if err := preparePoCL(func(s string) { t.Errorf("said %q", s) }); err != nil {
			t.Fatal(err)
		}
		var left []string
		top, _ := os.ReadDir(dir)
		for _, e := range top {
			left = append(left, e.Name())
		}
		want := []string{"AB", "other", "tempfile_new", "tempfile_new.so"}
		if !own {
			want = append(want, "tempfile_old", "tempfile_old.cl")
		}
		if !slices.Equal(left, want) {
			t.Errorf("own %t: left %v, want %v", own, left, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "AB", "last_accessed")); err != nil {
			t.Error(err)
		}
	}
}
