package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names lists a directory, hidden files included.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, e := range entries {
		s = append(s, e.Name())
	}
	return strings.Join(s, " ")
}

func wantContents(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", filepath.Base(path), got, want)
	}
}

func put(t *testing.T, path, data string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, path string, opt Options) *File {
	t.Helper()
	f, err := Create(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.png")
	f := create(t, path, Options{})
	if got := names(t, dir); got != "" && !strings.HasPrefix(got, ".out.png-") {
		t.Errorf("while writing the directory holds %q, want a hidden file at most", got)
	}
	for _, s := range []string{"one ", "two"} {
		if n, err := io.WriteString(f, s); err != nil || n != len(s) {
			t.Fatal(n, err)
		}
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "out.png" {
		t.Errorf("after Commit the directory holds %q", got)
	}
	wantContents(t, path, "one two")
	if err := f.Abort(); err != nil {
		t.Errorf("Abort after Commit: %v", err)
	}
	wantContents(t, path, "one two")
	if err := f.Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Commit: %v, want ErrClosed", err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Commit: %v, want ErrClosed", err)
	}
}

func TestCommitRelativeName(t *testing.T) {
	t.Chdir(t.TempDir())
	f := create(t, "out.png", Options{})
	io.WriteString(f, "x")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, "out.png", "x")
}

func TestSeekPatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := create(t, path, Options{})
	io.WriteString(f, "....data")
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "head")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, path, "headdata")
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := create(t, filepath.Join(dir, "out.png"), Options{})
	io.WriteString(f, "half")
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("after Abort the directory holds %q", got)
	}
	if err := f.Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit after Abort: %v, want ErrClosed", err)
	}
}

func TestAbortKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.png")
	put(t, path, "old", 0o600)
	f := create(t, path, Options{Overwrite: true})
	io.WriteString(f, "new")
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, path, "old")
	if got := names(t, dir); got != "out.png" {
		t.Errorf("directory holds %q", got)
	}
}

func TestExistingTarget(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.png")
	put(t, path, "old", 0o640)
	_, err := Create(path, Options{})
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), path) {
		t.Errorf("Create: %v, want ErrExists with the path", err)
	}
	f := create(t, path, Options{Overwrite: true})
	io.WriteString(f, "new")
	wantContents(t, path, "old") // until Commit
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, path, "new")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, want the old file's 0640", info.Mode())
	}
}

func TestTargetAppearsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.png")
	f := create(t, path, Options{})
	io.WriteString(f, "new")
	put(t, path, "other", 0o644)
	if err := f.Commit(); !errors.Is(err, ErrExists) {
		t.Errorf("Commit: %v, want ErrExists", err)
	}
	wantContents(t, path, "other")
	if got := names(t, dir); got != "out.png" {
		t.Errorf("directory holds %q", got)
	}
}

func TestRefusedTargets(t *testing.T) {
	dir := t.TempDir()
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	file := filepath.Join(dir, "file")
	put(t, file, "", 0o644)
	before := names(t, dir)
	tests := []struct {
		name, path string
		want       error
	}{
		{"Empty", "", fs.ErrInvalid},
		{"Directory", dir, ErrNotRegular},
		{"DirectorySlash", dir + "/", ErrNotRegular},
		{"Device", os.DevNull, ErrNotRegular},
		{"DanglingLink", dangling, ErrNotRegular},
		{"NoSuchDirectory", filepath.Join(dir, "none", "out.png"), fs.ErrNotExist},
		{"NoSuchDirectorySlash", filepath.Join(dir, "none") + "/", fs.ErrNotExist},
		{"NoSuchDirectoryAndBack", filepath.Join(dir, "none") + "/../out.png", fs.ErrNotExist},
		{"FileAsDirectory", filepath.Join(file, "out.png"), nil},
		{"NameTooLong", filepath.Join(dir, strings.Repeat("x", 300)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Create(tt.path, Options{Overwrite: true})
			if err == nil {
				f.Abort()
				t.Fatal("Create succeeded")
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("error %T, want *Error", err)
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Create: %v, want %v", err, tt.want)
			}
			if !strings.Contains(err.Error(), tt.path) {
				t.Errorf("error %q does not name the path", err)
			}
		})
	}
	if after := names(t, dir); after != before {
		t.Errorf("directory changed from %q to %q", before, after)
	}
}

func TestLongestName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 255))
	f := create(t, path, Options{})
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, path, "")
}

func TestSymlinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	put(t, real, "old", 0o644)
	if err := os.Symlink("real", link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	f := create(t, link, Options{Overwrite: true})
	io.WriteString(f, "new")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, real, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
}

// TestNamed: where the system has no unnamed files, a file of another process keeps the
// name and nothing is left behind.
func TestNamed(t *testing.T) {
	newUnnamed = func(string) *os.File { return nil }
	defer func() { newUnnamed = openUnnamed }()
	TestCommit(t)
	TestTargetAppearsMeanwhile(t)
	TestExistingTarget(t)
}

// TestKeep: a file that is made from another never replaces it, whatever name
// leads there.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	photo, hard, soft := filepath.Join(dir, "photo"), filepath.Join(dir, "hard"), filepath.Join(dir, "soft")
	put(t, photo, "precious", 0o644)
	if err := os.Link(photo, hard); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(photo, soft); err != nil {
		t.Fatal(err)
	}
	keep := Options{Overwrite: true, Keep: []string{"", filepath.Join(dir, "missing"), photo}}
	for _, path := range []string{photo, hard, soft, filepath.Join(dir, ".", "photo")} {
		f, err := Create(path, keep)
		if !errors.Is(err, ErrKept) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want ErrKept and the path", path, err)
		}
		if f != nil {
			f.Abort()
		}
	}
	wantContents(t, photo, "precious")
	other := filepath.Join(dir, "other")
	put(t, other, "precious", 0o644) // the same contents, another file
	if err := create(t, other, keep).Commit(); err != nil {
		t.Error(err)
	}
}

// TestLinkAndBack: ".." after a symbolic link leads where the system says, not where
// the text of the path does.
func TestLinkAndBack(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("a", "b"), filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	f := create(t, dir+"/link/../out.png", Options{})
	io.WriteString(f, "x")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContents(t, filepath.Join(dir, "a", "out.png"), "x")
	if got := names(t, dir); got != "a link" {
		t.Errorf("directory holds %q", got)
	}
}
