package main

import (
	"os"
	"path/filepath"
	"testing"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/peak"
)

// TestPeaksFile: peaks are kept apart for every device, driver and number of cores, and
// only figures that can be are read back.
func TestPeaksFile(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	device := clrt.DeviceInfo{Platform: "P", Name: "N", DriverVersion: "1", Version: "OpenCL 3.0", ComputeUnits: 8}
	seen := map[string]string{}
	for what, change := range map[string]func(i *clrt.DeviceInfo){
		"the device":   func(*clrt.DeviceInfo) {},
		"another":      func(i *clrt.DeviceInfo) { i.Name = "M" },
		"its driver":   func(i *clrt.DeviceInfo) { i.DriverVersion = "2" },
		"two cores":    func(i *clrt.DeviceInfo) { i.ComputeUnits = 2 },
		"platform":     func(i *clrt.DeviceInfo) { i.Platform = "Q" },
		"its language": func(i *clrt.DeviceInfo) { i.Version = "OpenCL 1.2" },
	} {
		i := device
		change(&i)
		path := peaksFile(&i)
		if other, ok := seen[path]; ok || path == "" {
			t.Errorf("%s: %q, as for %s", what, path, other)
		}
		seen[path] = what
	}
	path := filepath.Join(t.TempDir(), "p.json")
	for text, want := range map[string]*exec.Peaks{
		`{"fma": 2, "bytes": 3, "mma_warpgroup": 4}`: {Units: peak.Units{FMA: 2, Warpgroup: 4}, Bytes: 3},
		`{"fma": 0, "bytes": 3}`:                     nil,
		`{"fma": 2, "bytes": 3, "mma": -1}`:          nil,
		`{"fma": 2`:                                  nil,
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got := readPeaks(path)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s is read as %+v, want %+v", text, got, want)
		}
	}
}
