//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package libraw

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limits are those of addresses, which grow once, when the number of samples is known.
type limits struct {
	start int64 // bytes of addresses before the photo
	size  int64 // bytes of the file
}

// More threads than Go's runtime starts for this process's few goroutines, and a larger
// heap than it needs.
const (
	spareThreads = 8
	heapBytes    = 16 << 20
)

// reserve has the runtime take its addresses now: a thread's stack has 8 MiB of them, and
// where it cannot have more the runtime ends the process.
func reserve() {
	var started, done sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		started.Add(1)
		done.Go(func() {
			runtime.LockOSThread() // no two goroutines on one thread
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	done.Wait()
	runtime.KeepAlive(make([]byte, heapBytes)) // the heap takes addresses in pieces of 64 MiB
	runtime.GC()
	time.Sleep(time.Microsecond) // starts the runtime's poller, which needs descriptors
}

// confine maps the photo and takes from the process what it does not need to read it:
// new files, sockets and pipes, written files, core dumps, and more memory and time
// than the file's size explains.
func confine() (file []byte, l *limits, err error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(photoFD, &st); err != nil {
		return nil, nil, err
	}
	if st.Size <= 0 || int64(int(st.Size)) != st.Size {
		return nil, nil, errors.New("the file is empty or too large")
	}
	reserve()
	l = &limits{start: addressSpace(), size: st.Size}
	// Writable, as LibRaw's interface is not const; private, so that the file stays as it is.
	if file, err = syscall.Mmap(photoFD, 0, int(st.Size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE); err != nil {
		return nil, nil, fmt.Errorf("mmap: %w", err)
	}
	seconds := uint64(cpuSeconds + st.Size>>20)
	for _, r := range []struct {
		what       int
		soft, hard uint64
	}{
		{syscall.RLIMIT_CORE, 0, 0},
		{syscall.RLIMIT_FSIZE, 0, 0},
		{syscall.RLIMIT_NOFILE, 0, 0},
		{syscall.RLIMIT_CPU, seconds, seconds},
		{syscall.RLIMIT_AS, l.bytes(0), l.bytes(maxPixels(st.Size))},
	} {
		if err := limit(r.what, r.soft, r.hard); err != nil {
			return nil, nil, err
		}
	}
	return file, l, nil
}

func (l *limits) bytes(pixels int64) uint64 { return uint64(l.start + addressBytes(l.size, pixels)) }

// forPixels makes room for the samples.
func (l *limits) forPixels(n int64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &now); err != nil {
		return err
	}
	now.Cur = min(l.bytes(n), now.Max)
	return os.NewSyscallError("setrlimit", syscall.Setrlimit(syscall.RLIMIT_AS, &now))
}

// limit never raises what is limited already.
func limit(what int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(what, &now); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	now = syscall.Rlimit{Cur: min(soft, now.Max), Max: min(hard, now.Max)}
	return os.NewSyscallError("setrlimit", syscall.Setrlimit(what, &now))
}

// addressSpace is what Linux says that the process has (proc(5): VmSize, kB). Where
// nobody tells it is taken for what Go's runtime reserves at most.
func addressSpace() int64 {
	if n := statusBytes("/proc/self/status", "VmSize"); n > 0 {
		return n
	}
	return 8 << 30
}

// closeOthers closes descriptors above last that the parent's libraries left open for
// its children, a GPU's among them. Those of Go's poller are this process's own.
func closeOthers(last int) {
	const dir = "/proc/self/fd/"
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range names {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n <= last {
			continue
		}
		if target, err := os.Readlink(dir + e.Name()); err == nil && !strings.HasPrefix(target, "anon_inode:[event") {
			_ = syscall.Close(n)
		}
	}
}
