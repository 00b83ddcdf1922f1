package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"enhance/internal/profile"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// phone is a profile of a device that lends so many MiB of the host's memory.
func phone(t *testing.T, lends int64) *profile.Profile {
	t.Helper()
	p, err := profile.Load("adreno-660")
	if err != nil {
		t.Fatal(err)
	}
	toy := *p
	toy.GlobalMem, toy.MaxAlloc = lends<<20, 64<<20
	return &toy
}

// planned is a session for PyNET on a phone, and the dry run of a photo in it.
func planned(t *testing.T, p *profile.Profile, set pipeline.Settings) (*pipeline.Session, func() (*pipeline.Report, error)) {
	t.Helper()
	set.DeviceOptions = pipeline.DeviceOptions{Profile: profileFile(t, p), PlanOnly: true}
	if set.Model == "" {
		set.Model = "pynet-random:gold,width=8"
	}
	s := session(t, set)
	j := filled(768, 512, 3000).job(0, 0, new(bytes.Buffer))
	if j.DryRun = true; set.Model != "fast" {
		j.WB = look.WhiteBalance{}
	}
	return s, func() (*pipeline.Report, error) { return s.Enhance(context.Background(), j) }
}

// adds is what a run adds to what the process holds.
func adds(t *testing.T, run func() (*pipeline.Report, error)) (*pipeline.Report, int64) {
	t.Helper()
	rep, err := run()
	if err != nil {
		t.Fatal(err)
	}
	return rep, rep.Host.Need - rep.Host.StartRSS
}

// TestFitHostSearch: a plan with less for the device may need more of the host's memory; if a
// smaller one fits it is found.
func TestFitHostSearch(t *testing.T) {
	plansOnly(t)
	p := phone(t, 64)
	s, run := planned(t, p, pipeline.Settings{})
	first, n := adds(t, run)
	_, small := planned(t, p, pipeline.Settings{Memory: pipeline.Limit(8 << 20)})
	_, least := adds(t, small)
	if least >= n {
		t.Fatalf("8 MiB for the device need %d bytes of the host, the default %d", least, n)
	}
	pipeline.BoundHost(s, first.Host.StartRSS+least+1<<20)
	rep, err := run()
	if err != nil {
		t.Fatal(err)
	}
	if rep.Host.Need > rep.Host.Budget || rep.Plan.Peak >= first.Plan.Peak || rep.Plan.Full.Peak != rep.Plan.Peak {
		t.Errorf("%d of %d bytes planned, a peak of %d where %d was too much", rep.Host.Need, rep.Host.Budget, rep.Plan.Peak, first.Plan.Peak)
	}
}

// TestFitHostLeast: where no plan fits the error has the least need of those that were made, and
// changes that fit.
func TestFitHostLeast(t *testing.T) {
	plansOnly(t)
	p := phone(t, 100)
	s, run := planned(t, p, pipeline.Settings{})
	first, _ := adds(t, run)
	pipeline.BoundHost(s, first.Host.Need-15<<20)
	rep, err := run()
	var host *pipeline.HostMemoryError
	if !errors.As(err, &host) {
		t.Fatalf("error %v", err)
	}
	if host.Need > first.Host.Need || rep.Host.Need != host.Need {
		t.Errorf("needs %d bytes, the first plan %d, reported %d", host.Need, first.Host.Need, rep.Host.Need)
	}
	if len(host.Lower) != 2 || !strings.Contains(err.Error(), "; it is enough with --precision fp16 (") || !strings.Contains(err.Error(), " or -m fast (") {
		t.Fatalf("%v names %v", err, host.Lower)
	}
	for i, set := range []pipeline.Settings{{Precision: pipeline.FP16}, {Model: "fast"}} {
		other, run := planned(t, p, set)
		rep, _ := adds(t, run)
		bound := host.Budget - first.Host.StartRSS + rep.Host.StartRSS
		pipeline.BoundHost(other, bound)
		if _, err := run(); err != nil {
			t.Errorf("%s: %v", host.Lower[i].Change, err)
		}
		if host.Lower[i].Minimum > host.Budget {
			t.Errorf("%s needs %d of %d bytes", host.Lower[i].Change, host.Lower[i].Minimum, host.Budget)
		}
	}
}

// TestHostBase: garbage is not among what the process holds before a run.
func TestHostBase(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector keeps its own memory of what was freed")
	}
	_, run := planned(t, phone(t, 64), pipeline.Settings{Model: "fast"})
	before, _ := adds(t, run)
	if before.Host.StartRSS == 0 {
		t.Skip("the system does not say what a process holds")
	}
	garbage := make([]byte, 128<<20)
	for i := range garbage {
		garbage[i] = 1
	}
	garbage = nil
	_, run = planned(t, phone(t, 64), pipeline.Settings{Model: "fast"})
	if after, _ := adds(t, run); after.Host.StartRSS > before.Host.StartRSS+64<<20 {
		t.Errorf("the process holds %d bytes, before its garbage %d", after.Host.StartRSS, before.Host.StartRSS)
	}
}

// TestForcedStrategyRemedies: where a flag that forces a strategy is what needs so much, the error says so.
func TestForcedStrategyRemedies(t *testing.T) {
	plansOnly(t)
	for flag, forced := range map[string]pipeline.PlanOptions{"--strip-rows": {StripRows: 1}, "--whole-planes": {WholePlanes: true}} {
		p := phone(t, 4096)
		p.MaxAlloc = 1 << 20
		_, run := planned(t, p, pipeline.Settings{PlanOptions: forced})
		var large *pipeline.BufferError
		_, err := run()
		if !errors.As(err, &large) || !strings.Contains(err.Error(), "without "+flag+" (") {
			t.Fatalf("%s: %v", flag, err)
		}
		_, run = planned(t, p, pipeline.Settings{Memory: pipeline.Limit(large.Instead[len(large.Instead)-1].Minimum)})
		if _, err := run(); err != nil {
			t.Errorf("without %s: %v", flag, err)
		}
		_, run = planned(t, phone(t, 4096), pipeline.Settings{PlanOptions: forced, Memory: pipeline.Limit(4 << 20)})
		if _, err := run(); !errors.As(err, new(*pipeline.BudgetError)) || !strings.Contains(err.Error(), "without "+flag+" (") {
			t.Errorf("%s within 4 MiB: %v", flag, err)
		}
	}
}
