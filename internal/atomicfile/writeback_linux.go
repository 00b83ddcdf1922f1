package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriting has the system begin to write to the disk what it holds of a file, and does not wait:
// what is there already need not be waited for by Sync. Errors are Sync's to report.
func startWriting(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
