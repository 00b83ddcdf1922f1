package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/internal/imgio"
	"enhance/model/safetensors"
)

// scriptCommands are what scripts call beside the commands of testscript.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"exits":        cmdExits,
	"mkonnx":       cmdMkonnx,
	"mkpicture":    cmdMkpicture,
	"mkdigit":      cmdMkdigit,
	"mkraw":        cmdMkraw,
	"mkdcp":        cmdMkdcp,
	"mkdng":        cmdMkdng,
	"mkphoto":      cmdMkphoto,
	"croprgb":      cmdCroprgb,
	"head":         cmdHead,
	"size":         cmdSize,
	"files":        cmdFiles,
	"json":         cmdJSON,
	"savejson":     cmdSaveJSON,
	"oneline":      cmdOneline,
	"weights":      cmdWeights,
	"minimum":      cmdMinimum,
	"enough":       cmdEnough,
	"smalldisk":    cmdSmalldisk,
	"interrupt":    cmdInterrupt,
	"killchild":    cmdKillchild,
	"killreader":   cmdKillreader,
	"same":         cmdSame,
	"faultydriver": cmdFaultydriver,
	"cutall":       cmdCutall,
	"atmost":       cmdAtmost,
	"await":        cmdAwait,
	"freeport":     cmdFreeport,
	"s3":           cmdS3,
	"s3serve":      cmdS3serve,
	"waitport":     cmdWaitport,
	"get":          cmdGet,
	"setjson":      cmdSetjson,
}

func check(ts *testscript.TestScript, err error) {
	if err != nil {
		ts.Fatalf("%v", err)
	}
}

func atoi(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	check(ts, err)
	return n
}

// exits CODE program args...: runs it and wants that exit status.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program args...")
	}
	want := atoi(ts, args[0])
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// mkraw FILE WxH VALUE: a headerless dump of one value.
func cmdMkraw(ts *testscript.TestScript, neg bool, args []string) {
	w, h, ok := strings.Cut(args[1], "x")
	if neg || len(args) != 3 || !ok {
		ts.Fatalf("usage: mkraw FILE WxH VALUE")
	}
	n := atoi(ts, w) * atoi(ts, h)
	b := make([]byte, 0, 2*n)
	for range n {
		b = binary.LittleEndian.AppendUint16(b, uint16(atoi(ts, args[2])))
	}
	check(ts, os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// croprgb FILE X Y W H: a part of the RGGB capture of testdata.
func cmdCroprgb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: croprgb FILE X Y W H")
	}
	src, err := os.ReadFile(filepath.Join(ts.Getenv("DATA"), "raw/DSC_1339_768x512_rggb.raw"))
	check(ts, err)
	x, y, w, h := atoi(ts, args[1]), atoi(ts, args[2]), atoi(ts, args[3]), atoi(ts, args[4])
	var b []byte
	for r := y; r < y+h; r++ {
		b = append(b, src[2*(r*768+x):][:2*w]...)
	}
	check(ts, os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// head FILE N SOURCE: the first N bytes of it.
func cmdHead(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: head FILE N SOURCE")
	}
	b, err := os.ReadFile(ts.MkAbs(args[2]))
	check(ts, err)
	check(ts, os.WriteFile(ts.MkAbs(args[0]), b[:atoi(ts, args[1])], 0o644))
}

// size FILE WxH: a picture of that size.
func cmdSize(ts *testscript.TestScript, neg bool, args []string) {
	im, err := imgio.ReadRGB16(ts.MkAbs(args[0]))
	check(ts, err)
	if got := fmt.Sprintf("%dx%d", im.Width, im.Height); got != args[1] {
		ts.Fatalf("%s is a picture of %s, want %s", args[0], got, args[1])
	}
}

// files DIR NAME...: the directory holds these and nothing else, hidden ones too.
func cmdFiles(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	check(ts, err)
	var got []string
	for _, e := range entries {
		if e.Name() != ".tmp" { // testscript's own
			got = append(got, e.Name())
		}
	}
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}

// json PATH VALUE: standard output is one JSON object with that value, printed by
// %v, at a path such as plan.strategy or photos.0.status; VALUE may be left out.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	v := jsonAt(ts, args[0])
	if len(args) > 1 && (fmt.Sprint(v) == args[1]) == neg {
		ts.Fatalf("%s is %v, want %s", args[0], v, args[1])
	}
}

// savejson PATH FILE: what standard output's JSON object has at a path becomes a file.
func cmdSaveJSON(ts *testscript.TestScript, neg bool, args []string) {
	text, err := json.Marshal(jsonAt(ts, args[0]))
	check(ts, err)
	check(ts, os.WriteFile(ts.MkAbs(args[1]), text, 0o666))
}

// jsonAt is the value at a path of standard output's one JSON object.
func jsonAt(ts *testscript.TestScript, path string) any {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var v any
	check(ts, dec.Decode(&v))
	if dec.More() {
		ts.Fatalf("more than one JSON value")
	}
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[key]; !ok {
				ts.Fatalf("no %s in the object", key)
			}
		case []any:
			v = x[atoi(ts, key)]
		default:
			ts.Fatalf("%s: nothing inside %v", key, v)
		}
	}
	return v
}

// oneline: standard error is one line that begins with "enhance: " and holds no
// sign of a crash.
func cmdOneline(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.ReadFile("stderr")
	if !strings.HasPrefix(s, "enhance: ") || strings.Count(s, "\n") != 1 || strings.Contains(s, "goroutine") {
		ts.Fatalf("not one line: %q", s)
	}
}

// atmost N FILE: it has so many lines or fewer, none of more than 80 characters.
func cmdAtmost(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[1]), "\n"), "\n")
	if n := atoi(ts, args[0]); len(lines) > n {
		ts.Fatalf("%s has %d lines, want at most %d", args[1], len(lines), n)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			ts.Fatalf("%s has a line of %d characters: %s", args[1], n, line)
		}
	}
}

// weights FILE nan|inf|shape|huge|escape: the embedded model, damaged in that way, or
// with a terminal escape in its metadata.
func cmdWeights(ts *testscript.TestScript, neg bool, args []string) {
	file, err := os.ReadFile("../../model/weights/pynet-s.safetensors")
	check(ts, err)
	f, err := safetensors.Read(bytes.NewReader(file), int64(len(file)))
	check(ts, err)
	t := f.Tensors["skip.weight"]
	switch args[1] {
	case "nan":
		t.Data[7] = float32(math.NaN())
	case "inf":
		t.Data[7] = float32(math.Inf(1))
	case "escape":
		f.Meta["train.note"] = "\x1b[2Jnote"
	case "shape":
		t.Shape = []int{len(t.Data)}
	case "huge": // finite, but not what comes of it
		for i := range t.Data {
			t.Data[i] = math.MaxFloat32
		}
	case "zeros", "hundredths": // all of one value: the picture is black, or white
		value := map[string]float32{"hundredths": 0.01}[args[1]]
		for _, t := range f.Tensors {
			for i := range t.Data {
				t.Data[i] = value
			}
		}
	}
	var b bytes.Buffer
	check(ts, safetensors.Write(&b, f))
	check(ts, os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

// minimum NAME: sets NAME to the budget that the message on standard error names.
func cmdMinimum(ts *testscript.TestScript, neg bool, args []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stderr"), "--mem ")
	if !ok {
		ts.Fatalf("no budget is named")
	}
	n, _, _ := strings.Cut(rest, " ")
	ts.Setenv(args[0], strconv.Itoa(atoi(ts, n)))
	ts.Setenv(args[0]+"_LESS", strconv.Itoa(atoi(ts, n)-1))
}

// enough NAME: sets NAME to the bound that the message on standard error advises.
func cmdEnough(ts *testscript.TestScript, neg bool, args []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stderr"), "try --host-mem ")
	if !ok {
		ts.Fatalf("no bound is advised")
	}
	ts.Setenv(args[0], strings.TrimSpace(rest))
}

// writing reports whether a process has a temporary file in dir, with a name or none.
func writing(pid int, dir string) bool {
	parts, _ := filepath.Glob(filepath.Join(dir, ".*.part"))
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range open {
		name, _ := os.Readlink(fd)
		if strings.HasPrefix(name, filepath.Join(dir, "#")) && strings.HasSuffix(name, " (deleted)") {
			parts = append(parts, name)
		}
	}
	return len(parts) > 0
}

// interrupt MS N args...: runs enhance, sends N interrupts (hup: a hangup) MS
// milliseconds after its temporary file has appeared in the current directory, and
// wants exit status 130 within a second. With >FILE before args, what it prints is
// kept: standard output in FILE, standard error in FILE.err.
func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath("enhance")
	check(ts, err)
	to, keep := strings.CutPrefix(args[2], ">")
	order := args[2:]
	if keep {
		order = args[3:]
	}
	c := exec.Command(path, order...)
	c.Dir = ts.MkAbs(".")
	c.Env = os.Environ()
	for _, name := range append([]string{"ENHANCE_CACHE_DIR", "XDG_CACHE_HOME", "POCL_CACHE_DIR"}, passed...) {
		if v := ts.Getenv(name); v != "" {
			c.Env = append(c.Env, name+"="+v)
		}
	}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	check(ts, c.Start())
	begun := false
	for range 1000 {
		if begun = writing(c.Process.Pid, c.Dir); begun {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(atoi(ts, args[0])) * time.Millisecond)
	start := time.Now()
	sig, times := os.Signal(syscall.SIGHUP), 1
	if args[1] != "hup" {
		sig, times = os.Interrupt, atoi(ts, args[1])
	}
	for range times {
		check(ts, c.Process.Signal(sig))
		time.Sleep(10 * time.Millisecond)
	}
	err = c.Wait()
	took := time.Since(start)
	ts.Logf("stopped after %v: %v\n%s", took, err, stderr.String())
	if keep {
		check(ts, os.WriteFile(ts.MkAbs(to), stdout.Bytes(), 0o644))
		check(ts, os.WriteFile(ts.MkAbs(to+".err"), stderr.Bytes(), 0o644))
	}
	switch {
	case !begun:
		ts.Fatalf("the run did not begin")
	case c.ProcessState.ExitCode() != exitInterrupted:
		ts.Fatalf("exit status %d, want %d", c.ProcessState.ExitCode(), exitInterrupted)
	case took > time.Second:
		ts.Fatalf("it took %v to stop", took)
	}
}
