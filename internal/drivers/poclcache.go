package drivers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"enhance/clrt"
	"enhance/internal/bytesize"
)

// PoCL keeps every kernel that it compiles as a shared library in a folder, and ends the
// process when it cannot: when the disk is full (LLVM calls exit), when a file there was
// cut (dlopen fails, an assertion follows). So the folder is looked at before PoCL is
// loaded, and one of the program's own is used where the user names none.

const (
	poclCacheEnv = "POCL_CACHE_DIR"
	poclFolder   = "pocl" // of the program's cache
	// poclRoom is the room that a folder must have: a first run of a large network writes
	// 15 MB (26 kernels of the shipped one 1.2 MB).
	poclRoom = 32 << 20
)

// preparePoCL chooses PoCL's folder. The error says why there is none, and which were
// tried.
func preparePoCL(say func(string)) error {
	if os.Getenv("POCL_KERNEL_CACHE") == "0" { // it keeps nothing
		return nil
	}
	dir, own := os.Getenv(poclCacheEnv), false
	if dir == "" {
		if dir, own = clrt.CacheDir(poclFolder), true; dir == "" {
			base, err := os.UserCacheDir()
			if err != nil {
				return useTemporary(err, say)
			}
			dir, own = filepath.Join(base, "pocl", "kcache"), false // PoCL's own choice
		}
	}
	problem := usableFolder(dir)
	if problem == nil {
		problem = sound(dir, own, say)
	}
	if problem == nil && own {
		sweep(dir)
	}
	if problem != nil {
		return useTemporary(problem, say)
	}
	return os.Setenv(poclCacheEnv, dir)
}

// useTemporary has PoCL use a folder among the temporary ones in place of one that has a
// problem.
func useTemporary(problem error, say func(string)) error {
	base, err := ownTemporary()
	if err != nil {
		return errors.Join(problem, err)
	}
	dir := filepath.Join(base, poclFolder)
	if err = usableFolder(dir); err == nil {
		err = sound(dir, true, say)
	}
	if err != nil {
		return fmt.Errorf("%w; %w", problem, err)
	}
	sweep(dir)
	say(fmt.Sprintf("PoCL keeps its kernels in %s for now: %v", dir, problem))
	return os.Setenv(poclCacheEnv, dir)
}

// usableFolder makes a folder if need be, and says why files cannot be kept there.
func usableFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the cache folder %s cannot be made: %w", dir, cause(err))
	}
	bytes, files, known := free(dir)
	if known && !files {
		return fmt.Errorf("the cache folder %s is on a disk that has room for no more files: remove some", dir)
	}
	if known && bytes < poclRoom {
		return fmt.Errorf("the cache folder %s has %s left on its disk, and kernels need %s: make room there", dir, bytesize.Text(bytes), bytesize.Text(poclRoom))
	}
	f, err := os.CreateTemp(dir, ".trial-*")
	if err != nil {
		return fmt.Errorf("the cache folder %s cannot be written: %w", dir, cause(err))
	}
	_, err = f.WriteString("x")
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	if err != nil {
		return fmt.Errorf("the cache folder %s cannot be written: %w", dir, cause(err))
	}
	return nil
}

// cause is an error without the name of the file.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// sound looks for damaged kernels. In a folder of the program's own they are removed,
// which is said; of another one the first is the error.
func sound(dir string, own bool, say func(string)) error {
	bad := damaged(dir)
	if len(bad) == 0 {
		return nil
	}
	if !own {
		return fmt.Errorf("the cache folder %s holds a kernel that was cut short: delete %s", dir, bad[0])
	}
	for _, name := range bad {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("the damaged kernel %s cannot be removed: %w", name, cause(err))
		}
	}
	say(fmt.Sprintf("%d damaged kernels are removed from the cache folder %s; PoCL compiles them again", len(bad), dir))
	return nil
}

// beingWritten reports whether a file of PoCL's folder has one of the names that PoCL gives to sources,
// objects and libraries while it writes them.
func beingWritten(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasPrefix(e.Name(), "tempfile_")
}

// sweep removes files that are no longer being written from a folder of the program's own: PoCL leaves an
// empty one for every process that it is loaded into, and others where processes are killed. Nothing takes
// a day to be written. What cannot be removed stays.
func sweep(dir string) {
	top, _ := os.ReadDir(dir)
	for _, e := range top {
		if !beingWritten(e) {
			continue
		}
		if i, err := e.Info(); err == nil && time.Since(i.ModTime()) > 24*time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// ownTemporary is a folder of this user's alone, the same for all processes, so that
// kernels there are kept and nothing has to be removed. Libraries are loaded from it:
// another user's is refused.
func ownTemporary() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("enhance-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("the folder %s cannot be made: %w", dir, cause(err))
	}
	i, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("the folder %s cannot be used: %w", dir, cause(err))
	}
	if !mine(i) {
		return "", fmt.Errorf("the folder %s is another user's, or open to others: remove it", dir)
	}
	return dir, nil
}
