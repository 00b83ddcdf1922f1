package compilers

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"enhance/clrt"
)

// Serve is what the processes do that a [Pool] starts: it compiles what comes on
// standard input until that ends. Call it before anything else and exit with its
// result. It prints nothing.
func Serve() (status int) { return serveProcess(openDevice) }

func serveProcess(open func(clrt.Identity) (builder, error)) (status int) {
	replies := os.NewFile(repliesFD, "replies")
	if replies == nil {
		return 1
	}
	signal.Ignore(os.Interrupt, syscall.SIGHUP) // meant for the parent, which decides
	// The pipe ends with the parent, and then nobody wants what is being compiled.
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

// builder compiles a program to what is kept of it.
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
		return p.Kept()
	}, nil
}

// serve answers requests until they end.
func serve(in io.Reader, out io.Writer, open func(clrt.Identity) (builder, error)) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	requests.DisallowUnknownFields()
	var h hello
	if err := requests.Decode(&h); err != nil {
		return err
	}
	if h.Version != protocolVersion {
		return fmt.Errorf("compilers: protocol %d, want %d", h.Version, protocolVersion)
	}
	build, err := open(h.Device)
	if err != nil {
		return replies.Encode(reply{Error: err.Error()})
	}
	if err := replies.Encode(reply{}); err != nil {
		return err
	}
	for {
		var p program
		if err := requests.Decode(&p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var r reply
		if r.Binary, err = build(string(p.Source), p.Options); err != nil {
			r = reply{Error: err.Error()}
		}
		if err := replies.Encode(r); err != nil {
			return err
		}
	}
}
