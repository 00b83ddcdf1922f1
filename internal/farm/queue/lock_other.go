//go:build !unix

package queue

import (
	"os"
	"path/filepath"
)

// lockDir holds no second server off: its port does.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
}
