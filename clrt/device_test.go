package clrt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
)

func TestDeviceInfo(t *testing.T) {
	openDevice(t)
	devices, err := clrt.Devices()
	must(t, err)
	again, err := clrt.Devices()
	must(t, err)
	if !slices.Equal(devices, again) {
		t.Error("the order of devices changes")
	}
	for _, d := range devices {
		i := d.Info()
		text, err := json.Marshal(i)
		must(t, err)
		var back clrt.DeviceInfo
		must(t, json.Unmarshal(text, &back))
		if back.Name != i.Name || back.Type != i.Type || back.GlobalMem != i.GlobalMem {
			t.Errorf("JSON loses something: %s", text)
		}
		if i.Name == "" || i.Platform == "" || i.Version == "" || i.DriverVersion == "" || i.ComputeUnits < 1 ||
			i.GlobalMem < 1<<20 || i.MaxAlloc < 1<<20 || i.MaxAlloc > i.GlobalMem || i.LocalMem < 1<<10 ||
			i.MaxWorkGroup < 1 || i.MaxWorkItem[0] < 1 || i.MaxWorkItem[2] < 1 || i.BaseAlign < 1 || len(i.Extensions) == 0 {
			t.Errorf("implausible: %s", text)
		}
		if !strings.HasPrefix(i.Version, "OpenCL ") {
			t.Errorf("version %q", i.Version)
		}
		i.Name, i.Extensions[0] = "changed", "changed"
		if fresh := d.Info(); fresh.Name == "changed" || fresh.Extensions[0] == "changed" {
			t.Error("Info hands out the device's own")
		}
		t.Logf("%s", text)
	}
}

// childEnv makes the test binary report Devices instead of testing.
const childEnv = "ENHANCE_TEST_DEVICES"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	_, err := clrt.Devices()
	var none *clrt.NoOpenCLError
	if !errors.Is(err, clrt.ErrNoOpenCL) || !errors.As(err, &none) || none.Reason == "" {
		os.Stdout.WriteString("WRONG: ")
	}
	if err != nil {
		os.Stdout.WriteString(err.Error())
	}
	os.Exit(0)
}

// What cannot be loaded is a typed error that says what to do, in a process of
// its own since a library stays loaded.
func TestNoOpenCL(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libtext.so")
	must(t, os.WriteFile(text, []byte("no library"), 0o644))
	for _, c := range []struct {
		name, env string
		want      []string
	}{
		{"missing", "ENHANCE_OPENCL_LIB=/nonexistent", []string{"/nonexistent", "ENHANCE_OPENCL_LIB"}},
		{"not a library", "ENHANCE_OPENCL_LIB=" + text, []string{text}},
		{"another library", "ENHANCE_OPENCL_LIB=libc.so.6", []string{"libc.so.6", "lacks clGetPlatformIDs"}},
		{"no platform", "OCL_ICD_VENDORS=" + t.TempDir(), []string{"finds no platform", "driver"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no platform" {
				openDevice(t)
				if os.Getenv("ENHANCE_OPENCL_LIB") != "" {
					t.Skip("SKIPPED: needs the system's loader")
				}
			}
			if c.name == "another library" {
				if _, err := os.Stat("/etc/ld.so.cache"); err != nil {
					t.Skip("SKIPPED: needs glibc")
				}
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=1", c.env)
			out, err := cmd.CombinedOutput()
			must(t, err)
			for _, w := range append(c.want, "no OpenCL: ") {
				if !strings.Contains(string(out), w) {
					t.Errorf("%q does not say %q", out, w)
				}
			}
			if strings.HasPrefix(string(out), "WRONG") {
				t.Errorf("not the typed error: %s", out)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&clrt.Error{Call: "clBuildProgram", Code: -11}, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"},
		{&clrt.Error{Call: "clFinish", Code: -5, Detail: "why"}, "clFinish: CL_OUT_OF_RESOURCES (-5): why"},
		{&clrt.Error{Call: "clFinish", Code: -9999}, "clFinish: unknown OpenCL code (-9999)"},
		{&clrt.NoOpenCLError{Reason: "r"}, "no OpenCL: r"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if !clrt.OutOfMemory(&clrt.Error{Code: -4}) || clrt.OutOfMemory(&clrt.Error{Code: -11}) || clrt.OutOfMemory(nil) {
		t.Error("OutOfMemory is wrong")
	}
	for err, want := range map[error]bool{
		&clrt.Error{Call: "clBuildProgram", Code: -11}:                        true,
		&clrt.BuildError{Err: &clrt.Error{Call: "clBuildProgram", Code: -11}}: true,
		fmt.Errorf("launch: %w", &clrt.Error{Call: "clEnqueue", Code: -5}):    true,
		&clrt.BuildError{Err: &clrt.Error{Call: "clBuildProgram", Code: -6}}:  false,
		&clrt.Error{Call: "clCreateKernel", Code: -36}:                        false,
		&clrt.Error{Call: "clEnqueueReadBuffer", Code: -4}:                    false,
		errors.New("no error of OpenCL"):                                      false,
	} {
		if got := clrt.Refused(err); got != want {
			t.Errorf("Refused(%v) is %v", err, got)
		}
	}
	seen := map[string]bool{}
	for _, n := range clrt.SymbolNames() {
		if !strings.HasPrefix(n, "cl") || seen[n] {
			t.Errorf("function table: %q is missing, odd or double", n)
		}
		seen[n] = true
	}
}
