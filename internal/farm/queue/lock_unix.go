//go:build unix

package queue

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir keeps a second server out of a queue's folder until the file is closed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, failed("start the server", fmt.Errorf("%s belongs to a server that is running: stop it, or choose another folder with --queue", dir))
	}
	return f, nil
}
