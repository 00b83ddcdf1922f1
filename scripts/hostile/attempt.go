package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"enhance/internal/imgio"
	"enhance/internal/printable"
)

const (
	// longest is how long a case may take on a machine with other work.
	longest = time.Minute
	// spare and perByte bound resident memory: so much more than a run that does nothing
	// holds, and so many bytes for each of the case's files. That is what decoders hold of
	// a file, several times because garbage is not collected at once.
	spare   = 96 << 20
	perByte = 16
	// hostMem is the --host-mem of cases that develop.
	hostMem = 384 << 20
)

// statuses are the documented ones that a case may end with.
var statuses = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 130}

// attempt is one case.
type attempt struct {
	*rand.Rand
	binary, dir string
	wrap        []string // a command line before the program's
	args, env   []string
	own         map[string]bool // files that were there before
	bytes       int64           // of them
	extra       int64           // resident bytes that it may hold beside
	picture     string          // the output, "" for none
	network     string          // the output, if it is weights
	keeps       bool            // its files must stay as they are
	data        map[string][]byte
	signalled   bool   // it may end by a signal
	mute        bool   // its messages may be lost
	refused     bool   // it must not succeed
	must        bool   // it must succeed
	want        []byte // the picture's bytes, nil if any will do
	several     bool   // there may be more photos than one
	batch       int    // so many of them are good
	deaf        bool   // its output does not come back
	startup     bool   // the runtime of Go may find no way to begin
	leaves      bool   // a killed process may leave a hidden file
	stdin       []byte // nil: the null device
	beside      func(p *os.Process)
	after       []func()

	status         int // -1: by a signal
	signal         syscall.Signal
	stdout, stderr string
	took           time.Duration
	rss            int64
	made           bool // a whole picture is there
	base           int64
}

func (c *campaign) attempt(r *rand.Rand, name string) *attempt {
	a := &attempt{Rand: r, binary: c.binary, dir: filepath.Join(c.work, name), own: map[string]bool{}, data: map[string][]byte{}, base: c.base}
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		panic(err)
	}
	return a
}

// file writes one of the case's files and returns its path.
func (a *attempt) file(name string, data []byte) string {
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		panic(fmt.Sprintf("case cannot be made: %v", err))
	}
	a.own[name], a.data[name] = true, data
	a.bytes += int64(len(data))
	return path
}

// develop adds what cases that develop have in common.
func (a *attempt) develop(args ...string) {
	a.args = append([]string{"-g", "host", "--host-mem", fmt.Sprint(int64(hostMem))}, args...)
	a.extra = hostMem
	a.output("out.png")
}

func (a *attempt) output(name string) {
	a.picture = filepath.Join(a.dir, name)
	a.args = append(a.args, "-o", a.picture)
}

// line is the command line.
func (a *attempt) line() string {
	var b strings.Builder
	for _, s := range slices.Concat(a.env, a.wrap, []string{a.binary}, a.args) {
		fmt.Fprintf(&b, "%q ", s)
	}
	return b.String()
}

// run runs the process.
func (a *attempt) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	all := slices.Concat(a.wrap, []string{a.binary}, a.args)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Dir = a.dir
	cmd.Env = append(append(os.Environ(), "ENHANCE_CACHE_DIR="+filepath.Join(a.dir, "cache"), "TMPDIR="+a.dir), a.env...)
	a.own["cache"] = true
	a.own[fmt.Sprintf("enhance-%d", os.Getuid())] = true // TMPDIR's folder of verdicts on drivers
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if a.stdin != nil {
		cmd.Stdin = bytes.NewReader(a.stdin)
	}
	cmd.WaitDelay = time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if a.beside != nil {
		go a.beside(cmd.Process)
	}
	err := cmd.Wait()
	a.took = time.Since(start)
	a.stdout, a.stderr = stdout.String(), stderr.String()
	if cmd.ProcessState == nil {
		return err
	}
	a.status = cmd.ProcessState.ExitCode()
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		a.signal = w.Signal()
	}
	a.rss = peakOf(cmd.ProcessState)
	if ctx.Err() != nil {
		return fmt.Errorf("still running after %v", longest)
	}
	return nil
}

// check holds a case against what must be.
func (a *attempt) check() error {
	for _, part := range []func() error{a.checkEnd, a.checkText, a.checkMemory, a.checkPicture, a.checkNetwork, a.checkBatch, a.checkKept, a.checkFiles} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) checkEnd() error {
	if a.signal != 0 {
		if !a.signalled {
			return fmt.Errorf("ended by %v: %s", a.signal, a.tail())
		}
		return nil
	}
	if a.refused && a.status == 0 {
		return errors.New("success, though nobody could read what was asked for")
	}
	if a.must && a.status != 0 {
		return fmt.Errorf("status %d, though it could be done: %s", a.status, a.tail())
	}
	if a.startup && a.status == 127 { // the system's loader did not get as far as the program
		return nil
	}
	if !slices.Contains(statuses, a.status) {
		return fmt.Errorf("exit status %d: %s", a.status, a.tail())
	}
	return nil
}

// tail is the end of standard error, for messages.
func (a *attempt) tail() string {
	return printable.Line(a.stderr[max(0, len(a.stderr)-300):])
}

// crashes are what a program of Go says when it ends by itself.
var crashes = []string{"goroutine ", "panic:", "fatal error:", "SIGSEGV", "runtime error"}

func (a *attempt) checkText() error {
	for _, c := range crashes {
		if a.startup {
			break
		}
		if strings.Contains(a.stderr, c) {
			return fmt.Errorf("crashed: %s", printable.Line(a.stderr[:min(len(a.stderr), 600)]))
		}
	}
	for name, text := range map[string]string{"error": a.stderr, "output": a.stdout} {
		for i, line := range strings.Split(text, "\n") {
			if printable.Text(strings.ReplaceAll(line, "\t", "")) != strings.ReplaceAll(line, "\t", "") {
				return fmt.Errorf("standard %s, line %d is not printable: %q", name, i+1, line)
			}
			if len(line) > 10000 && !slices.Contains(a.args, "--json") { // a value in JSON is whole
				return fmt.Errorf("standard %s, line %d has %d bytes", name, i+1, len(line))
			}
		}
	}
	if slices.Contains(a.args, "--json") && a.status == 0 && !a.deaf {
		if !json.Valid([]byte(a.stdout)) {
			return errors.New("standard output is no JSON")
		}
	}
	if a.status <= 0 || a.mute {
		return nil
	}
	said := 0
	for line := range strings.Lines(a.stderr) {
		if strings.HasPrefix(line, "enhance: ") {
			said++
		}
	}
	if said < 1 || said > 1 && !a.several { // a batch says why of each photo
		return fmt.Errorf("status %d, and %d lines say why: %s", a.status, said, a.tail())
	}
	return nil
}

func (a *attempt) checkMemory() error {
	// Linux counts in what the parent held when the process began.
	if most := max(a.base+spare+perByte*a.bytes+a.extra, peakOfSelf()); a.rss > most {
		return fmt.Errorf("%d MB resident, at most %d are right for files of %d bytes", a.rss>>20, most>>20, a.bytes)
	}
	return nil
}

// checkPicture wants a whole picture after success, and none or a whole one else.
func (a *attempt) checkPicture() error {
	if a.picture == "" {
		return nil
	}
	_, err := os.Lstat(a.picture)
	dry := slices.Contains(a.args, "--dry-run")
	switch {
	case errors.Is(err, os.ErrNotExist) && (a.status != 0 || dry):
		return nil
	case err != nil:
		return fmt.Errorf("status %d without a picture: %w", a.status, err)
	case dry:
		return errors.New("a dry run made a picture")
	}
	if a.own[filepath.Base(a.picture)] && a.status != 0 {
		return nil // it was there before
	}
	if err := a.checkWhole(a.picture); err != nil {
		return err
	}
	a.made = true
	if a.status != 0 && a.status != 8 && a.signal == 0 && a.status != 130 && a.status != 4 {
		return fmt.Errorf("status %d, and a picture is there", a.status)
	}
	return nil
}

func (a *attempt) checkWhole(path string) error {
	if _, err := imgio.ReadRGB16(path); err != nil {
		return fmt.Errorf("status %d, and a picture that is not whole: %w", a.status, err)
	}
	if a.want == nil {
		return nil
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, a.want) {
		return fmt.Errorf("the picture is not that of a run without damage (%v)", err)
	}
	return nil
}

// checkBatch wants whole pictures, one for every good photo at least, and status 0 only
// with one for every photo.
func (a *attempt) checkBatch() error {
	out := filepath.Join(a.dir, "out")
	if !a.own["out"] {
		return nil // no batch
	}
	pictures := 0
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		pictures++
		return a.checkWhole(path)
	})
	if err != nil {
		return err
	}
	if a.made = pictures > 0; a.own["in"] { // what is in there is counted by nobody
		return nil
	}
	photos := len(a.own) - 3 // beside the folders out, cache and the one of verdicts
	if pictures < a.batch || (a.status == 0) != (pictures == photos) {
		return fmt.Errorf("status %d, and %d pictures of %d photos, of which %d at least are good", a.status, pictures, photos, a.batch)
	}
	return nil
}

// checkFiles wants no file beside the case's own and the output.
func (a *attempt) checkFiles() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !a.own[name] && name != filepath.Base(a.picture) && name != filepath.Base(a.network) && !a.leaves {
			return fmt.Errorf("left %q", name)
		}
	}
	return nil
}
