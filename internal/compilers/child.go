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

// The parent writes JSON values to a child's standard input: a hello and then programs. The
// child writes a reply to each, in order, to its file descriptor repliesFD: drivers and their
// compilers print to standard output.
type (
	hello struct {
		Version int
		Device  clrt.Identity
	}
	program struct {
		Options string
		Source  []byte
	}
	reply struct { // to a hello it is empty
		Binary []byte `json:",omitempty"`
		Error  string `json:",omitempty"` // why that could not be done
	}
)

// protocolVersion changes with the meaning of these values. Both ends are of one executable
// as a rule, which may have been replaced in the meantime.
const protocolVersion = 2

const repliesFD = 3

// connectionsEnv tells NVIDIA's driver in how many queues a context can have work at a time. A process that
// compiles has none, and most of what a context takes is to make them: on an H200 six processes that open
// theirs at once are ready after 0.55 s with one, and after 1.06 s with the driver's eight.
const connectionsEnv = "CUDA_DEVICE_MAX_CONNECTIONS"

// child is a process that compiles for one device.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	pipe    *os.File
	replies *json.Decoder
}

func startChild(command []string) (*child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()                                                                  // the child's copy is its own: the pipe ends with the child
	cmd := &exec.Cmd{Path: command[0], Args: command[1:], ExtraFiles: []*os.File{w}} // ExtraFiles[0] is repliesFD
	if os.Getenv(connectionsEnv) == "" {
		cmd.Env = append(os.Environ(), connectionsEnv+"=1")
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &child{cmd, in, r, json.NewDecoder(r)}, nil
}

// open has the process open its device.
func (c *child) open(id clrt.Identity, patience time.Duration) error {
	r, err := c.ask(hello{protocolVersion, id}, patience)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("compilers: the process has no device: %q", r.Error)
	}
	return err
}

// errNotCompiled is the answer of a process that goes on.
var errNotCompiled = errors.New("compilers: the program does not compile")

// compile has the process compile a program. After any error but errNotCompiled the
// process is of no more use.
func (c *child) compile(options, source string, patience time.Duration) (binary []byte, err error) {
	r, err := c.ask(program{options, []byte(source)}, patience)
	switch {
	case err != nil:
		return nil, err
	case r.Error != "":
		return nil, errNotCompiled
	case len(r.Binary) == 0:
		return nil, errors.New("compilers: the process answered without a binary")
	}
	return r.Binary, nil
}

// ask sends a request and waits for its reply. If that takes longer than patience, ask kills
// the process, which ends the reply.
func (c *child) ask(request any, patience time.Duration) (r reply, err error) {
	t := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer t.Stop()
	if err = json.NewEncoder(c.in).Encode(request); err == nil {
		err = c.replies.Decode(&r)
	}
	return r, err
}

// kill ends the process and waits until it, with all that it held, is gone.
func (c *child) kill() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.pipe.Close()
}
