package main

import (
	"fmt"
	"sync"

	"enhance/clrt"
	"enhance/internal/drivers"
	"enhance/internal/printable"
)

// driversArgument alone makes a process of this program one that tries OpenCL drivers
// for another, see package drivers.
const driversArgument = "__try-drivers"

// tryDrivers has the first use of OpenCL, if there is one, preceded by a trial of the
// drivers in processes of their own. What an earlier process found holds, but where the
// question is which devices there are.
func (c *call) tryDrivers() {
	command := c.another(driversArgument)
	if command == nil {
		return
	}
	o := drivers.Options{Command: command, Retry: c.listDevices, Say: func(text string) {
		if !c.quiet {
			fmt.Fprintf(c.stderr, "%-8s%s\n", "note", printable.Line(text))
		}
	}}
	if c.verbose {
		o.Debug = func(text string) { fmt.Fprintf(c.stderr, "%-8s%s\n", "drivers", printable.Line(text)) }
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
