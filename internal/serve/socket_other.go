//go:build !linux

package serve

import (
	"errors"
	"os"
)

// Elsewhere than on Linux there is no server: what tells the process at the other end, and
// passes open files, differs from system to system.

var errSystem = errors.New("a server needs Linux: develop photos without one")

// Listener is the server's end.
type Listener struct{}

// Conn is a connection for one photo.
type Conn struct{}

func Listen(string) (*Listener, error) { return nil, errSystem }
func Dial(string) (*Conn, error)       { return nil, ErrNone }

func (*Listener) Accept() (*Conn, error)                    { return nil, errSystem }
func (*Listener) Close() error                              { return nil }
func (*Conn) Peer() int                                     { return 0 }
func (*Conn) SameProgram() bool                             { return false }
func (*Conn) Close() error                                  { return nil }
func (*Conn) Wait()                                         {}
func (*Conn) SendHello(Hello) error                         { return errSystem }
func (*Conn) SendReply(Reply) error                         { return errSystem }
func (*Conn) Hello() (Hello, error)                         { return Hello{}, errSystem }
func (*Conn) Reply() (Reply, error)                         { return Reply{}, errSystem }
func (*Conn) SendRequest(Request, *os.File, *os.File) error { return errSystem }
func (*Conn) ReadRequest() (Request, *os.File, *os.File, error) {
	return Request{}, nil, nil, errSystem
}
