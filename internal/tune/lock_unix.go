//go:build linux || darwin

package tune

import (
	"context"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a waiting process looks again.
const lockPoll = 50 * time.Millisecond

// lock takes an advisory lock of the file, which the system drops when the
// process ends. The file stays: removing it would let two holders lock two files
// of one name.
func lock(ctx context.Context, path string, waiting func()) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close()
			return nil, err
		}
		if first && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}
