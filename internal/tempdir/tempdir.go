// Package tempdir makes folders for a process's temporary files. A process that is killed
// leaves its folder behind; the next one that asks for a folder removes it.
//
// A folder belongs to a process as long as that holds the lock on a file in it, which the
// system lets go when the process ends in whatever way. Where the system has no such locks
// (Windows) nothing is removed.
package tempdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	prefix   = "enhance-"
	lockName = ".lock-of-enhance"
)

// locks are those of this process, by folder: a file that nobody refers to is closed.
var locks sync.Map

// New makes a folder in the system's folder for temporary files, after removing those that
// processes of this user left there when they were killed. kind is part of its name. The
// caller must Remove it.
func New(kind string) (dir string, err error) {
	sweep(os.TempDir())
	if dir, err = os.MkdirTemp("", prefix+kind+"-"); err != nil {
		return "", err
	}
	// The file has its name only when it is locked: nobody may find it unlocked before.
	unready := filepath.Join(dir, lockName+".new")
	lock, err := os.OpenFile(unready, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if !tryLock(lock) {
		err = fmt.Errorf("a new file in %s cannot be locked: choose another folder with TMPDIR", dir)
	}
	if err = errors.Join(err, os.Rename(unready, filepath.Join(dir, lockName))); err != nil {
		return "", errors.Join(err, lock.Close(), os.RemoveAll(dir))
	}
	locks.Store(dir, lock)
	return dir, nil
}

// Remove removes a folder that New made, with all that is in it.
func Remove(dir string) error {
	if lock, ok := locks.LoadAndDelete(dir); ok {
		lock.(*os.File).Close() // Windows removes no open file
	}
	return os.RemoveAll(dir)
}

// sweep removes the folders of processes that are no more. Whatever cannot be looked into
// stays.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || !e.IsDir() || !own(dir) {
			continue
		}
		name := filepath.Join(dir, lockName)
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(lock) {
			os.RemoveAll(dir)
		}
		lock.Close()
	}
}
