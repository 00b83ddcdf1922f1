package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"enhance/clrt"
	"enhance/internal/boundtest"
	"enhance/internal/peak"
	"enhance/pipeline/facts"
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
	for text, want := range map[string]*facts.Peaks{
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

// TestPeaksFileUnbounded: a file of gigabytes, and what is no file, count as none.
func TestPeaksFileUnbounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(path, []byte(`{"fma": 2, "bytes": 3}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("SKIPPED, nothing was tested: no sparse files here: %v", err)
	}
	if p := readPeaks(path); p != nil {
		t.Errorf("read as %+v", p)
	}
	if p := readPeaks(t.TempDir()); p != nil {
		t.Errorf("a folder is read as %+v", p)
	}
}

func FuzzPeaks(f *testing.F) {
	f.Add(`{"fma": 2, "bytes": 3, "mma_warpgroup": 4}`)
	f.Add(`{"fma": 1e308, "bytes": 1e-320}`)
	f.Fuzz(func(t *testing.T, text string) {
		var p *facts.Peaks
		boundtest.Run(t, len(text), 1<<20, 100, func() { p = parsePeaks([]byte(text)) })
		if p == nil {
			return
		}
		for _, rate := range []float64{p.FMA, p.Bytes} {
			if !(rate > 0) || math.IsInf(rate, 0) {
				t.Errorf("%q gives %+v", text, p)
			}
		}
		for _, rate := range []float64{p.MMA, p.TF32, p.Warpgroup} {
			if !(rate >= 0) || math.IsInf(rate, 0) {
				t.Errorf("%q gives %+v", text, p)
			}
		}
	})
}
