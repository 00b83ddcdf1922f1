package compilers

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"enhance/clrt"
)

// repliesFD is where a child writes: its standard output is nobody's, as drivers and
// their compilers print there.
const repliesFD = 3

// Serve is what the processes do that a [Pool] starts: it compiles what comes on
// standard input until that ends. Call it before anything else and exit with its
// result. Nothing is printed.
func Serve() (status int) { return serveProcess(openDevice) }

func serveProcess(open func(clrt.Identity) (builder, error)) (status int) {
	replies := os.NewFile(repliesFD, "replies")
	if replies == nil {
		return 1
	}
	signal.Ignore(os.Interrupt, syscall.SIGHUP) // meant for the parent, which decides
	// The pipe ends with the parent: what is being compiled then is wanted by nobody.
	in, feed := io.Pipe()
	go func() {
		_, _ = io.Copy(feed, os.Stdin)
		os.Exit(0)
	}()
	if err := serve(in, replies, open); err != nil {
		return 1
	}
	return 0
}

// builder compiles a program to its binary.
type builder func(source, options string) ([]byte, error)

// openDevice compiles for a device, through the cache.
func openDevice(id clrt.Identity) (builder, error) {
	d, err := clrt.FindDevice(id)
	if err != nil {
		return nil, err
	}
	ctx, err := clrt.NewContext(d)
	if err != nil {
		return nil, err
	}
	return func(source, options string) ([]byte, error) {
		p, err := ctx.Build(source, options)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		return p.Binary()
	}, nil
}

// serve answers messages until they end.
func serve(in io.Reader, out io.Writer, open func(clrt.Identity) (builder, error)) error {
	k, payload, err := readMessage(in)
	if err != nil {
		return err
	}
	if k != kindDevice {
		return fmt.Errorf("compilers: the first message is of kind %q, want a device", k)
	}
	id, err := parseHello(payload)
	if err != nil {
		return err
	}
	build, err := open(id)
	if err != nil {
		return writeMessage(out, kindFailed, err.Error())
	}
	if err := writeMessage(out, kindReady); err != nil {
		return err
	}
	for {
		k, payload, err := readMessage(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if k != kindProgram {
			return fmt.Errorf("compilers: a message of kind %q, want a program", k)
		}
		options, source, err := parseProgram(payload)
		if err != nil {
			return err
		}
		binary, err := build(source, options)
		if err != nil {
			err = writeMessage(out, kindFailed, err.Error())
		} else {
			err = writeMessage(out, kindBinary, string(binary))
		}
		if err != nil {
			return err
		}
	}
}
