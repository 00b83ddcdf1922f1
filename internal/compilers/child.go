package compilers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"enhance/clrt"
)

// child is a process that compiles for one device.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *os.File
}

// startChild starts a process. The calling thread must live as long as the process
// (see dieWithParent).
func startChild(command []string) (*child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()                                                                  // the child's copy is its own: the pipe ends with the child
	cmd := &exec.Cmd{Path: command[0], Args: command[1:], ExtraFiles: []*os.File{w}} // ExtraFiles[0] is repliesFD
	dieWithParent(cmd)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &child{cmd, in, r}, nil
}

// open has the process open its device.
func (c *child) open(id clrt.Identity, patience time.Duration) error {
	first, err := json.Marshal(hello{protocolVersion, id})
	if err != nil {
		return err
	}
	return c.within(patience, func() error {
		if err := writeMessage(c.in, kindDevice, string(first)); err != nil {
			return err
		}
		k, text, err := readMessage(c.replies)
		if err == nil && k != kindReady {
			err = fmt.Errorf("compilers: the process has no device: %q", text)
		}
		return err
	})
}

// within kills the process if f takes longer, which ends f.
func (c *child) within(patience time.Duration, f func() error) error {
	t := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer t.Stop()
	return f()
}

// errNotCompiled is the answer of a process that goes on.
var errNotCompiled = errors.New("compilers: the program does not compile")

// compile has the process compile a program. After any error but errNotCompiled the
// process is of no more use.
func (c *child) compile(options, source string, patience time.Duration) (binary []byte, err error) {
	err = c.within(patience, func() error {
		if err := writeProgram(c.in, options, source); err != nil {
			return err
		}
		k, payload, err := readMessage(c.replies)
		switch {
		case err != nil:
			return err
		case k == kindFailed:
			return errNotCompiled
		case k != kindBinary || len(payload) == 0:
			return fmt.Errorf("compilers: an answer of kind %q and %d bytes, want a binary", k, len(payload))
		}
		binary = payload
		return nil
	})
	return binary, err
}

// kill ends the process and waits until it, with all that it held, is gone.
func (c *child) kill() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.replies.Close()
}
