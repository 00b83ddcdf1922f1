package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/model"
	"enhance/pipeline/facts"
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
		back, err := parseTrials(trialsNote(c.tried))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := choosePrecision(back); got.precision != c.want || got.String() != c.text {
			t.Errorf("%s: note %q gives %q", name, trialsNote(c.tried), got)
		}
	}
}

func FuzzParseTrials(f *testing.F) {
	for _, s := range []string{"fp32 +Inf; fp16 57.1", "", "fp32 1", "fp16 1", "fp32 NaN; tf32 x", "; ", "fp32 1; fp16 2; tf32 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tried, err := parseTrials(s)
		if err != nil {
			return
		}
		if again, err := parseTrials(trialsNote(tried)); err != nil || choosePrecision(tried).precision > FP16 || len(again) != len(tried) {
			t.Errorf("%q: note %q gives %v, %v", s, trialsNote(tried), again, err)
		}
	})
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

// TestModelHash: findings about one model are not taken for another's.
func TestModelHash(t *testing.T) {
	load := func(spec string) *model.Model {
		m, err := model.Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	base := modelHash(load("pynet-s"))
	if again := modelHash(load("pynet-s")); again != base || len(base) != 16 {
		t.Errorf("the same model is %q and %q", base, again)
	}
	for name, change := range map[string]func(m *model.Model){
		"last weight": func(m *model.Model) { // of one that is more than a chunk
			d := m.Params[largest(m)].Data
			d[len(d)-1]++
		},
		"another name": func(m *model.Model) {
			m.Params["x"] = m.Params[largest(m)]
			delete(m.Params, largest(m))
		},
		"another graph": func(m *model.Model) { m.Graph.Out-- },
	} {
		m := load("pynet-s")
		if change(m); modelHash(m) == base {
			t.Errorf("%s: the same hash", name)
		}
	}
}

// largest names the parameter with the most values, other than x.
func largest(m *model.Model) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		if name != "x" && (best == "" || len(m.Params[name].Data) > len(m.Params[best].Data)) {
			best = name
		}
	}
	return best
}

// TestUnknownTF32: where there are no matrix units tf32 is refused, and the error
// says what there is.
func TestUnknownTF32(t *testing.T) {
	s, _, _ := session(t, Settings{Precision: TF32})
	err := s.ready(t.Context(), nil)
	if s.device.matrix != nil && *s.device.matrix {
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
		s, _, _ := session(t, Settings{Precision: AutoPrecision, Memory: Limit(mem), PlanOptions: PlanOptions{Algo: "direct-naive"}})
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

// TestTuneOnce: explicit tuning finds something for every convolution, later
// sessions use it, --no-tune does not, and measuring again keeps the rest.
func TestTuneOnce(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	set := Settings{Model: "pynet-random:tune,width=4,level=4"}
	s, _, _ := session(t, set)
	r, err := s.Tune(t.Context(), 128, 128, 1) // out of time at once
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Findings[0].Outcomes {
		if o.Choice.Measured() || o.Problem == "" {
			t.Errorf("%s was measured without time", o.Key)
		}
	}
	if r, err = s.Tune(t.Context(), 128, 128, 0); err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || r.Findings[0].Precision != "fp32" || r.File == "" {
		t.Fatalf("%+v", r)
	}
	for _, o := range r.Findings[0].Outcomes {
		if !o.Choice.Measured() || o.Choice.Tried < 2 || o.Problem != "" {
			t.Errorf("%s: %+v, %s", o.Key, o.Choice, o.Problem)
		}
	}
	later, told, _ := session(t, set)
	x, err := later.ExplainSize(128, 128)
	if err != nil {
		t.Fatal(err)
	}
	if x.Plan.Tuning.State != "tuned" || x.Plan.Tuning.Hash != r.Findings[0].Hash || len(*told) != 0 {
		t.Errorf("later: %+v, told %q, tuned %s", x.Plan.Tuning, *told, r.Findings[0].Hash)
	}
	set.NoTune = true
	plain, _, _ := session(t, set)
	if x, err = plain.ExplainSize(128, 128); err != nil || x.Plan.Tuning.State != "defaults" {
		t.Errorf("with NoTune: %+v, %v", x, err)
	}
}

// TestTuneInterrupted: what was measured before Ctrl-C is in the file before the
// device has finished what it does, and the next run finds it.
func TestTuneInterrupted(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	set := Settings{Model: "pynet-random:stop,width=4,level=4"}
	const enough = 2
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, told, _ := session(t, set)
	total := 0
	s.set.Tuning = func(done, all int) {
		if total = all; done == enough {
			cancel()
			for deadline := time.Now().Add(10 * time.Second); len(s.keptChoices()) < enough; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Error("nothing is kept while the device is busy")
					return
				}
			}
		}
	}
	if _, err := s.Tune(ctx, 128, 128, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	kept := s.keptChoices()
	if len(kept) != enough || total <= enough {
		t.Errorf("%d choices of %d are kept, want %d", len(kept), total, enough)
	}
	if last := (*told)[len(*told)-1]; !strings.Contains(last, fmt.Sprintf("interrupted: %d of %d ", enough, total)) {
		t.Errorf("the last thing said is %q", last)
	}
	later, _, _ := session(t, set)
	x, err := later.ExplainSize(128, 128)
	if err != nil || x.Plan.Tuning.State != "partly tuned" {
		t.Errorf("later: %+v, %v", x.Plan.Tuning, err)
	}
	again, told, _ := session(t, set)
	ended, cancel := context.WithCancel(t.Context())
	again.set.Tell = func(text string) { // before anything is measured
		*told = append(*told, text)
		cancel()
	}
	if _, err := again.Tune(ended, 128, 128, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted at once: %v", err)
	}
	if got := s.keptChoices(); !maps.Equal(got, kept) {
		t.Errorf("an interrupted run changed what was kept: %v, before %v", got, kept)
	}
	if last := (*told)[len(*told)-1]; strings.Contains(last, "kept in") {
		t.Errorf("the last thing said is %q, though nothing was measured", last)
	}
}

// keptChoices reads the device's file.
func (s *Session) keptChoices() map[string]facts.Choice {
	table, _ := s.tuningStore().Load()
	return table.Choices
}

// TestNoCacheFolder: without one nothing is tuned and nothing fails.
func TestNoCacheFolder(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	s, _, _ := session(t, Settings{Model: "pynet-random:none,width=4,level=4"})
	if err := s.ready(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tune(t.Context(), 128, 128, 1); err == nil || !strings.Contains(err.Error(), "cache") {
		t.Errorf("explicit tuning with nowhere to keep it: %v", err)
	}
}

// TestNothingByItself: a run measures nothing of the device and keeps nothing.
func TestNothingByItself(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ENHANCE_CACHE_DIR", dir)
	s, told, _ := session(t, Settings{Model: "pynet-random:first,width=4,level=4"})
	in := Tensor{Shape: model.Shape{C: 4, H: 64, W: 64}, Data: model.FormulaTensor("first", "input", 4*64*64)}
	_, rep, err := s.RunTensor(t.Context(), TensorJob{Input: in})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Plan.Tuning.State != "defaults" || rep.Plan.Rated || len(*told) != 0 {
		t.Errorf("%+v, rated %v, told %q", rep.Plan.Tuning, rep.Plan.Rated, *told)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "tuning", "*")); len(files) != 0 {
		t.Errorf("kept %q", files)
	}
}

// TestTuneTogether: sessions that tune at the same time wait for each other, and
// nothing is lost.
func TestTuneTogether(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	var tuning sync.WaitGroup
	models := []string{"pynet-random:one,width=4,level=5", "pynet-random:two,width=8,level=5"}
	hashes := make([]string, len(models))
	for i, m := range models {
		s, _, _ := session(t, Settings{Model: m})
		tuning.Go(func() {
			r, err := s.Tune(t.Context(), 64, 64, 0)
			if err != nil {
				t.Error(err)
				return
			}
			hashes[i] = r.Findings[0].Hash
		})
	}
	tuning.Wait()
	for i, m := range models {
		s, _, _ := session(t, Settings{Model: m})
		x, err := s.ExplainSize(64, 64)
		if err != nil {
			t.Fatal(err)
		}
		if x.Plan.Tuning.State != "tuned" || x.Plan.Tuning.Hash != hashes[i] {
			t.Errorf("%s: %+v, tuned %s", m, x.Plan.Tuning, hashes[i])
		}
	}
}
