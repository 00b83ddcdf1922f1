package libraw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// Image is an open photo: its facts, and a process that has its samples. It is not safe
// for concurrent use.
type Image struct {
	Meta mosaic.Meta

	facts *facts
	size  int64 // of the file
	child *child
	peak  int64 // of the process, once it has ended
}

// LibraryEnv names the library to load in place of the system's.
const LibraryEnv = "ENHANCE_LIBRAW_LIB"

// UnusableError says that there is no LibRaw on this system that can be used.
type UnusableError struct{ Why string }

func (e *UnusableError) Error() string { return e.Why }

// UnknownError says that LibRaw does not know the file's format.
type UnknownError struct{ Version string }

func (e *UnknownError) Error() string { return e.Version }

// patience is how long the process may be silent: the file's size explains only little
// of it.
func patience(size int64) time.Duration {
	return 30*time.Second + time.Duration(size>>23)*time.Second
}

// Open reads the photo in a file, all of it. command is an executable's path and then
// its arguments, the name that it is called by first, with which it calls [Serve]. f
// may be closed when Open returns. The caller must Close the image.
//
// Besides the errors of package rawerr there are [*UnusableError] and [*UnknownError].
func Open(f *os.File, command []string) (*Image, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return open(f, info.Size(), command, patience(info.Size()))
}

func open(f *os.File, size int64, command []string, patience time.Duration) (*Image, error) {
	if !supported {
		return nil, &UnusableError{"LibRaw is not bound on this operating system or processor"}
	}
	c, err := startChild(command, f, patience)
	if err != nil {
		return nil, err
	}
	im := &Image{child: c, size: size}
	if err := im.read(); err != nil {
		return nil, errors.Join(err, im.Close())
	}
	return im, nil
}

// read gets the facts and has the samples decoded. What is refused by name is refused
// before that.
func (im *Image) read() error {
	first, err := im.nextFacts(kindIdentified)
	if err != nil {
		return err
	}
	if _, err := first.pattern(); err != nil {
		return err
	}
	if err := im.child.ask(0, 0); err != nil {
		return im.child.fail(err)
	}
	f, err := im.nextFacts(kindDecoded)
	if err != nil {
		return err
	}
	if f.RawWidth != first.RawWidth || f.RawHeight != first.RawHeight {
		return im.child.fail(&nonsense{fmt.Sprintf("%dx%d samples became %dx%d", first.RawWidth, first.RawHeight, f.RawWidth, f.RawHeight)})
	}
	im.facts = f
	if im.Meta, err = f.meta(); errors.As(err, new(*nonsense)) {
		err = im.child.fail(err)
	}
	return err
}

func (im *Image) nextFacts(want kind) (*facts, error) {
	k, payload, err := im.child.answer()
	if err != nil {
		return nil, im.child.fail(err)
	}
	switch k {
	case want:
		f, err := parseFacts(payload, im.size)
		if errors.As(err, new(*nonsense)) {
			err = im.child.fail(err)
		}
		return f, err
	case kindUnusable:
		return nil, &UnusableError{string(payload)}
	case kindUnknown:
		return nil, &UnknownError{string(payload)}
	case kindDamaged:
		return nil, rawerr.Formatf("libraw", "%s", payload)
	}
	return nil, im.child.fail(&nonsense{fmt.Sprintf("an answer of kind %q, want %q", k, want)})
}

// ReadRows reads rows y0 to y0+n-1 of the visible area into dst, Meta.Width samples a
// row.
func (im *Image) ReadRows(y0, n int, dst []uint16) error {
	w := im.Meta.Width
	for most := maxRowsBytes / (2 * w); n > 0; {
		k := min(n, most)
		if err := im.child.ask(y0, k); err != nil {
			return im.child.fail(err)
		}
		got, payload, err := im.child.answer()
		if err == nil && (got != kindRows || len(payload) != 2*k*w) {
			err = &nonsense{fmt.Sprintf("an answer of kind %q and %d bytes, want %d rows", got, len(payload), k)}
		}
		if err != nil {
			return im.child.fail(err)
		}
		for i := range dst[:k*w] {
			dst[i] = binary.LittleEndian.Uint16(payload[2*i:])
		}
		y0, n, dst = y0+k, n-k, dst[k*w:]
	}
	return nil
}

// Bytes is the most that the process may hold in memory; it limits itself.
func (im *Image) Bytes() int64 { return ownBytes + addressBytes(im.size, im.facts.pixels()) }

// Peak is the most memory that the process had resident so far; 0 where the system does
// not tell (it does on Linux).
func (im *Image) Peak() int64 {
	if pid := im.child.pid(); pid > 0 {
		im.peak = max(im.peak, statusBytes(fmt.Sprintf("/proc/%d/status", pid), "VmHWM"))
	}
	return im.peak
}

// Close ends the process.
func (im *Image) Close() error {
	if im.facts != nil {
		im.Peak()
	}
	im.child.kill()
	return nil
}

// child is the process as the parent sees it.
type child struct {
	cmd      *exec.Cmd
	requests io.WriteCloser
	replies  *os.File
	patience time.Duration
	room     []byte
	failed   error
	ended    bool
}

func startChild(command []string, photo *os.File, patience time.Duration) (*child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()                                                                                             // the process's copy is its own: the pipe ends with it
	cmd := &exec.Cmd{Path: command[0], Args: command[1:], Env: environment(), ExtraFiles: []*os.File{photo, w}} // from descriptor 3 on
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &child{cmd: cmd, requests: in, replies: r, patience: patience, room: make([]byte, maxPayload)}, nil
}

// environment is what the process is told: where libraries are, and what makes LibRaw's
// answers and memory the same everywhere. Timestamps of cameras have no time zone.
func environment() []string {
	env := []string{"LANG=C", "TZ=UTC0", "OMP_NUM_THREADS=1", "MALLOC_ARENA_MAX=1", "GOMAXPROCS=2"}
	for _, name := range []string{LibraryEnv, "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// ask sends a request. A process that reads none has room for it in its pipe, as there
// is one at a time.
func (c *child) ask(y0, n int) error {
	if c.failed != nil {
		return c.failed
	}
	_, err := c.requests.Write(encodeRequest(y0, n))
	return err
}

// answer reads a frame; its payload stays until the next. A frame that is not whole in
// time is os.ErrDeadlineExceeded.
func (c *child) answer() (kind, []byte, error) {
	if err := c.replies.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, nil, err
	}
	return readFrame(c.replies, c.room)
}

// fail ends the process after an error of talking with it and says what became of it.
func (c *child) fail(err error) error {
	if c.failed != nil {
		return c.failed
	}
	c.kill()
	var bad *nonsense
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.failed = rawerr.Formatf("libraw", "LibRaw gave no answer for %v and was stopped: the file is damaged, or LibRaw has a fault", c.patience)
	case errors.As(err, &bad):
		c.failed = rawerr.Formatf("libraw", "LibRaw's process answered nonsense (%s) and was stopped: the file is damaged, or LibRaw has a fault", bytes.TrimSpace([]byte(bad.what)))
	default: // the pipe ended
		c.failed = rawerr.Formatf("libraw", "LibRaw's process ended without an answer (%v): the file is damaged, or LibRaw has a fault", c.cmd.ProcessState)
	}
	return c.failed
}

// pid is 0 once the process has ended.
func (c *child) pid() int {
	if c.ended {
		return 0
	}
	return c.cmd.Process.Pid
}

// kill ends the process and waits until it, with all that it held, is gone.
func (c *child) kill() {
	if c.ended {
		return
	}
	c.ended = true
	_ = c.requests.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.replies.Close()
}
