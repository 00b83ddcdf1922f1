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
	t.Setenv("TMPDIR", t.TempDir())
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

// TestErrorsOfDrivers: a driver that answers with an error is passed over this time; want of
// memory is no reason.
func TestErrorsOfDrivers(t *testing.T) {
	for fault, want := range map[string]string{"return -11": "fails on ", "return -5": ""} {
		o, said := options(t)
		vendors(t, faulty(t, t.TempDir(), "faulty", 2, fault))
		failed, err := Prepare(o)
		if (len(failed) > 0) != (want != "") || errors.Is(err, clrt.ErrNoOpenCL) != (want != "") || !strings.Contains(strings.Join(*said, "\n"), want) {
			t.Errorf("%s: %v, %v, said %q", fault, failed, err, *said)
		}
		kept, _ := filepath.Glob(filepath.Join(os.Getenv("ENHANCE_CACHE_DIR"), verdictFolder, "*.json"))
		if (len(kept) == 0) != (want != "") {
			t.Errorf("%s: the cache has %q", fault, kept)
		}
	}
}

// TestVerdicts: a verdict is found again until what it is about changes, and one that passes
// drivers over only for a while; damaged files count as none.
func TestVerdicts(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	folders := []string{"/dev/null/none", folder} // the first cannot be
	good, bad := &verdict{Version: verdictVersion, Made: now}, &verdict{Version: verdictVersion, Made: now, Failed: []Failure{{Driver{Library: "lib"}, "crashed"}}}
	good.save(folders, "good")
	bad.save(folders, "bad")
	for _, c := range []struct {
		key   string
		after time.Duration
		found bool
	}{{"good", 0, true}, {"good", 1000 * time.Hour, true}, {"bad", time.Minute, true}, {"bad", failedFor + time.Minute, false}, {"bad", -time.Hour, false}, {"none", 0, false}} {
		if v := loadVerdict(folders, c.key, now.Add(c.after)); (v != nil) != c.found {
			t.Errorf("%s after %v: %+v", c.key, c.after, v)
		}
	}
	for _, text := range []string{"", "{", `{"version":99}`} {
		if err := os.WriteFile(filepath.Join(folder, "good.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if v := loadVerdict(folders, "good", now); v != nil {
			t.Errorf("%q: %+v", text, v)
		}
	}
	lib := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(lib, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := []Driver{{Library: lib}}
	before := key(all)
	if key(all) != before {
		t.Error("the key is not the same twice")
	}
	if err := os.WriteFile(lib, []byte("two and more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if key(all) == before {
		t.Error("another library has the same key")
	}
	before = key(all)
	t.Setenv(connectionsEnv, "1")
	if key(all) != before {
		t.Error("drivers are tried again where a process has one connection, which budgets decide")
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	if key(all) == before {
		t.Error("other devices have the same key")
	}
	for i := range 3 * mostVerdicts {
		good.save(folders, fmt.Sprint("k", i))
	}
	if names, _ := filepath.Glob(filepath.Join(folder, "*.json")); len(names) > mostVerdicts {
		t.Errorf("%d verdicts are kept", len(names))
	}
}
