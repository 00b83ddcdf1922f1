package devices

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
)

func TestMatch(t *testing.T) {
	devices := []*clrt.DeviceInfo{
		{Platform: "Intel(R) OpenCL", Name: "Iris Xe", Type: clrt.GPU},
		{Platform: "NVIDIA CUDA", Name: "NVIDIA H200", Type: clrt.GPU},
		{Platform: "NVIDIA CUDA", Name: "NVIDIA T4", Type: clrt.GPU},
		{Platform: "Portable Computing Language", Name: "pthread-EPYC", Type: clrt.CPU},
	}
	for s, want := range map[string]int{"0": 0, "3": 3, "h200": 1, "T4": 2, "nvidia": 1, "portable": 3, "epyc": 3,
		"1:0": 1, "1:1": 2, "nvidia:1": 2, "NVIDIA:t4": 2, "2:0": 3, "intel:0": 0} {
		if got, _, err := match(s, devices); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"4", "-1", "amd", "1:2", "3:0", ":", "nvidia:5"} {
		if got, _, err := match(s, devices); !errors.As(err, new(*Error)) {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	if _, _, err := match("1", devices[:1]); err == nil || !strings.Contains(err.Error(), "the only device is 0") {
		t.Errorf("1 of one device: %v", err)
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string][]string{
		"": {""}, "host": {"host"}, "0,1": {"0", "1"}, "0,0": {"0", "0"}, "nvidia:1,cpu": {"nvidia:1", "cpu"},
	} {
		if got, err := Split(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	all, err := Split(All)
	if err != nil || len(all) == 0 {
		t.Fatalf("all: %q, %v", all, err)
	}
	first, err := Choose("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		c, err := Choose(s)
		if err != nil || (c.Device == nil) != (first.Device == nil) || c.Device != nil && c.Device.Info().Type != first.Device.Info().Type {
			t.Errorf("all has %q: %+v, %v; the default is %+v", s, c, err, first)
		}
	}
}

// FuzzMatch: a selector is understood or refused, whatever it is.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"0", "nvidia:1", ":", "-1", "\x00"} {
		f.Add(s)
	}
	infos := []*clrt.DeviceInfo{{Platform: "p", Name: "n"}}
	f.Fuzz(func(t *testing.T, s string) {
		if i, _, err := match(s, infos); i != 0 || err != nil && !errors.As(err, new(*Error)) {
			t.Errorf("%q: %d, %v", s, i, err)
		}
	})
}
