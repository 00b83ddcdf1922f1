package main

import (
	"slices"
	"strings"
	"testing"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
)

// TestFarmFlags: every flag of the main command is either a setting of orders or left to
// the farm's own, so that a new one is decided about: a setting that names a file to write
// would let an order write on workers.
func TestFarmFlags(t *testing.T) {
	for _, f := range flagsOf(develop) {
		left := slices.Contains(farmLeaves, f.name)
		if left == isSetting(f) {
			t.Errorf("--%s: setting %v, left out %v: put it into farmSettings if it decides how a picture looks, into farmLeaves if not", f.name, isSetting(f), left)
		}
		for _, cmd := range []string{"farm run", "farm submit", farmMake} {
			if isSetting(f) != f.takes(cmd) && !left {
				t.Errorf("%s takes --%s: %v", cmd, f.name, f.takes(cmd))
			}
		}
	}
	for _, name := range append(slices.Clone(farmSettings), farmLeaves...) {
		if !slices.ContainsFunc(flagsOf(develop), func(f *flag) bool { return f.name == name }) {
			t.Errorf("--%s is no flag of the main command", name)
		}
	}
}

func TestCheckSetting(t *testing.T) {
	file := &farm.File{SHA256: farm.Hash("x"), Bytes: 1, Extension: ".safetensors"}
	for _, c := range []struct {
		farm.Setting
		ok bool
	}{
		{farm.Setting{Name: "tone", Value: "linear"}, true},
		{farm.Setting{Name: "model", Value: "best"}, true},
		{farm.Setting{Name: "model", Value: "pynet-m-random:1,size=tiny"}, true},
		{farm.Setting{Name: "model", File: file}, true},
		{farm.Setting{Name: "defects", Value: "auto"}, true},
		{farm.Setting{Name: "defects", File: file}, true},
		{farm.Setting{Name: "defects", Value: "/etc/passwd"}, false},
		{farm.Setting{Name: "model", Value: "../x.pth"}, false},
		{farm.Setting{Name: "defects", Value: "list"}, false},
		{farm.Setting{Name: "dcp", Value: "camera"}, false},
		{farm.Setting{Name: "dcp", File: file}, true},
		{farm.Setting{Name: "dcp", Value: "/etc/camera.dcp"}, false},
		{farm.Setting{Name: "tone", File: file}, false},
		{farm.Setting{Name: "output", Value: "x"}, false},
		{farm.Setting{Name: "plan-svg", Value: "x.svg"}, false},
		{farm.Setting{Name: "nonsense", Value: "x"}, false},
	} {
		if err := checkSetting(&c.Setting); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.Setting, err)
		}
	}
}

// TestWriteMetrics: the text is Prometheus's: every sample has its type before it, and no
// line anything else.
func TestWriteMetrics(t *testing.T) {
	var b strings.Builder
	writeMetrics(&b, &queue.Status{Orders: []queue.OrderStatus{{ID: "o", Photos: 9, Done: 5, Running: 2, Waiting: 1, Dead: 1}}, TooLarge: []queue.TooLarge{{Order: "o", Side: 3072, Photos: 1}}, Workers: []queue.Worker{{Name: "w", Made: 5, Seconds: 0.25}}, Running: 2, Rate: 4, Bound: 7})
	types := map[string]bool{}
	samples := 0
	for line := range strings.Lines(b.String()) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE "):
			types[words[2]] = true
		case strings.HasPrefix(line, "# HELP "):
		default:
			name, _, _ := strings.Cut(words[0], "{")
			if samples++; !types[name] || len(words) != 2 {
				t.Errorf("%q", line)
			}
		}
	}
	if samples != 13 {
		t.Errorf("%d samples", samples)
	}
	for _, want := range []string{`enhance_farm_done{order="o"} 5`, `enhance_farm_worker_seconds_per_photo{worker="w"} 0.25`, `enhance_farm_in_work{order="o"} 2`, `enhance_farm_too_large{order="o",side="3072"} 1`} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// TestWithoutPhotos: what is served without a key names no photo.
func TestWithoutPhotos(t *testing.T) {
	s := &queue.Status{Workers: []queue.Worker{{Name: "w", Photos: []string{"private.dng"}, Made: 5}}}
	if w := withoutPhotos(s).Workers[0]; w.Photos != nil || w.Made != 5 {
		t.Errorf("%+v", w)
	}
}

// TestFarmSummary: what needs a hand is said.
func TestFarmSummary(t *testing.T) {
	serving := &queue.Serving{Host: "h", PID: 1, Disk: 1 << 20, DiskBound: 1 << 30}
	waiting := []queue.OrderStatus{{ID: strings.Repeat("0", 32), Photos: 3, Waiting: 3}}
	for name, c := range map[string]struct {
		queue.Status
		want string
	}{
		"nobody serves": {queue.Status{}, "nobody answers the workers: start enhance farm serve"},
		"all is well":   {queue.Status{Serving: serving, Workers: []queue.Worker{{Name: "w"}}, Orders: waiting}, "0 of 3 photos done\n"},
		"full disk":     {queue.Status{Serving: &queue.Serving{Disk: 3 << 30, DiskBound: 3 << 30}}, "the queue's disk is full: it has 3.0 GiB there and may have 3.0 GiB"},
		"a cluster":     {queue.Status{Serving: &queue.Serving{}}, "0 of 0 photos done\n"},
		"no worker":     {queue.Status{Serving: serving, Orders: waiting}, "no worker is connected: start enhance farm work"},
	} {
		text := (&farmReport{Status: &c.Status}).summary()
		if _, rest, _ := strings.Cut(text, "done\n"); !strings.Contains(text, c.want) || strings.HasSuffix(c.want, "done\n") && rest != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
}
