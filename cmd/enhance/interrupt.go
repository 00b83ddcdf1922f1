package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopTime is how long a cancelled run may take to stop by itself. A device
// cannot be stopped in the middle of a kernel, but the program can end.
const stopTime = 800 * time.Millisecond

// interruptible returns a context that ends with the first Ctrl-C, a request to
// terminate, or the terminal's end unless that is ignored (nohup). If the run does
// not stop soon after, or a second Ctrl-C comes, the process ends at once; abandon
// then removes the unfinished file.
func interruptible(e *env, abandon func()) (ctx context.Context, stop func()) {
	return interruptibleWith(e, func() bool { abandon(); return false })
}

// interruptibleWith is interruptible with an abandon that reports whether it printed
// that the program was interrupted.
func interruptibleWith(e *env, abandon func() bool) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		cancel()
		select {
		case <-done:
			return
		case <-signals:
		case <-time.After(stopTime):
		}
		gone := make(chan bool, 1)
		go func() { gone <- abandon() }()
		printed := false
		select { // a write that hangs must not hold the exit up
		case printed = <-gone:
		case <-time.After(stopTime / 8):
		}
		if !printed {
			fmt.Fprintln(e.stderr, "\nenhance: interrupted")
		}
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// orderlyStop returns a context that ends with the first request to stop, and one that ends with
// the second; then abandon removes unfinished files and the program ends.
func (c *call) orderlyStop(abandon func()) (taking, working context.Context, stop func()) {
	taking, stopTaking := context.WithCancel(context.Background())
	working, stopWorking := context.WithCancel(context.Background())
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			c.note("ending when the photos in hand are done; once more ends at once")
			stopTaking()
		case <-done:
			return
		}
		select {
		case <-signals:
		case <-done:
			return
		}
		stopWorking()
		select {
		case <-done:
		case <-time.After(stopTime):
			abandon()
			fmt.Fprintln(c.stderr, "\nenhance: interrupted")
			os.Exit(exitInterrupted)
		}
	}()
	return taking, working, func() {
		signal.Stop(signals)
		close(done)
		stopTaking()
		stopWorking()
	}
}
