package findings

import (
	"context"
	"errors"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
)

// named is a kernel whose check finds an error.
func named(name string, found error) *Kernel {
	return &Kernel{Name: name, Source: func() string { return name }, Check: func(context.Context, *clrt.Context, *clrt.DeviceInfo, exec.Options) error { return found }}
}

// TestKeepKernels: kernels that are right are known to other processes; those that are wrong, or could not be
// checked, are checked again by these.
func TestKeepKernels(t *testing.T) {
	for _, c := range []struct {
		found error
		wrong string
		noted bool
	}{
		{nil, "", true},
		{errors.New("row 3 is 1: \nline 2"), "row 3 is 1", false},
		{&memplan.BudgetError{}, "", false},
	} {
		d, k := described(t), named("k", nil)
		var here, later Kernels
		if here.Checked(d, k, planar.FP16) {
			t.Fatal("a kernel that nobody checked was checked")
		}
		if err := here.Keep(t.Context(), d, k, planar.FP16, c.found); err != nil {
			t.Fatal(err)
		}
		if !here.Checked(d, k, planar.FP16) || here.Checked(d, k, planar.FP32) || here.Wrong(k, planar.FP16) != c.wrong {
			t.Errorf("%v: checked in fp16 %v, in fp32 %v, wrong: %q", c.found, here.Checked(d, k, planar.FP16), here.Checked(d, k, planar.FP32), here.Wrong(k, planar.FP16))
		}
		foundRight.Clear() // as in another process
		if got := later.Checked(d, k, planar.FP16); got != c.noted || later.Wrong(k, planar.FP16) != "" {
			t.Errorf("%v: another process takes it for checked: %v", c.found, got)
		}
		changed := *k
		changed.Source = func() string { return "another" }
		if new(Kernels).Checked(d, &changed, planar.FP16) {
			t.Errorf("%v: what was found of one text is taken for another's", c.found)
		}
	}
}

// TestKernelsWithoutCache: where nothing can be noted, a process checks a kernel that is right once.
func TestKernelsWithoutCache(t *testing.T) {
	d, k := described(t), named("k", nil)
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	var here, later Kernels
	if err := here.Keep(t.Context(), d, k, planar.FP32, nil); err != nil {
		t.Fatal(err)
	}
	if !later.Checked(d, k, planar.FP32) {
		t.Error("it is checked again")
	}
	other := *d
	info := *d.Info
	info.Name, other.Info = "another", &info
	if new(Kernels).Checked(&other, k, planar.FP32) {
		t.Error("what was found of one device is taken for another's")
	}
}

// TestCheckKernels: a check after one that found something wrong has another context, and what was
// found is there once it is taken.
func TestCheckKernels(t *testing.T) {
	first := convtest.Device(t)
	d := described(t)
	d.Info = first.Info()
	opened := 0
	d.Open = func() (*clrt.Context, error) {
		opened++
		return clrt.NewContext(first)
	}
	var n Kernels
	ended := false
	kernels := []*Kernel{named("a", nil), named("b", errors.New("wrong")), named("c", nil)}
	c := n.Begin(t.Context(), d, kernels, exec.Options{}, func() { ended = true })
	for range 2 {
		if err := c.Take(); err != nil {
			t.Fatal(err)
		}
	}
	wrong := make([]string, len(kernels))
	for i, k := range kernels {
		wrong[i] = n.Wrong(k, planar.FP32)
	}
	if !ended || opened != 2 || !slices.Equal(wrong, []string{"", "wrong", ""}) {
		t.Errorf("ended %v, %d contexts, wrong: %q", ended, opened, wrong)
	}
	if err := (*Checks)(nil).Take(); err != nil {
		t.Error(err)
	}
	failed := errors.New("no device")
	d.Open = func() (*clrt.Context, error) { return nil, failed }
	if err := n.Begin(t.Context(), d, kernels[:1], exec.Options{}, func() {}).Take(); !errors.Is(err, failed) {
		t.Errorf("a device that does not open: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	d.Open = func() (*clrt.Context, error) { return clrt.NewContext(first) }
	if err := n.Begin(stopped, d, []*Kernel{named("d", nil)}, exec.Options{}, func() {}).Take(); !errors.Is(err, context.Canceled) || n.Checked(d, named("d", nil), planar.FP32) {
		t.Errorf("interrupted: %v", err)
	}
}
