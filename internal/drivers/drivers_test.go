package drivers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
)

const serveArgument = "__try-drivers"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveArgument {
		os.Exit(Serve())
	}
	os.Exit(m.Run())
}

// options start this test as the child. Files that the drivers leave go to a new cache.
func options(t *testing.T) (o Options, said *[]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	said = new([]string)
	return Options{Command: []string{self, "drivers.test", serveArgument}, Patience: 20 * time.Second,
		Say: func(text string) { *said = append(*said, text) }, Debug: func(text string) { t.Log(text) }}, said
}

// systemPoCL is the library of PoCL as it is registered, and the test is skipped without.
func systemPoCL(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED, nothing was tested: drivers are files on Linux only")
	}
	for _, d := range installed() {
		if d.pocl() && d.Library != "" {
			return d.Library
		}
	}
	t.Skip("SKIPPED, nothing was tested: PoCL is not installed")
	return ""
}

// faulty compiles a driver that fails.
func faulty(t *testing.T, dir, name string, place int, fault string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("SKIPPED, nothing was tested: there is no C compiler to make a faulty driver with")
	}
	lib := filepath.Join(dir, name+".so")
	out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, fmt.Sprintf("-DPLACE=%d", place), "-DFAULT="+fault,
		fmt.Sprintf("-DPOCL=%q", systemPoCL(t)), "testdata/faulty.c", "-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return lib
}

// vendors makes a folder of drivers that the loader takes.
func vendors(t *testing.T, libraries ...string) {
	t.Helper()
	dir := t.TempDir()
	for i, lib := range libraries {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("v%d.icd", i)), []byte(lib+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(icdFilenames, "")
	t.Setenv(vendorPath, "")
	t.Setenv(icdVendors, dir)
}

// TestFaultyDrivers: each way to fail at each place ends a child only, and is named.
func TestFaultyDrivers(t *testing.T) {
	pocl := systemPoCL(t)
	places := []string{"while loading the driver", "while loading the driver", "while compiling a program on"}
	faults := []struct{ name, code, want string }{
		{"abort", "abort()", "crashed (SIGABRT)"},
		{"exit", "exit(0)", "ended the process with status 0"},
		{"last-words", `fprintf(stderr,"LLVM ERROR: none\n"),exit(1)`, "ended the process with status 1, saying LLVM ERROR: none,"},
		{"fault", "*(volatile int*)8=1", "crashed (SIGSEGV)"},
		{"hang", "for(;;)pause()", "does not end within"},
	}
	for place, where := range places {
		for _, f := range faults {
			t.Run(fmt.Sprintf("%s/%d", f.name, place), func(t *testing.T) {
				if testing.Short() && f.name != faults[place].name {
					t.Skip("-short: one fault a place")
				}
				o, said := options(t)
				if f.name == "hang" {
					o.Patience = 4 * time.Second
				}
				bad := faulty(t, t.TempDir(), "faulty", place, f.code)
				vendors(t, bad)
				failed, err := Prepare(o)
				if !errors.Is(err, clrt.ErrNoOpenCL) || len(failed) != 1 || failed[0].Library != bad {
					t.Fatalf("%v, %v", failed, err)
				}
				text := strings.Join(*said, "\n")
				for _, want := range []string{bad, f.want, where} {
					if !strings.Contains(text, want) || strings.Contains(text, "\n") {
						t.Errorf("said %q, want %q", text, want)
					}
				}
			})
		}
	}
	if t.Failed() {
		return
	}
	t.Run("beside PoCL", func(t *testing.T) {
		o, said := options(t)
		bad := faulty(t, t.TempDir(), "faulty", 0, "abort()")
		vendors(t, bad, pocl)
		both := os.Getenv(icdVendors)
		for round := range 2 { // the second time from the cache
			if round == 1 {
				o.Command = []string{"/nowhere", "nobody", "nothing"}
			}
			failed, err := Prepare(o)
			if err != nil || len(failed) != 1 || failed[0].Library != bad || len(*said) != round+1 {
				t.Fatalf("round %d: %v, %v; said %q", round, failed, err, *said)
			}
			if now := installed(); len(now) != 1 || now[0].Library != pocl {
				t.Fatalf("the loader has %v, want PoCL", now)
			}
			t.Setenv(icdVendors, both)
		}
	})
}
