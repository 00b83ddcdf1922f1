//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package libraw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"enhance/raw/dng"
	"enhance/raw/rawerr"
)

// childArgument makes this test's binary the process; what follows it a process that
// goes wrong.
const childArgument = "__read-raw"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		if len(os.Args) > 2 {
			misbehave(os.Args[2])
		}
		os.Exit(Serve())
	}
	os.Exit(m.Run())
}

func command(t testing.TB, how ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, "test", childArgument}, how...)
}

const samples = "../../testdata/raw/"

// sample opens a photo of testdata/raw.
func sample(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(samples, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// read opens a photo, or skips the test where there is no LibRaw.
func read(t testing.TB, f *os.File) *Image {
	t.Helper()
	im, err := Open(f, command(t))
	if errors.As(err, new(*UnusableError)) {
		t.Skipf("reading through LibRaw is not tested: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

func (im *Image) all(t testing.TB) []uint16 {
	t.Helper()
	v := make([]uint16, im.Meta.Width*im.Meta.Height)
	if err := im.ReadRows(0, im.Meta.Height, v); err != nil {
		t.Fatal(err)
	}
	return v
}

var photos = []string{"PowerShotG2.crw", "DC50.kdc", "DC120.kdc", "colorchart.dng"}

// TestAgainstDcraw holds the visible samples against another decoder.
func TestAgainstDcraw(t *testing.T) {
	need(t, "dcraw")
	for _, name := range photos {
		t.Run(name, func(t *testing.T) {
			im := read(t, sample(t, name))
			out, err := exec.Command("dcraw", "-D", "-4", "-t", "0", "-c", filepath.Join(samples, name)).Output()
			if err != nil {
				t.Fatal(err)
			}
			var w, h, top int
			if _, err := fmt.Sscanf(string(out[:min(len(out), 40)]), "P5\n%d %d\n%d\n", &w, &h, &top); err != nil {
				t.Fatalf("dcraw's output is no PGM: %v", err)
			}
			if w != im.Meta.Width || h != im.Meta.Height {
				t.Fatalf("size %dx%d, dcraw has %dx%d", im.Meta.Width, im.Meta.Height, w, h)
			}
			want := out[len(out)-2*w*h:]
			for i, v := range im.all(t) {
				if b := binary.BigEndian.Uint16(want[2*i:]); v != b {
					t.Fatalf("row %d column %d: %d, dcraw has %d", i/w, i%w, v, b)
				}
			}
		})
	}
}

// TestAgainstLibRaw holds the samples against the stored image that LibRaw's own
// program writes, masked borders left out here.
func TestAgainstLibRaw(t *testing.T) {
	need(t, "unprocessed_raw")
	for _, name := range photos {
		t.Run(name, func(t *testing.T) {
			im := read(t, sample(t, name))
			path := filepath.Join(t.TempDir(), name)
			data, err := os.ReadFile(filepath.Join(samples, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("unprocessed_raw", path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			pgm, err := os.ReadFile(path + ".pgm")
			if err != nil {
				t.Fatal(err)
			}
			var w, h, top int
			if _, err := fmt.Sscanf(string(pgm[:40]), "P5\n%d %d\n%d\n", &w, &h, &top); err != nil {
				t.Fatal(err)
			}
			if w != im.facts.RawWidth || h != im.facts.RawHeight {
				t.Fatalf("size %dx%d, want %dx%d", im.facts.RawWidth, im.facts.RawHeight, w, h)
			}
			stored := pgm[len(pgm)-2*w*h:]
			for i, v := range im.all(t) {
				y, x := im.facts.Top+i/im.Meta.Width, im.facts.Left+i%im.Meta.Width
				if b := binary.BigEndian.Uint16(stored[2*(y*w+x):]); v != b {
					t.Fatalf("row %d column %d: %d, want %d", y, x, v, b)
				}
			}
		})
	}
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: its reading is not compared (Debian packages dcraw, libraw-bin, libimage-exiftool-perl)", program)
	}
}

// TestRows reads in any order and any number.
func TestRows(t *testing.T) {
	im := read(t, sample(t, "DC50.kdc"))
	all, w, h := im.all(t), im.Meta.Width, im.Meta.Height
	for _, c := range [][2]int{{h - 1, 1}, {0, 1}, {h / 2, h / 2}, {3, 0}, {0, h}} {
		got := make([]uint16, c[1]*w)
		if err := im.ReadRows(c[0], c[1], got); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != all[c[0]*w+i] {
				t.Fatalf("rows %v: sample %d is %d, want %d", c, i, v, all[c[0]*w+i])
			}
		}
	}
}

// misbehave is a process that goes wrong, for good or on its way to something.
func misbehave(how string) {
	out := fd(repliesFD)
	switch how {
	case "exit":
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Fprint(out, strings.Repeat("garbage ", 1000))
	case "endless":
		for {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				os.Exit(0)
			}
		}
	case "huge":
		_, _ = out.Write([]byte{'I', 0xff, 0xff, 0xff, 0xff})
	case "cut":
		_, _ = out.Write([]byte{'I', 9, 0, 0, 0, '{'})
	case "nojson":
		_ = writeFrame(out, kindIdentified, []byte("{"))
	case "order":
		_ = writeFrame(out, kindRows, []byte("{}"))
	case "segv":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
	}
	time.Sleep(time.Hour)
}

// TestMisbehaviour: whatever the process does ends in an error about the file.
func TestMisbehaviour(t *testing.T) {
	for how, want := range map[string]string{
		"exit": "ended without an answer (exit status 3)", "silent": "no answer for 2s", "garbage": "nonsense", "endless": "",
		"huge": "nonsense", "cut": "", "nojson": "nonsense", "order": "nonsense", "segv": "ended without an answer",
	} {
		t.Run(how, func(t *testing.T) {
			f := sample(t, "DC50.kdc")
			wait := 2 * time.Second
			if how != "silent" && how != "cut" {
				wait = time.Minute
			}
			_, err := open(f, 1000, command(t, how), wait)
			var bad *rawerr.FormatError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// TestSignals: a process that is killed or stopped between rows is an error of those
// rows, again and again.
func TestSignals(t *testing.T) {
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGKILL: "signal: killed", syscall.SIGSTOP: "no answer for 500ms", syscall.SIGSEGV: "ended without an answer",
	} {
		t.Run(sig.String(), func(t *testing.T) {
			im := read(t, sample(t, "DC50.kdc"))
			im.child.patience = 500 * time.Millisecond
			if err := syscall.Kill(im.child.pid(), sig); err != nil {
				t.Fatal(err)
			}
			row := make([]uint16, im.Meta.Width)
			for range 3 {
				var bad *rawerr.FormatError
				// A request may be written and answered before a signal arrives.
				err := im.ReadRows(0, 1, row)
				for n := 0; err == nil && n < 1000; n++ {
					time.Sleep(time.Millisecond)
					err = im.ReadRows(0, 1, row)
				}
				if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
					t.Fatalf("%v, want %q", err, want)
				}
			}
		})
	}
}

// TestOrphan: the process ends with its parent, whose end is that of a pipe.
func TestOrphan(t *testing.T) {
	im := read(t, sample(t, "DC50.kdc"))
	if err := im.child.requests.Close(); err != nil {
		t.Fatal(err)
	}
	if err := im.child.replies.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := im.child.replies.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v: the process goes on", n, err)
	}
}

// TestConfined looks at what the process holds: its descriptors and limits.
func TestConfined(t *testing.T) {
	leak, err := os.Open("/dev/null") // as a driver leaves its device open for children
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	n, err := syscall.Dup(int(leak.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(n)
	im := read(t, sample(t, "PowerShotG2.crw"))
	dir := fmt.Sprintf("/proc/%d/", im.child.pid())
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		t.Skip("no /proc to look at")
	}
	for _, e := range fds {
		target, err := os.Readlink(dir + "fd/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(target, "pipe:"), strings.HasPrefix(target, "anon_inode:[event"), strings.HasSuffix(target, "PowerShotG2.crw"):
		case target == os.DevNull && (e.Name() == "1" || e.Name() == "2"):
		default:
			t.Errorf("descriptor %s is %s", e.Name(), target)
		}
	}
	text, err := os.ReadFile(dir + "limits")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Max open files 0 0 ", "Max file size 0 0 ", "Max core file size 0 0 ", "Max cpu time 62 62 "} {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " ")+" ", want) {
			t.Errorf("limits lack %q:\n%s", want, text)
		}
	}
	maps, err := os.ReadFile(dir + "maps")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(bytes.ToLower(maps), []byte("opencl")) {
		t.Error("the process has an OpenCL library")
	}
	peak := im.Peak()
	t.Logf("peak %.1f MiB, bound %.1f MiB", float64(peak)/(1<<20), float64(im.Bytes())/(1<<20))
	if peak <= 0 || peak > im.Bytes() {
		t.Errorf("the process held %d bytes, at most %d were said", peak, im.Bytes())
	}
}

// TestAgainstOwnReader holds the facts of a DNG file against those of this project's
// reader.
func TestAgainstOwnReader(t *testing.T) {
	f := sample(t, "colorchart.dng")
	im := read(t, f)
	info, err := os.Stat(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	own, err := dng.Open(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	a, b := &im.Meta, &own.Meta
	if a.Width != b.Width || a.Height != b.Height || a.CFA != b.CFA || a.White != b.White || a.Orientation != b.Orientation {
		t.Errorf("LibRaw %+v\nown %+v", a, b)
	}
	for i := range 4 {
		if x, y := a.BlackAt(i/2, i%2), b.BlackAt(i/2, i%2); x != y {
			t.Errorf("black of cell %d is %g, own %g", i, x, y)
		}
	}
	near := func(what string, x, y float64) {
		if math.Abs(x-y) > 1e-5*(1+math.Abs(y)) {
			t.Errorf("%s is %g, own %g", what, x, y)
		}
	}
	for i := range 3 {
		near("neutral", a.AsShot[i]/a.AsShot[1], b.AsShot[i]/b.AsShot[1])
		for j := range 3 {
			near("ColorMatrix1", a.ColorMatrix1[i][j], b.ColorMatrix1[i][j])
		}
	}
	if a.Illuminant1 != b.Illuminant1 || (a.ColorMatrix2 == nil) != (b.ColorMatrix2 == nil) {
		t.Errorf("illuminant %d, second matrix %v; own %d, %v", a.Illuminant1, a.ColorMatrix2, b.Illuminant1, b.ColorMatrix2)
	}
	want := make([]uint16, a.Width*a.Height)
	if err := own.ReadRows(0, a.Height, want); err != nil {
		t.Fatal(err)
	}
	for i, v := range im.all(t) {
		if v != want[i] {
			t.Fatalf("row %d column %d: %d, own %d", i/a.Width, i%a.Width, v, want[i])
		}
	}
}
