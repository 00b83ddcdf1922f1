package exec_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/peak"
	"enhance/internal/trace"
	"enhance/memplan"
	"enhance/model"
	"enhance/pipeline/facts"
)

// profiled runs pynet-s on the formula input and returns its result.
func profiled(t *testing.T, opt exec.Options, runs int) (*exec.Job, []float32) {
	t.Helper()
	const h, w = 64, 96
	dev := convtest.Device(t)
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	job, err := exec.Prepare(m, h, w, dev.Info(), opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	e, err := job.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	o := job.Program.Tensors[job.Program.Output]
	out := &tensor{c: o.C, h: o.H, w: o.W, v: make([]float32, o.Elems())}
	for range runs {
		if err := e.Run(context.Background(), source{in}, sink{out}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return job, out.v
}

// TestProfileSums: under plans of every kind all launches and transfers are counted
// once, the sums agree, the timeline holds the same commands, and the result is
// that of a run without profile.
func TestProfileSums(t *testing.T) {
	for name, opt := range map[string]exec.Options{
		"whole planes": {WholePlanes: true},
		"strips":       {Rows: 8},
		"discrete":     {Rows: 8, Discrete: true},
		"least memory": {Discrete: true, Budget: memplan.Limit(7500 << 10)},
	} {
		t.Run(name, func(t *testing.T) {
			_, want := profiled(t, opt, 1)
			var timeline bytes.Buffer
			tr := trace.New(&timeline)
			stages := trace.NewStages(tr, 0, "host")
			opt.Profiler = exec.NewProfile("the device", tr, 1, stages)
			const runs = 2
			job, got := profiled(t, opt, runs)
			if !slices.Equal(got, want) {
				t.Error("the profile changed the result")
			}
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
			r := opt.Profiler.Report(&facts.Peaks{Units: peak.Units{FMA: 1e11}, Bytes: 1e10})
			checkSums(t, job, r, runs)
			checkTimeline(t, timeline.Bytes(), r)
		})
	}
}

// checkSums holds a report against itself and the plan.
func checkSums(t *testing.T, job *exec.Job, r *facts.Profile, runs int) {
	t.Helper()
	if r.Runs != runs || r.FLOPs != int64(runs)*job.Plan.Cost.FLOPs || len(r.Steps) != len(job.Program.Steps) {
		t.Errorf("%d runs, %d operations, %d steps", r.Runs, r.FLOPs, len(r.Steps))
	}
	if all := r.Kernels + r.Copies + r.Gaps + r.Edges; math.Abs(all-r.Wall) > 1e-6+r.Wall*1e-3 {
		t.Errorf("kernels %g, copies %g, gaps %g and edges %g are %g, the wall clock %g", r.Kernels, r.Copies, r.Gaps, r.Edges, all, r.Wall)
	}
	moves := 0 // a launch may be several kernels
	for _, s := range job.Plan.Sections {
		for _, m := range s.Moves {
			if m.Kind == memplan.Run {
				moves++
			}
		}
	}
	if r.Planned != runs*moves || r.Planned != runs*job.Plan.Cost.Launches {
		t.Errorf("%d launches planned, the plan has %d and says %d a run", r.Planned, moves, job.Plan.Cost.Launches)
	}
	launches, seconds, last := 0, 0.0, math.Inf(1)
	for _, s := range r.Steps {
		n, sec := 0, 0.0
		for _, k := range s.Kernels {
			n, sec = n+k.Launches, sec+k.Seconds
		}
		if n != s.Launches || n == 0 || math.Abs(sec-s.Seconds) > 1e-12 || s.Seconds > last || s.Bytes <= 0 || !(s.Roof > 0) || s.Bound == "" {
			t.Errorf("step %+v after one of %g s", s, last)
		}
		launches, seconds, last = launches+n, seconds+s.Seconds, s.Seconds
	}
	if launches != r.Launches || launches < runs*moves || math.Abs(seconds-r.Kernels) > 1e-9 {
		t.Errorf("steps have %d launches and %g s, the report %d and %g; the plan launches %d times", launches, seconds, r.Launches, r.Kernels, runs*moves)
	}
	commands, bytes := 0, map[string]int64{}
	for _, q := range r.Queues {
		for _, k := range q.Kinds {
			commands += k.Count
			bytes[k.Kind] += k.Bytes
		}
	}
	if commands != r.Commands {
		t.Errorf("the queues took %d commands, %d were told", r.Commands, commands)
	}
	c := job.Plan.Cost
	if bytes["read"] != int64(runs)*c.DownloadBytes || bytes["write"] < int64(runs)*c.UploadBytes {
		t.Errorf("%d bytes written, %d read; the plan has %d and %d a run", bytes["write"], bytes["read"], c.UploadBytes, c.DownloadBytes)
	}
	if !slices.ContainsFunc(r.Host, func(s facts.StageTime) bool { return s.Name == "pack" && s.Count > 0 && s.Seconds > 0 }) {
		t.Errorf("host stages %+v lack pack", r.Host)
	}
}

// checkTimeline holds a timeline against the report: as many commands, as long,
// on as many tracks, within a time that is about the run's.
func checkTimeline(t *testing.T, text []byte, r *facts.Profile) {
	t.Helper()
	var line struct {
		TraceEvents []struct {
			Ph       string
			Name     string
			Cat      string
			Pid, Tid int
			Ts, Dur  float64
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	names, commands, host, first, last := map[string]bool{}, 0, 0, math.Inf(1), 0.0
	for _, e := range line.TraceEvents {
		switch {
		case e.Ph == "M":
			if s, ok := e.Args["name"].(string); ok {
				names[s] = true
			}
		case e.Ph != "X" || e.Dur < 0 || e.Name == "" || e.Cat == "":
			t.Errorf("event %+v", e)
		case e.Pid == 1:
			commands++
			first, last = min(first, e.Ts), max(last, e.Ts+e.Dur)
		case e.Pid == 0 && e.Cat == "host":
			host++
			if e.Ts < 0 {
				t.Errorf("event %+v", e)
			}
		}
	}
	want := 0
	for _, s := range r.Host {
		want += s.Count
	}
	if commands != r.Commands || host != want {
		t.Errorf("%d commands and %d stages, the report has %d and %d", commands, host, r.Commands, want)
	}
	for _, q := range r.Queues {
		if !names[q.Name+" queue"] {
			t.Errorf("no track of the %s queue among %v", q.Name, names)
		}
	}
	// The clocks are related to well under the run's length.
	if busy := (r.Kernels + r.Gaps + r.Copies) * 1e6; first < -0.05*busy || last-first < 0.95*busy {
		t.Errorf("commands from %g to %g µs; the device was busy or waiting for %g", first, last, busy)
	}
}

// TestProfilePause: paused runs go by unprofiled.
func TestProfilePause(t *testing.T) {
	p := exec.NewProfile("device", nil, 1, nil)
	p.Pause(true)
	profiled(t, exec.Options{Profiler: p}, 1)
	if r := p.Report(nil); r.Runs != 0 || r.Launches != 0 || r.Wall != 0 {
		t.Errorf("report %+v", r)
	}
	p.Pause(false)
	profiled(t, exec.Options{Profiler: p}, 1)
	if r := p.Report(nil); r.Runs != 1 || r.Launches == 0 {
		t.Errorf("report %+v", r)
	}
}
