package drivers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"enhance/clrt"
)

// result is what one child found.
type result struct {
	devices []device
	problem string // what the driver did, "" if it can be used or has no device
	chance  bool   // the problem may be the machine's: the next time may be better
}

// errNoChild says that a process could not be started, so that nothing is known.
var errNoChild = errors.New("drivers: no process to try the drivers in")

// probe has a child try what the loader finds in an environment.
func probe(command, env []string, patience time.Duration) (result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return result{}, fmt.Errorf("%w: %v", errNoChild, err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[2:]...)
	cmd.Args[0] = command[1]
	cmd.Env = append(env, "GOTRACEBACK=none", "ENHANCE_CACHE_DIR=off")
	cmd.ExtraFiles = []*os.File{w} // reportFD
	cmd.WaitDelay = time.Second    // for compilers that a driver started and that outlive it
	said := &tail{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	w.Close() // the child's copy is its own: the pipe ends with the child
	if err != nil {
		return result{}, fmt.Errorf("%w: %v", errNoChild, err)
	}
	defer in.Close()
	stage := "starting"
	var res result
	ended, read := false, make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(r); s.Scan(); {
			var m message
			if json.Unmarshal(s.Bytes(), &m) != nil {
				return
			}
			if m.Stage != "" {
				stage = m.Stage
			}
			if m.Device != nil {
				res.devices = append(res.devices, *m.Device)
			}
			ended = ended || m.End
		}
	}()
	err = cmd.Wait()
	_ = r.SetReadDeadline(time.Now().Add(time.Second))
	<-read
	switch {
	case ctx.Err() != nil && !ended:
		res.problem = fmt.Sprintf("does not end within %v while %s", patience, stage)
	case !ended, err != nil && !errors.Is(err, exec.ErrWaitDelay):
		res.problem, res.chance = died(cmd.ProcessState, said.String()), killed(cmd.ProcessState)
		res.problem += " while " + stage
	default:
		res.problem = unusable(res.devices)
		res.chance = res.problem != "" // an error may be gone when the device is free, or its disk
	}
	return res, nil
}

// unusable is the first device's problem if no device can be used, "" if one can or
// there is none.
func unusable(all []device) string {
	for _, d := range all {
		if d.Problem == "" {
			return ""
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("fails on %s: %s", all[0].Name, firstLines(all[0].Problem, 2))
}

// best is the kind of device that is preferred among those that can be used.
func (r *result) best() clrt.DeviceType {
	for _, kind := range []clrt.DeviceType{clrt.GPU, clrt.Accelerator, clrt.CPU} {
		for _, d := range r.devices {
			if d.Type == kind && d.Problem == "" {
				return kind
			}
		}
	}
	return clrt.Other
}

// killed reports whether somebody else ended the process, the system for want of memory
// for example.
func killed(s *os.ProcessState) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}

// died says how a process ended, and the last that it said. Go's runtime, which catches
// the signals of crashes, says which and ends with status 2.
func died(s *os.ProcessState, said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		if name, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(name, "SIG") && s.ExitCode() == 2 {
			return "crashed (" + name + ")"
		}
	}
	last := ""
	if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
		last = ", saying " + line + ","
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		if name := crashes[w.Signal()]; name != "" { // a driver took the signals over
			return "crashed (" + name + ")"
		}
		return fmt.Sprintf("ended the process by signal %d (%v)%s", w.Signal(), w.Signal(), last)
	}
	return fmt.Sprintf("ended the process with status %d%s", s.ExitCode(), last)
}

// crashes are the signals of crashes.
var crashes = map[syscall.Signal]string{syscall.SIGABRT: "SIGABRT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGBUS: "SIGBUS",
	syscall.SIGILL: "SIGILL", syscall.SIGFPE: "SIGFPE"}

// firstLines joins the first lines of a text.
func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], " ")
}

// tail keeps the last bytes that were written.
type tail struct{ b []byte }

const tailBytes = 64 << 10 // a crash's registers come last

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - tailBytes; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
