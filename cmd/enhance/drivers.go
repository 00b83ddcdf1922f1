package main

import (
	"fmt"
	"sync"

	"enhance/clrt"
	"enhance/internal/bytesize"
	"enhance/internal/drivers"
	"enhance/internal/hostmemory"
	"enhance/internal/printable"
	"enhance/pipeline"
)

// driversArgument alone makes a process of this program one that tries OpenCL drivers
// for another, see package drivers.
const driversArgument = "__try-drivers"

// driverAddresses are reckoned for a driver and its compiler: PoCL needs 0.9 GiB.
const driverAddresses = 1 << 30

// addressError says that a limit on addresses leaves too little for threads and drivers.
// Where a thread cannot be started, the system ends the process, so that a run
// must not begin.
type addressError struct {
	limit, room, need int64
	host              bool // for the host executor
}

func (e *addressError) Error() string {
	what := "threads"
	if !e.host {
		what = "threads and an OpenCL driver"
	}
	return fmt.Sprintf("the limit on addresses (ulimit -v, %s) leaves %s, and %s take %s: raise it",
		bytesize.Text(e.limit), bytesize.Text(max(e.room, 0)), what, bytesize.Text(e.need))
}

// checkAddresses holds the limit on addresses, if there is one, against what a command
// that runs networks needs.
func (c *call) checkAddresses() error {
	room, limit, limited := hostmemory.AddressRoom()
	if !limited || !c.cmd.has("device") {
		return nil
	}
	e := &addressError{limit: limit, room: room, need: hostmemory.AddressesForThreads(), host: c.device == pipeline.HostDevice}
	if !e.host {
		e.need += driverAddresses
	}
	if room >= e.need {
		return nil
	}
	return e
}

// tryDrivers has the first use of OpenCL, if there is one, preceded by a trial of the
// drivers in processes of their own. What an earlier process found holds, but where the
// question is which devices there are.
func (c *call) tryDrivers() {
	command := c.another(driversArgument)
	if command == nil {
		return
	}
	o := drivers.Options{Command: command, Retry: c.listDevices, Spills: c.set.Memory.Limited(), Say: func(text string) {
		if !c.quiet {
			item(c.stderr, "note", "%s", printable.Line(text))
		}
	}}
	o.First = func() {
		if c.firstUse != nil {
			c.firstUse()
		}
	}
	if c.verbose {
		o.Debug = func(text string) { item(c.stderr, "drivers", "%s", printable.Line(text)) }
	}
	prepare := sync.OnceValues(func() ([]drivers.Failure, error) { return drivers.Prepare(o) })
	c.passedOver = func() []drivers.Failure {
		failed, _ := prepare()
		return failed
	}
	clrt.BeforeLoading(func() error {
		_, err := prepare()
		return err
	})
}
