package findings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
)

// Kernel is a kernel, or some that work together, whose work the host can do, so that the device does it only
// if it is right. That it is right is noted; a wrong one is checked again by the next process, as the fault may
// have passed. A check depends on neither photo nor budget, so that neither decides who does the work.
type Kernel struct {
	Name   string
	Source func() string // what was found of another text does not hold
	// Check says what is wrong with it under the options.
	Check func(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options) error
}

// in names the kernel in a precision.
func (k *Kernel) in(p planar.Precision) string { return fmt.Sprintf("%s %v", k.Name, p) }

// note names what is noted of the kernel.
func (k *Kernel) note(p planar.Precision) string {
	sum := sha256.Sum256([]byte(k.Source()))
	return k.in(p) + " " + hex.EncodeToString(sum[:8])
}

// kernelNote names what is noted of a kernel, among the device's findings and within this process.
func (d *Device) kernelNote(k *Kernel, p planar.Precision) (note, inProcess string) {
	note = k.note(p)
	return note, fmt.Sprintf("%s %+v %s", d.Store().Path(), exec.TuningDevice(d.Info), note)
}

// foundRight are the kernels that this process found right: they need not be checked
// again where no notes can be kept.
var foundRight sync.Map

const kernelRight = "right"

// Kernels is what is known of a device's kernels. The zero value knows nothing.
type Kernels struct {
	// wrong says what is wrong with a kernel, "" for nothing, by Kernel.in. Those that are not there were not
	// checked yet.
	wrong map[string]string
}

// Wrong is what is known to be wrong with a kernel, "" for nothing.
func (n *Kernels) Wrong(k *Kernel, p planar.Precision) string { return n.wrong[k.in(p)] }

func (n *Kernels) set(k *Kernel, p planar.Precision, wrong string) {
	if n.wrong == nil {
		n.wrong = map[string]string{}
	}
	n.wrong[k.in(p)] = wrong
}

// Checked reports whether a kernel was checked on the device, here or by another process that found it right.
func (n *Kernels) Checked(d *Device, k *Kernel, p planar.Precision) bool {
	if _, known := n.wrong[k.in(p)]; known {
		return true
	}
	note, inProcess := d.kernelNote(k, p)
	_, right := foundRight.Load(inProcess)
	if !right {
		table, _ := d.Store().Load()
		right = table.Notes[note] == kernelRight
	}
	if right {
		n.set(k, p, "")
	}
	return right
}

// Keep keeps what a check found, for other processes too if the kernel is right.
func (n *Kernels) Keep(ctx context.Context, d *Device, k *Kernel, p planar.Precision, found error) error {
	switch small := (*memplan.BudgetError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(found, &small) || clrt.OutOfMemory(found): // the photo's own plan will tell
		d.debug(fmt.Sprintf("kernels of %s are not checked: %v", k.in(p), found))
		n.set(k, p, "")
		return nil
	case found != nil:
		why, _, _ := strings.Cut(found.Error(), "\n")
		n.set(k, p, strings.TrimRight(why, ": "))
		return nil
	}
	n.set(k, p, "")
	note, inProcess := d.kernelNote(k, p)
	foundRight.Store(inProcess, true)
	d.keepNotes(ctx, func(notes map[string]string) { notes[note] = kernelRight })
	return nil
}

// Checks are checks of kernels that are under way. A nil one has none.
type Checks struct {
	ctx     context.Context
	known   *Kernels
	device  Device
	kernels []*Kernel
	opt     exec.Options
	found   []error // by kernel
	failed  error   // of the checks themselves
	ended   chan struct{}
	taken   bool
}

// Begin begins to check kernels under the options, in a goroutine that calls end when it has. The checks take
// memory of the device: nothing else may until they are taken.
func (n *Kernels) Begin(ctx context.Context, d *Device, kernels []*Kernel, opt exec.Options, end func()) *Checks {
	c := &Checks{ctx: ctx, known: n, device: *d, kernels: kernels, opt: opt, found: make([]error, len(kernels)), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		defer end()
		c.failed = c.run()
	}()
	return c
}

// run checks kernels in a context of their own: one that fails may take its context with it.
func (c *Checks) run() error {
	var cl *clrt.Context
	for i, k := range c.kernels {
		if cl == nil || c.found[i-1] != nil {
			var err error
			if cl, err = c.device.Open(); err != nil {
				return err
			}
			cl.KeepCompiler() // the network's kernels are being compiled
			defer cl.Close()
		}
		c.found[i] = k.Check(c.ctx, cl, c.device.Info, c.opt)
	}
	return nil
}

// Take waits for the checks and keeps what they found.
func (c *Checks) Take() error {
	if c == nil {
		return nil
	}
	<-c.ended
	if c.failed != nil || c.taken {
		return c.failed
	}
	c.taken = true
	for i, k := range c.kernels {
		if err := c.known.Keep(c.ctx, &c.device, k, c.opt.Precision, c.found[i]); err != nil {
			return err
		}
	}
	return nil
}
