package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// maxPath is the longest name of a socket (unix(7)), in bytes.
const maxPath = 107

// Listener is the server's end.
type Listener struct {
	l    *net.UnixListener
	lock *os.File
	path string
}

// Listen makes the socket, which only its user may reach. Beside it a file PATH.lock is
// locked as long as the server lives, so that a socket without a server is told from one
// with a server, and is replaced.
func Listen(path string) (*Listener, error) {
	if len(path) > maxPath {
		return nil, &fs.PathError{Op: "serve at", Path: path, Err: fmt.Errorf("the name has %d bytes, and a socket's may have %d", len(path), maxPath)}
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return nil, &fs.PathError{Op: "serve at", Path: path,
			Err: fmt.Errorf("the lock beside it, %s.lock, cannot be opened: %w: give a path in a folder of yours", filepath.Base(path),
				at.Err)}
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &InUseError{path}
		}
		return nil, &fs.PathError{Op: "lock", Path: path + ".lock", Err: err}
	}
	l, err := bind(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Listener{l: l, lock: lock, path: path}, nil
}

// bind makes the socket in a folder of its own and moves it to its name when its mode is right,
// so that nobody else can reach it in between.
func bind(path string) (*net.UnixListener, error) {
	switch info, err := os.Lstat(path); {
	case err == nil && info.Mode().Type() != fs.ModeSocket:
		return nil, &fs.PathError{Op: "serve at", Path: path, Err: errors.New("it exists and is no socket: remove it, or give another path")}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".enhance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// The folder is reached by its descriptor: its name may be too long for a socket.
	at, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/s", at.Fd()), Net: "unix"})
	if err != nil {
		return nil, &fs.PathError{Op: "serve at", Path: path, Err: err}
	}
	l.SetUnlinkOnClose(false)
	made := filepath.Join(dir, "s")
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close removes the socket and takes no more connections; those that there are stay.
func (l *Listener) Close() error {
	return errors.Join(os.Remove(l.path), l.l.Close(), l.lock.Close())
}

// Accept waits for a client of the same user. Others are turned away.
func (l *Listener) Accept() (*Conn, error) {
	for {
		u, err := l.l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		c, err := newConn(u)
		if err == nil {
			return c, nil
		}
		u.Close()
	}
}

// Conn is a connection for one photo.
type Conn struct {
	u    *net.UnixConn
	peer int
	mu   sync.Mutex // of sending
}

// Dial connects to the server of the same user at path. The error is ErrNone where there is none.
func Dial(path string) (*Conn, error) {
	if len(path) > maxPath {
		return nil, ErrNone
	}
	u, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNone
	case err != nil:
		return nil, err
	}
	c, err := newConn(u)
	if err != nil {
		u.Close()
		return nil, err
	}
	return c, nil
}

// newConn asks the kernel who is at the other end.
func newConn(u *net.UnixConn) (*Conn, error) {
	sys, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	var failed error
	if err := sys.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	if int(cred.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("the process %d at the other end is another user's", cred.Pid)
	}
	return &Conn{u: u, peer: int(cred.Pid)}, nil
}

// Peer is the process at the other end.
func (c *Conn) Peer() int { return c.peer }

// SameProgram reports whether the process at the other end runs the same file as this one.
func (c *Conn) SameProgram() bool {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	other, err := os.Stat(fmt.Sprintf("/proc/%d/exe", c.peer))
	return err == nil && os.SameFile(own, other)
}

// Close ends the connection.
func (c *Conn) Close() error { return c.u.Close() }

// Wait returns when the other end has closed the connection. Nothing is due from it.
func (c *Conn) Wait() {
	c.u.SetReadDeadline(time.Time{})
	var b [1]byte
	c.u.Read(b[:])
}

func (c *Conn) send(v any, most int) error {
	text, err := frame(v, most)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.u.SetWriteDeadline(time.Now().Add(patience))
	_, err = c.u.Write(text)
	return err
}

// SendHello and SendReply are the server's; calls of the latter may come at the same time.
func (c *Conn) SendHello(h Hello) error { return c.send(h, maxHello) }
func (c *Conn) SendReply(r Reply) error { return c.send(r, maxReply) }

// Hello reads what the server says of itself.
func (c *Conn) Hello() (h Hello, err error) {
	c.u.SetReadDeadline(time.Now().Add(patience))
	err = readFrame(c.u, maxHello, &h)
	c.u.SetReadDeadline(time.Time{})
	return h, err
}

// Reply reads the server's next message, however long it takes.
func (c *Conn) Reply() (r Reply, err error) {
	err = readFrame(c.u, maxReply, &r)
	return r, err
}

// SendRequest sends an order with its files, which stay the caller's.
func (c *Conn) SendRequest(r Request, photo, picture *os.File) error {
	text, err := frame(r, maxRequest)
	if err != nil {
		return err
	}
	rights := syscall.UnixRights(int(photo.Fd()), int(picture.Fd()))
	c.u.SetWriteDeadline(time.Now().Add(patience))
	n, _, err := c.u.WriteMsgUnix(text, rights, nil)
	if err == nil && n < len(text) { // the files went with the first bytes
		_, err = c.u.Write(text[n:])
	}
	return err
}

// ReadRequest reads an order and its files, which are the caller's: the photo, a regular file
// that can be read, and the picture's, one that can be written.
func (c *Conn) ReadRequest() (r Request, photo, picture *os.File, err error) {
	c.u.SetReadDeadline(time.Now().Add(patience))
	in := &withFiles{u: c.u}
	err = readFrame(in, maxRequest, &r)
	switch {
	case err != nil:
	case in.cut || len(in.files) != 2:
		err = errors.New("serve: a request comes with two files, the photo and the picture's")
	default:
		if err = regular(in.files[0], syscall.O_WRONLY, "read"); err == nil {
			err = regular(in.files[1], syscall.O_RDONLY, "written")
		}
	}
	if err != nil {
		for _, f := range in.files {
			f.Close()
		}
		return Request{}, nil, nil, err
	}
	return r, in.files[0], in.files[1], nil
}

// regular refuses an open file that is not a regular one or was opened in that mode only.
func regular(f *os.File, not int, what string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	switch {
	case errno != 0:
		return errno
	case !info.Mode().IsRegular():
		return fmt.Errorf("serve: the %s is not a regular file", f.Name())
	case int(mode)&syscall.O_ACCMODE == not, int(mode)&0o10000000 != 0: // O_PATH
		return fmt.Errorf("serve: the %s cannot be %s", f.Name(), what)
	}
	return nil
}

// withFiles reads from a connection and keeps the files that come along.
type withFiles struct {
	u     *net.UnixConn
	files []*os.File
	cut   bool // more came than there is room for
}

func (w *withFiles) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var oob [64]byte // for two, and a few too many
	n, m, flags, _, err := w.u.ReadMsgUnix(p, oob[:])
	if messages, perr := syscall.ParseSocketControlMessage(oob[:m]); perr == nil {
		for i := range messages {
			fds, perr := syscall.ParseUnixRights(&messages[i])
			if perr != nil {
				continue
			}
			for _, fd := range fds { // closed on exec: ReadMsgUnix asks for that
				name := "photo"
				if len(w.files) > 0 {
					name = "picture's file"
				}
				w.files = append(w.files, os.NewFile(uintptr(fd), name))
			}
		}
	}
	w.cut = w.cut || flags&syscall.MSG_CTRUNC != 0
	if len(w.files) > 2 && err == nil {
		return 0, errors.New("serve: more files came than two")
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}
