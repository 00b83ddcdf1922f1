package profile_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/internal/boundtest"
	"enhance/internal/profile"
)

// TestKnown checks the profiles that come with the program: what they are called,
// that figures have sources, and that estimates name fields.
func TestKnown(t *testing.T) {
	fields := map[string]bool{}
	for f := range reflect.TypeFor[profile.Profile]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = true
	}
	for _, want := range []string{"adreno-660", "mali-g78", "intel-iris-xe", "apple-m1", "rtx-3060", "h200"} {
		p, err := profile.Load(want)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if p.Name != want || len(p.Sources) == 0 || p.Device == "" {
			t.Errorf("%s calls itself %q, is %q, with %d sources", want, p.Name, p.Device, len(p.Sources))
		}
		for _, e := range p.Estimated {
			if !fields[e] {
				t.Errorf("%s: %s is estimated but no field", want, e)
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	_, err := profile.Load("adreno-66")
	var unknown *profile.UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "adreno-660, apple-m1") {
		t.Errorf("error %v", err)
	}
	if _, err := profile.Load(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestDocument: the example of docs/device-profiles.md is a profile, and the page names
// every field.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/device-profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```json\n")
	example, _, ok := strings.Cut(example, "```")
	if !ok {
		t.Fatal("no example")
	}
	if _, err := profile.Parse([]byte(example), "the example"); err != nil {
		t.Error(err)
	}
	for f := range reflect.TypeFor[profile.Profile]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is not explained", name)
		}
	}
}

const good = `{"name": "toy", "type": "GPU", "global_mem": 268435456, "max_alloc": 67108864,
 "local_mem": 16384, "max_work_group": 128, "compute_units": 2, "base_align": 256,
 "unified": true, "native_vector_float": 4, "clock_mhz": 500}`

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toy.json")
	if err := os.WriteFile(path, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	i := p.Info()
	if i.GlobalMem != 256<<20 || i.MaxAlloc != 64<<20 || !i.Unified || i.Type != clrt.GPU || i.MaxWorkItem != [3]int{128, 128, 128} {
		t.Errorf("info %+v", i)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		line, column   int
		want           string
	}{
		{"not JSON", `"local_mem"`, `local_mem`, 2, 3, "this is not JSON: invalid character"},
		{"a string for a number", `16384`, `"16384"`, 2, 22, "local_mem: want a whole number, not a string"},
		{"too large a number", `16384`, `1e99`, 2, 19, "local_mem: want a whole number, not number 1e99"},
		{"unknown field", `"clock_mhz"`, `"clock"`, 3, 45, `unknown field "clock"`},
		{"unknown type", `"GPU"`, `"TPU"`, 1, 25, `unknown device type "TPU": want`},
		{"a word for a truth", `"unified": true`, `"unified": "yes"`, 3, 0, "unified: want true or false, not a string"},
		{"a number for a name", `"toy"`, `5`, 1, 0, "name: want a string, not a number"},
		{"a number among sources", `"unified": true`, `"unified": true, "sources": [1]`, 3, 0, "sources: want a"},
		{"a word for sources", `"unified": true`, `"unified": true, "sources": "a"`, 3, 0, "sources: want a list of strings, not a string"},
		{"cut short", `"clock_mhz": 500}`, ``, 3, 0, "not complete"},
		{"something behind", `500}`, `500} 7`, 3, 0, "something follows"},
		{"no memory", `"global_mem": 268435456, `, ``, 0, 0, "global_mem is 0"},
		{"negative", `"compute_units": 2`, `"compute_units": -2`, 0, 0, "compute_units is -2"},
		{"odd alignment", `256`, `96`, 0, 0, "power of two"},
		{"too little memory of the host's", `"unified": true`, `"unified": true, "host_mem": 268435455`, 0, 0, "host_mem is 268435455: want global_mem, which is 268435456, to"},
		{"warpgroups without matrix units", `"unified": true`, `"unified": true, "warpgroups": true`, 0, 0, "warpgroups are for devices with matrix units"},
		{"memory of a host apart", `"unified": true`, `"unified": false, "host_mem": 268435457`, 0, 0, "host_mem is for devices that share the host's memory"},
		{"a vector of 5", `"native_vector_float": 4`, `"native_vector_float": 5`, 0, 0, "native_vector_float is 5: want 1, 2, 4, 8 or 16"},
		{"a vector of 32", `"native_vector_float": 4`, `"native_vector_float": 32`, 0, 0, "native_vector_float is 32: want 1 to 16"},
		{"a buffer above the memory", `"max_alloc": 67108864`, `"max_alloc": 268435457`, 0, 0, "max_alloc is 268435457: want at most global_mem, which is 268435456"},
		{"no name", `toy`, ``, 0, 0, "no name"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if c.name == "odd alignment" {
			text = strings.Replace(good, `"base_align": 256`, `"base_align": 96`, 1)
		}
		_, err := profile.Parse([]byte(text), "toy.json")
		var e *profile.FormatError
		if !errors.As(err, &e) || e.Line != c.line || c.column > 0 && e.Column != c.column || !strings.Contains(e.Problem, c.want) ||
			strings.Contains(e.Problem, "Go ") || strings.Contains(e.Problem, "clrt") {
			t.Errorf("%s: %v, want line %d, column %d, %q", c.name, err, c.line, c.column, c.want)
		}
	}
}

// TestOf: the profile of a device, written and read again, describes that device.
func TestOf(t *testing.T) {
	i := &clrt.DeviceInfo{Platform: "P", Name: "a device", Type: clrt.GPU, ComputeUnits: 7, GlobalMem: 8 << 30, MaxAlloc: 2 << 30, LocalMem: 48 << 10,
		LocalIsGlobal: true, BaseAlign: 512, Unified: true, MaxWorkGroup: 256, MaxWorkItem: [3]int{256, 256, 64}, NativeVectorFloat: 2, MaxClockMHz: 900}
	text, err := json.Marshal(profile.Of(i))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(text, "of")
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := *i
	want.Platform, want.Version, want.MaxWorkItem = "profile", "profile a device", [3]int{256, 256, 256}
	if got := p.Info(); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", *got, want)
	}
	if got, real := p.Limit(i), *i; !reflect.DeepEqual(*got, real) {
		t.Errorf("a device within its own limits: %+v, want %+v", *got, real)
	}
	for _, bad := range []func(*clrt.DeviceInfo){
		func(i *clrt.DeviceInfo) { i.Type = clrt.Other }, func(i *clrt.DeviceInfo) { i.Name = "" }, func(i *clrt.DeviceInfo) { i.MaxClockMHz = 0 },
	} {
		other := *i
		if bad(&other); profile.Of(&other) != nil {
			t.Errorf("%+v has a profile", other)
		}
	}
}

// TestLimit: limits narrow, never widen; what kernels depend on stays.
func TestLimit(t *testing.T) {
	p, err := profile.Parse([]byte(good), "toy")
	if err != nil {
		t.Fatal(err)
	}
	real := &clrt.DeviceInfo{Type: clrt.CPU, GlobalMem: 16 << 30, MaxAlloc: 4 << 30, LocalMem: 8 << 10, MaxWorkGroup: 4096, BaseAlign: 128, NativeVectorFloat: 16, ComputeUnits: 2}
	got := p.Limit(real)
	want := *real
	want.GlobalMem, want.MaxAlloc, want.MaxWorkGroup, want.BaseAlign, want.Unified = 256<<20, 64<<20, 128, 256, true
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("limited to %+v, want %+v", *got, want)
	}
	if real.GlobalMem != 16<<30 {
		t.Error("the device itself was changed")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"name": 3`))
	f.Add([]byte("{\n\"global_mem\": -1}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p *profile.Profile
		var err error
		boundtest.Run(t, len(text), 1<<20, 200, func() { p, err = profile.Parse(text, "fuzz") })
		var e *profile.FormatError
		switch {
		case err == nil && (p.GlobalMem < 1 || p.MaxAlloc < 1 || p.BaseAlign < 1):
			t.Errorf("taken: %+v", p)
		case err != nil && !errors.As(err, &e):
			t.Errorf("error of another kind: %v", err)
		}
	})
}
