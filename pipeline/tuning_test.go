package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/model"
	"enhance/pipeline/facts"
)

// TestTuneOnce: explicit tuning finds something for every convolution, later
// sessions use it, --no-tune does not, and measuring again keeps the rest.
func TestTuneOnce(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	set := Settings{Model: "pynet-random:tune,width=4,level=5"}
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
	table, _ := s.device.findings().Store().Load()
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
