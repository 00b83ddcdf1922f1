package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// listen starts a server that hands each connection to take.
func listen(t *testing.T, take func(*Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			take(c)
			c.Close()
		}
	}()
	return path
}

// temp is an open file that holds some text.
func temp(t *testing.T, text string, mode int) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFiles: a request's files are those that the client opened.
func TestFiles(t *testing.T) {
	path := listen(t, func(c *Conn) {
		c.SendHello(Hello{Settings: map[string]string{"a": "b"}})
		r, photo, picture, err := c.ReadRequest()
		if err != nil {
			c.SendReply(Reply{Refused: err.Error()})
			return
		}
		defer photo.Close()
		defer picture.Close()
		text, err := io.ReadAll(photo)
		if err == nil {
			_, err = picture.WriteString(string(text) + " and " + string(r.Input))
		}
		if err != nil {
			c.SendReply(Reply{Refused: err.Error()})
			return
		}
		c.SendReply(Reply{Result: &Result{Status: 3}})
	})
	c, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Peer() != os.Getpid() || !c.SameProgram() {
		t.Errorf("peer %d, same program %v; this is %d", c.Peer(), c.SameProgram(), os.Getpid())
	}
	if h, err := c.Hello(); err != nil || h.Settings["a"] != "b" || h.Full {
		t.Fatalf("%+v, %v", h, err)
	}
	picture := temp(t, "", os.O_RDWR)
	large := strings.Repeat("x", maxRequest/2) // more than a socket takes at once
	if err := c.SendRequest(Request{Input: []byte("name"), Args: []string{large}}, temp(t, "photo", os.O_RDONLY), picture); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Reply(); err != nil || r.Result == nil || r.Result.Status != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if text, err := os.ReadFile(picture.Name()); err != nil || string(text) != "photo and name" {
		t.Errorf("the picture is %q (%v)", text, err)
	}
}

// TestHostileFiles: files of other kinds, and of other numbers, are refused, and closed.
func TestHostileFiles(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	good, out := temp(t, "x", os.O_RDONLY), temp(t, "", os.O_RDWR)
	unread, unwritten := temp(t, "x", os.O_WRONLY), temp(t, "", os.O_RDONLY)
	nowhere, err := syscall.Open(good.Name(), 0o10000000, 0) // O_PATH
	if err != nil {
		t.Fatal(err)
	}
	path := os.NewFile(uintptr(nowhere), "path")
	defer path.Close()
	for name, files := range map[string][]*os.File{
		"none": nil, "one": {good}, "three": {good, out, out}, "many": slicesOf(good, 40), "pipe": {read, out}, "folder": {dir, out}, "to a pipe": {good, write},
		"to a device": {good, null}, "write only": {unread, out}, "read only": {good, unwritten}, "path": {path, out}, "to a path": {good, path},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := pair(t)
			before := openFiles(t)
			text, err := frame(Request{}, maxRequest)
			if err != nil {
				t.Fatal(err)
			}
			var fds []int
			for _, f := range files {
				fds = append(fds, int(f.Fd()))
			}
			var rights []byte
			if fds != nil {
				rights = syscall.UnixRights(fds...)
			}
			if _, _, err := client.u.WriteMsgUnix(text, rights, nil); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := server.ReadRequest(); err == nil {
				t.Error("the request was taken")
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d files were open, and %d are", before, after)
			}
		})
	}
}

func slicesOf(f *os.File, n int) (all []*os.File) {
	for range n {
		all = append(all, f)
	}
	return all
}

// pair is both ends of a connection.
func pair(t *testing.T) (client, server *Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends []*Conn
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		end, err := newConn(c.(*net.UnixConn))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	return ends[0], ends[1]
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("NO /proc: open files are not counted")
	}
	return len(entries)
}

// TestListen: a socket is its user's alone, one with a server is refused, one that was left
// behind is replaced, and nothing else is.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("long", 4), "s")
	if _, err := Listen(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(path); err != ErrNone {
		t.Errorf("nobody there: %v", err)
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Listen(path); !errors.As(err, new(*InUseError)) {
		t.Errorf("a second server: %v", err)
	}
	l.l.Close() // as a process that is killed leaves it
	l.lock.Close()
	if _, err := Dial(path); err != ErrNone {
		t.Errorf("nobody answers: %v", err)
	}
	if l, err = Listen(path); err != nil {
		t.Fatalf("a socket that was left behind: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 || entries[0].Name() != "s.lock" {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil {
		t.Error("a file was replaced")
	}
	if _, err := Listen(filepath.Join(t.TempDir(), strings.Repeat("x", 120))); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a long name: %v", err)
	}
}
