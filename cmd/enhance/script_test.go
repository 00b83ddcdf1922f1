package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/clrt"
	"enhance/raw/libraw"
)

// programs are what scripts and tests can run.
var programs = map[string]func(){"enhance": main}

// TestMain: tests that call run are this program too, which starts itself once more to try drivers and compile kernels.
func TestMain(m *testing.M) {
	if own := []string{compileArgument, driversArgument, readArgument, warmUpArgument}; len(os.Args) == 2 && slices.Contains(own, os.Args[1]) {
		main()
	}
	testscript.Main(m, programs)
}

// passed are the variables that decide which OpenCL there is.
var passed = []string{"OCL_ICD_VENDORS", "LD_LIBRARY_PATH", "ENHANCE_OPENCL_LIB", "POCL_CACHE_DIR", "POCL_DEVICES"}

// TestScripts runs the program itself: testdata/script/*.txtar, see
// https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript. Beyond its
// commands there are those of the map below, the condition [opencl], and $DATA,
// the repository's testdata.
func TestScripts(t *testing.T) {
	if _, err := clrt.Devices(); err != nil {
		if os.Getenv("ENHANCE_REQUIRE_OPENCL") == "1" {
			t.Fatalf("ENHANCE_REQUIRE_OPENCL is set: %v", err)
		}
		t.Logf("NO OPENCL DEVICE: scripts that need one are skipped: %v", err)
	}
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	caches := newCaches(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("CONTRIB", filepath.Join(filepath.Dir(data), "contrib"))
			e.Setenv("LIBRAW", os.Getenv(libraw.LibraryEnv))
			if program, err := exec.LookPath("enhance"); err == nil { // for scripts that change PATH
				e.Setenv("ENHANCE", program)
			}
			for name, value := range caches {
				e.Setenv(name, value)
			}
			for _, name := range passed {
				if v, ok := os.LookupEnv(name); ok {
					e.Setenv(name, v)
				}
			}
			return nil
		},
		Condition: func(name string) (bool, error) { return condition(t, name) },
		Cmds:      scriptCommands,
	})
}

// condition says whether a script's condition of that name holds.
func condition(t *testing.T, name string) (bool, error) {
	switch name {
	case "opencl":
		_, err := clrt.Devices()
		return err == nil, nil
	case "libraw":
		return haveLibRaw()
	case "cores":
		return runtime.NumCPU() > 1, nil
	case "pocl":
		_, err := os.Stat(poclICD)
		return err == nil, nil
	case "tmpfs":
		return canMount(t), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// newCaches are the variables that lead to caches. Scripts share a new one, so
// that programs are made once for all of them, without a place for tuning results:
// a script tests the shipped algorithms whatever its machine was tuned to, unless it
// names a cache of its own. What would be the user's cache must stay empty. PoCL's
// is the driver's, by source, and stays: compiling all anew takes a minute.
func newCaches(t *testing.T) map[string]string {
	own, users := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "tuning"), []byte("not a folder\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		entries, err := os.ReadDir(users)
		if err != nil || len(entries) > 0 {
			t.Errorf("scripts left %v in the user's cache (%v)", entries, err)
		}
	})
	caches := map[string]string{"ENHANCE_CACHE_DIR": own, "XDG_CACHE_HOME": users}
	if dir, err := os.UserCacheDir(); err == nil {
		caches["POCL_CACHE_DIR"] = filepath.Join(dir, "pocl", "kcache")
	} else {
		caches["POCL_CACHE_DIR"] = t.TempDir()
	}
	return caches
}
