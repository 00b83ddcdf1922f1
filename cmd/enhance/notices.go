package main

import (
	"fmt"
	"io"
	"sync"

	"enhance/internal/printable"
	"enhance/pipeline"
)

// tellNotices has a session print what it does once for a device, unless -q, and with
// details if asked.
func (c *call) tellNotices(details bool) {
	if c.quiet {
		return
	}
	n := &notices{w: c.stderr}
	if c.terminal != nil {
		n.terminal = c.terminal
	}
	c.set.Tell = func(text string) { n.line("tune", text) }
	c.set.Compiling = func(text string) { n.line("kernels", text) }
	c.set.Tuning = n.count
	if details {
		c.set.Debug = func(text string) { n.line("tune", text) }
	}
}

// newSession loads the model and chooses the device. The session prints what it does once for a device,
// and compiles in other processes.
func (c *call) newSession(details bool) (*pipeline.Session, error) {
	c.tellNotices(details)
	c.compileApart()
	return pipeline.NewSession(c.set)
}

// notices prints lines and, on a terminal, how many of some measurements are done, in a
// line that the next one replaces. Several sessions may share it.
type notices struct {
	mu       sync.Mutex
	w        io.Writer
	terminal io.Writer // nil if there is none
	counting bool      // the count is on the screen
}

func (n *notices) line(name, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
	item(n.w, name, "%s", printable.Line(text))
}

func (n *notices) clear() {
	if n.counting {
		fmt.Fprint(n.terminal, "\r\x1b[K")
		n.counting = false
	}
}

func (n *notices) count(done, total int) {
	if n.terminal == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
	if done < total {
		fmt.Fprintf(n.terminal, "%-8s%d of %d", "tune", done, total)
		n.counting = true
	}
}

// note prints what the reader should know about the order, unless -q.
func (c *call) note(format string, args ...any) {
	if !c.quiet {
		item(c.stderr, "note", "%s", printable.Line(fmt.Sprintf(format, args...)))
	}
}

// wrote tells of a file that was made beside the picture, unless -q.
func (c *call) wrote(to io.Writer, path, what string) {
	if !c.quiet && path != "" && path != "-" {
		item(to, "wrote", "%s: %s", printable.Text(path), what)
	}
}
