package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"enhance/pipeline"
)

const (
	precisionUsage = "how exactly the device computes: fp32, tf32 (matrix units only), fp16, or auto for the fastest whose PSNR to fp32 is over 50 dB"
	noTuneUsage    = "ignore what enhance tune measured: use the shipped choice of algorithms"
)

// tellTuning has a session say on w what it does once for a device, unless quiet,
// and on request the details of it.
func tellTuning(set *pipeline.Settings, w io.Writer, quiet, verbose bool) {
	if quiet {
		return
	}
	c := &counter{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.terminal = true
	}
	set.Tell = func(text string) { c.line("tune", text) }
	set.Compiling = func(text string) { c.line("kernels", text) }
	set.Tuning = c.set
	if verbose {
		set.Debug = func(text string) { c.line("tune", text) }
	}
}

// counter writes lines, and on a terminal how many of some measurements are done,
// on a line that the next one replaces. Several sessions may share it.
type counter struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	open     bool // the count is on the screen
}

func (c *counter) line(name, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	fmt.Fprintf(c.w, "%-8s%s\n", name, oneLine(text))
}

func (c *counter) clear() {
	if c.open {
		fmt.Fprint(c.w, "\r\x1b[K")
		c.open = false
	}
}

func (c *counter) set(done, total int) {
	if !c.terminal {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if done < total {
		fmt.Fprintf(c.w, "%-8s%d of %d", "tune", done, total)
		c.open = true
	}
}
