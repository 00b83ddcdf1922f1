package clrt_test

import (
	"strings"
	"testing"

	"enhance/clrt"
)

// TestCores divides the CPU device and checks what comes of it.
func TestCores(t *testing.T) {
	d := cpuDevice(t)
	all := d.Info().ComputeUnits
	for _, n := range []int{all, all + 1, 1 << 20} {
		if s, err := d.Cores(n); err != nil || s != d {
			t.Errorf("%d of %d units: %v, %v; want the device itself", n, all, s, err)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := d.Cores(n); err == nil || !strings.Contains(err.Error(), "at least 1") {
			t.Errorf("%d units: error %v", n, err)
		}
	}
	if all < 2 {
		t.Skip("SKIPPED: the device has one compute unit, which cannot be divided")
	}
	s, err := d.Cores(1)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Info().ComputeUnits; got != 1 {
		t.Errorf("%d compute units, want 1", got)
	}
	if s.Info().Name != d.Info().Name || s.Info().Platform != d.Info().Platform {
		t.Errorf("the part is %v, the whole %v", s, d)
	}
	if again, err := d.Cores(1); err != nil || again != s {
		t.Errorf("asked again: %v, %v; want the same device", again, err)
	}
}

// cpuDevice is the first CPU device, or skips the test.
func cpuDevice(t *testing.T) *clrt.Device {
	t.Helper()
	ds, err := clrt.Devices()
	if err != nil {
		t.Skipf("SKIPPED, nothing was tested: %v", err)
	}
	for _, d := range ds {
		if d.Info().Type == clrt.CPU {
			return d
		}
	}
	t.Skip("SKIPPED: there is no CPU device")
	return nil
}
