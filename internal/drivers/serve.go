package drivers

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"enhance/clrt"
)

// reportFD is where a child reports: drivers and their compilers print on the others.
const reportFD = 3

// message is what a child says: one JSON object a line, of one field.
type message struct {
	Stage  string  `json:"stage,omitempty"`  // what it does next, for the end of "it crashed while ..."
	Device *device `json:"device,omitempty"` // one that was tried
	None   string  `json:"none,omitempty"`   // why there is no device
	End    bool    `json:"end,omitempty"`    // all was tried
}

// device is what became of a device.
type device struct {
	Name    string          `json:"name"`
	Type    clrt.DeviceType `json:"type"`
	Problem string          `json:"problem,omitempty"`
}

// Serve is what the processes do that [Prepare] starts: it loads the drivers and has each
// device compile and run a small program. Call it before anything else and exit with its
// result. Nothing is printed.
func Serve() (status int) {
	syscall.CloseOnExec(reportFD) // compilers that drivers start must not hold it open
	out := json.NewEncoder(os.NewFile(reportFD, "report"))
	signal.Ignore(os.Interrupt, syscall.SIGHUP) // meant for the parent, which decides
	go func() {                                 // the pipe ends with the parent
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	report := func(m message) bool { return out.Encode(m) == nil }
	if !report(message{Stage: "loading the driver"}) {
		return 1
	}
	devices, err := clrt.Devices()
	switch {
	case errors.Is(err, clrt.ErrNoOpenCL):
		report(message{None: err.Error()})
	case err != nil: // an answer that cannot be
		report(message{Device: &device{Name: "platforms", Problem: err.Error()}})
	}
	tried := map[clrt.Identity]bool{}
	for _, d := range devices {
		i := d.Info()
		kind := clrt.Identity{Platform: i.Platform, Name: i.Name, DriverVersion: i.DriverVersion, Version: i.Version}
		if tried[kind] { // one of several that are alike
			continue
		}
		tried[kind] = true
		found := &device{Name: d.String(), Type: i.Type}
		if err := try(d, func(what string) { report(message{Stage: what + " on " + found.Name}) }); err != nil && !clrt.OutOfMemory(err) { // which others hold now
			found.Problem = err.Error()
		}
		report(message{Device: found})
	}
	report(message{Stage: "ending the process", End: true})
	return 0
}

// trySource doubles numbers.
const trySource = `__kernel void twice(__global float *v) { v[get_global_id(0)] *= 2.0f; }`

// try compiles a program on a device and compares what it computes.
func try(d *clrt.Device, stage func(string)) error {
	stage("opening a context")
	c, err := clrt.NewContext(d)
	if err != nil {
		return err
	}
	defer c.Close()
	q, err := c.NewQueue()
	if err != nil {
		return err
	}
	stage("compiling a program")
	p, err := c.Build(trySource, "")
	if err != nil {
		return err
	}
	k, err := p.Kernel("twice")
	if err != nil {
		return err
	}
	stage("running a kernel")
	const n = 64
	buf, err := c.NewBuffer(4*n, "trial")
	if err != nil {
		return err
	}
	var in []byte
	for i := range n {
		in, _ = binary.Append(in, binary.LittleEndian, float32(i)-7.25)
	}
	if err = q.Write(buf, 0, in); err != nil {
		return err
	}
	if err = k.SetArgs(buf); err != nil {
		return err
	}
	e, err := q.Launch(k, []int{n}, nil)
	if err != nil {
		return err
	}
	defer e.Close()
	out := make([]byte, 4*n)
	if err = q.Read(buf, 0, out); err != nil {
		return err
	}
	var got [n]float32
	if _, err = binary.Decode(out, binary.LittleEndian, &got); err != nil {
		return err
	}
	for i, v := range got {
		if want := 2 * (float32(i) - 7.25); v != want {
			return fmt.Errorf("a kernel that doubles numbers makes %v of %v", v, want/2)
		}
	}
	return nil
}
