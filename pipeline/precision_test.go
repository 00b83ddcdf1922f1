package pipeline

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
)

func TestParsePrecision(t *testing.T) {
	for s, want := range map[string]Precision{"fp32": FP32, "tf32": TF32, "fp16": FP16, "bf16": BF16, "auto": AutoPrecision} {
		if got, err := parsePrecision(s); err != nil || got != want || got.String() != s {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "FP16", "fp8", "bf8", "fp16 "} {
		if _, err := parsePrecision(s); Classify(err) != ClassOption {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestChoosePrecision(t *testing.T) {
	base := precisionTrial{FP32, math.Inf(1)}
	for name, c := range map[string]struct {
		tried []precisionTrial
		want  Precision
		text  string
	}{
		"Alone":        {[]precisionTrial{base}, FP32, "auto: fp32, nothing less exact is above 50 dB"},
		"BothExact":    {[]precisionTrial{base, {TF32, 61}, {FP16, 57.13}}, FP16, "auto: fp16 at 57.1 dB (tf32 at 61.0 dB)"},
		"FP16Inexact":  {[]precisionTrial{base, {TF32, 61}, {FP16, 49.9}}, TF32, "auto: tf32 at 61.0 dB (fp16 at 49.9 dB)"},
		"AtTheLimit":   {[]precisionTrial{base, {FP16, 50}}, FP32, "auto: fp32, nothing less exact is above 50 dB (fp16 at 50.0 dB)"},
		"TF32Inexact":  {[]precisionTrial{base, {TF32, 40}, {FP16, 60}}, FP16, "auto: fp16 at 60.0 dB (tf32 at 40.0 dB)"},
		"NotANumber":   {[]precisionTrial{base, {FP16, math.NaN()}}, FP32, "auto: fp32, nothing less exact is above 50 dB (fp16 at NaN dB)"},
		"BitForBit":    {[]precisionTrial{base, {TF32, math.Inf(1)}}, TF32, "auto: tf32 at infinite dB"},
		"BothInexact":  {[]precisionTrial{base, {TF32, 1}, {FP16, 2}}, FP32, "auto: fp32, nothing less exact is above 50 dB (tf32 at 1.0 dB; fp16 at 2.0 dB)"},
		"OnlyMatrices": {[]precisionTrial{base, {TF32, 70}}, TF32, "auto: tf32 at 70.0 dB"},
	} {
		got := choosePrecision(c.tried)
		if got.precision != c.want || got.String() != c.text {
			t.Errorf("%s: %s: %q, want %s: %q", name, got.precision, got, c.want, c.text)
		}
	}
}

func TestHostPrecisions(t *testing.T) {
	for p, ok := range map[Precision]bool{FP32: true, AutoPrecision: true, TF32: false, FP16: false} {
		s, err := NewSession(Settings{Device: HostDevice, Precision: p})
		switch {
		case ok && err != nil:
			t.Errorf("%s: %v", p, err)
		case ok:
			if got := s.precision(); got != FP32 {
				t.Errorf("%s: computes in %s", p, got)
			}
			s.Close()
		case Classify(err) != ClassOption || !strings.Contains(err.Error(), "offers fp32, auto"):
			t.Errorf("%s: %v", p, err)
		}
	}
}

// session opens one on the first OpenCL device, and gathers what it tells.
func session(t *testing.T, set Settings) (s *Session, told, debug *[]string) {
	t.Helper()
	if _, err := clrt.Devices(); err != nil {
		if os.Getenv("ENHANCE_REQUIRE_OPENCL") == "1" {
			t.Fatalf("ENHANCE_REQUIRE_OPENCL is set: %v", err)
		}
		t.Skipf("needs an OpenCL device: %v", err)
	}
	told, debug = &[]string{}, &[]string{}
	set.Device = "0"
	set.Tell = func(text string) { *told = append(*told, text) }
	set.Debug = func(text string) { *debug = append(*debug, text) }
	s, err := NewSession(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, told, debug
}

// TestUnknownTF32: where there are no matrix units tf32 is refused, and the error
// says what there is.
func TestUnknownTF32(t *testing.T) {
	s, _, _ := session(t, Settings{Precision: TF32})
	err := s.ready(t.Context(), nil)
	if s.device.units.Matrix {
		if err != nil || s.precision() != TF32 {
			t.Errorf("matrix units, but %v", err)
		}
		return
	}
	if Classify(err) != ClassOption || !strings.Contains(err.Error(), "no matrix units") || !strings.Contains(err.Error(), "offers fp32, fp16, auto") {
		t.Errorf("error %v", err)
	}
	auto, err := NewSession(Settings{DeviceOptions: DeviceOptions{Profile: "rtx-3060", PlanOnly: true}, Precision: AutoPrecision})
	if err != nil {
		t.Fatal(err)
	}
	defer auto.Close()
	if err := auto.ready(t.Context(), nil); Classify(err) != ClassOption {
		t.Errorf("auto for a profile: %v", err)
	}
}

// TestAutoPrecision: CPUs compute in fp32 without a trial; elsewhere the patch decides. Its
// trials are made once for a device and a model; a damaged file means that they are made again.
func TestAutoPrecision(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ENHANCE_CACHE_DIR", dir)
	set := Settings{Precision: AutoPrecision, Model: "pynet-random:auto,width=4,level=4", PlanOptions: PlanOptions{Algo: "direct-naive"}}
	ready := func(kind clrt.DeviceType) (*Session, []string, []string) {
		s, told, debug := session(t, set)
		s.device.info.Type = kind // the algorithms stay those that the device can run
		if err := s.ready(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return s, *told, *debug
	}
	if s, told, _ := ready(clrt.CPU); len(told) != 0 || s.precisionWhy() != "auto: fp32, what CPUs are fastest in" {
		t.Errorf("a CPU: told %q, %s", told, s.precisionWhy())
	}
	first, told, _ := ready(clrt.Accelerator)
	if len(told) != 1 || len(first.choices.chosen.tried) < 2 || !math.IsInf(first.choices.chosen.tried[0].psnr, 1) || !(first.choices.chosen.tried[1].psnr > 20) {
		t.Errorf("told %q, tried %+v", told, first.choices.chosen.tried)
	}
	second, told, _ := ready(clrt.Accelerator)
	if len(told) != 0 || second.precisionWhy() != first.precisionWhy() || second.precision() != first.precision() {
		t.Errorf("the second time: told %q, %s, before %s", told, second.precisionWhy(), first.precisionWhy())
	}
	files, err := filepath.Glob(filepath.Join(dir, "tuning", "*.tune"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("enhance tuning\t1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, told, debug := ready(clrt.Accelerator); len(told) != 1 || len(debug) == 0 || !strings.Contains(debug[0], files[0]) {
		t.Errorf("with a damaged file: told %q, debug %q", told, debug)
	}
}

// TestAutoPrecisionBudgets: whatever the order of runs, auto computes in fp32 on a CPU where
// that fits, in fp16 where only that does, and the smallest budget that an error names works.
func TestAutoPrecisionBudgets(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	const rows, cols = 512, 768
	explain := func(mem int64, p Precision) (string, error) {
		s, _, _ := session(t, Settings{Precision: p, Memory: Limit(mem)})
		x, err := s.ExplainSize(rows, cols)
		if err != nil {
			return "", err
		}
		return x.Plan.Precision + " " + x.Plan.PrecisionWhy, nil
	}
	least := func(p Precision) int64 {
		_, err := explain(1, p)
		var small *BudgetError
		if !errors.As(err, &small) {
			t.Fatalf("%s with 1 byte: %v", p, err)
		}
		return small.Minimum
	}
	full, half := least(FP32), least(FP16)
	if named := least(AutoPrecision); named != full || half >= full {
		t.Fatalf("auto needs %d bytes, fp32 %d, fp16 %d", named, full, half)
	}
	for range 2 { // the second time with what was found kept
		for _, c := range []struct {
			mem  int64
			want string
		}{{full, "fp32 "}, {full - 1, "fp16 "}, {1 << 30, "fp32 "}} {
			if got, err := explain(c.mem, AutoPrecision); err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("%d bytes: %q, %v, want %q", c.mem, got, err, c.want)
			}
		}
	}
	if _, err := explain(half-1, AutoPrecision); Classify(err) != ClassBudget {
		t.Errorf("%d bytes: %v", half-1, err)
	}
}

// TestAutoPrecisionSmallPatch: a budget that is too small for the patch is one that is too
// small, and the smallest that is named works.
func TestAutoPrecisionSmallPatch(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	explain := func(mem int64) error {
		s, _, _ := session(t, Settings{Precision: AutoPrecision, Memory: Limit(mem), Model: "pynet-random:auto,width=4,level=4", PlanOptions: PlanOptions{Algo: "direct-naive"}})
		s.device.info.Type = clrt.Accelerator
		_, err := s.ExplainSize(64, 64)
		return err
	}
	var small *BudgetError
	if err := explain(1); Classify(err) != ClassBudget || !errors.As(err, &small) {
		t.Fatal(err)
	}
	if err := explain(small.Minimum); err != nil {
		t.Error(err)
	}
}

// TestPeers: sessions of the same network share what was tried on a patch, those of networks that keep
// another share of the noise do not.
func TestPeers(t *testing.T) {
	p := &peers{}
	var kept [2][]*peers
	for i := range kept {
		s, err := NewSession(Settings{Device: HostDevice})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.peers = p
		for _, share := range []float64{0.5, 0.25, 0} {
			o, err := s.keeping(share)
			if err != nil {
				t.Fatal(err)
			}
			kept[i] = append(kept[i], o.peers)
		}
	}
	if !slices.Equal(kept[0], kept[1]) {
		t.Error("two sessions with the same networks share nothing")
	}
	if half, quarter, none := kept[0][0], kept[0][1], kept[0][2]; half == quarter || half == none || quarter == none {
		t.Error("networks that keep different shares of the noise are tried together")
	}
}
