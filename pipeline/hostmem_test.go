package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/internal/imgio"
	"enhance/pipeline"
)

// TestHostMemory: a run that would hold more of the host's memory than it may is
// refused before it begins, and names what needs how much.
func TestHostMemory(t *testing.T) {
	needOpenCL(t)
	var out bytes.Buffer
	j := nikon(t).crop(100, 100, 200, 144).job(0, 0, &out)
	_, err := session(t, pipeline.Settings{HostMemory: pipeline.Limit(1 << 20)}).Enhance(context.Background(), j)
	var host *pipeline.HostMemoryError
	if !errors.As(err, &host) || pipeline.Classify(err) != pipeline.ClassBudget || out.Len() > 0 {
		t.Fatalf("error %v, %d bytes written", err, out.Len())
	}
	var sum int64
	for _, u := range host.Planned {
		sum += u.Bytes
	}
	if sum != host.Need || host.Need <= host.Budget || !strings.Contains(err.Error(), "device buffers, which share the host's memory") {
		t.Errorf("%d of %d bytes named in %v", sum, host.Need, err)
	}
	_, rep := develop(t, session(t, pipeline.Settings{HostMemory: pipeline.Limit(8 << 30)}), j)
	if runtime.GOOS == "linux" && (rep.Host.PeakRSS < rep.Plan.Peak || rep.Host.PeakRSS > 8<<30 || rep.Host.StartRSS == 0) {
		t.Errorf("resident: %d at the start, %d at most", rep.Host.StartRSS, rep.Host.PeakRSS)
	}
}

// TestHostAvailable: without a budget of its own a run is refused that needs more
// of the host's memory than there is, whether a device works or the host; a bound, or
// none, that is asked for goes ahead. A dry run is refused as the run is.
func TestHostAvailable(t *testing.T) {
	for _, device := range []string{pipeline.HostDevice, ""} {
		if device == "" {
			needOpenCL(t)
		}
		var out bytes.Buffer
		j := nikon(t).crop(100, 100, 96, 64).job(0, 0, &out)
		none := session(t, pipeline.Settings{Device: device})
		pipeline.HostHas(none, 100<<10)
		_, err := none.Enhance(context.Background(), j)
		var host *pipeline.HostMemoryError
		if !errors.As(err, &host) || pipeline.Classify(err) != pipeline.ClassBudget || out.Len() > 0 {
			t.Fatalf("%q: error %v, %d bytes written", device, err, out.Len())
		}
		if host.Available != 100<<10 || host.Need <= host.Budget || !strings.Contains(err.Error(), "are available") {
			t.Errorf("%q: %+v", device, host)
		}
		dry := j
		dry.DryRun = true
		if _, err := none.Enhance(context.Background(), dry); !errors.As(err, &host) || host.Available != 100<<10 {
			t.Errorf("%q: a dry run: %v", device, err)
		}
		for _, asked := range []pipeline.Budget{pipeline.Unlimited(), pipeline.Limit(8 << 30)} {
			s := session(t, pipeline.Settings{Device: device, HostMemory: asked})
			pipeline.HostHas(s, 100<<10)
			if _, rep := develop(t, s, j); rep.Host.Available != 0 {
				t.Errorf("%q: with %v asked for, %d are available", device, asked, rep.Host.Available)
			}
		}
		// Enough for one photo is enough for the next, whose memory is there already.
		enough := session(t, pipeline.Settings{Device: device})
		pipeline.HostHas(enough, host.Need)
		_, first := develop(t, enough, j)
		pipeline.HostHas(enough, max(1, host.Need-first.Plan.Peak))
		if _, rep := develop(t, enough, j); rep.Host.Available == 0 {
			t.Errorf("%q: nobody asked what is available", device)
		}
	}
}

// TestHostMemoryPlans: where the device shares the host's memory, a bound on that
// leads to a plan with smaller buffers, and the same picture.
func TestHostMemoryPlans(t *testing.T) {
	needOpenCL(t)
	var out bytes.Buffer
	j := nikon(t).job(0, 0, &out)
	_, want := develop(t, session(t, pipeline.Settings{}), j)
	if d := want.Device.Info; d == nil || !d.Unified && d.Type != clrt.CPU {
		t.Skip("NO DEVICE THAT SHARES THE HOST'S MEMORY: plans within a bound on that are not tested")
	}
	picture := bytes.Clone(out.Bytes())
	out.Reset()

	tight := session(t, pipeline.Settings{})
	var other bytes.Buffer
	develop(t, tight, nikon(t).crop(0, 0, 64, 64).job(0, 0, &other)) // its engine makes way
	dry := j
	dry.DryRun = true
	rep, err := tight.Enhance(context.Background(), dry)
	if err != nil {
		t.Fatal(err)
	}
	pipeline.BoundHost(tight, rep.Host.Need-want.Plan.Peak/3)
	_, got := develop(t, tight, j)
	if got.Plan.Peak >= want.Plan.Peak || got.Host.Need > got.Host.Budget {
		t.Errorf("a peak of %d bytes where %d were too many, %d of %d planned", got.Plan.Peak, want.Plan.Peak, got.Host.Need, got.Host.Budget)
	}
	if !bytes.Equal(out.Bytes(), picture) {
		t.Error("the picture is another")
	}
}

// TestHostNeeds: what turning, encoding and a reference hold is counted.
func TestHostNeeds(t *testing.T) {
	needOpenCL(t)
	c := filled(200, 144, 3000)
	needs := func(change func(j *pipeline.Job)) map[string]int64 {
		j := c.job(0, 0, new(bytes.Buffer))
		j.DryRun = true
		change(&j)
		rep, err := session(t, pipeline.Settings{}).Enhance(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]int64{}
		for _, u := range rep.Host.Planned {
			m[u.Purpose] = u.Bytes
		}
		return m
	}
	find := func(m map[string]int64, part string) int64 {
		for k, v := range m {
			if strings.Contains(k, part) {
				return v
			}
		}
		return 0
	}
	if m := needs(func(*pipeline.Job) {}); find(m, "reference") != 0 || find(m, "encoder") == 0 {
		t.Errorf("needs %v", m)
	}
	if n := find(needs(func(j *pipeline.Job) { j.Output.Format, j.Output.Bits = pipeline.JPEG, 8 }), "encoder"); n < 2*6*200*144 {
		t.Errorf("JPEG needs %d", n)
	}
	turned := filepath.Join(t.TempDir(), "turned.dng")
	synthetic(t, turned, 200, 144, 6)
	if n := find(needs(func(j *pipeline.Job) { *j = pipeline.Job{Input: turned, Output: j.Output, DryRun: true} }), "turned"); n != 6*200*144 {
		t.Errorf("turning a picture of 16 bits needs %d", n)
	}
	ref := filepath.Join(t.TempDir(), "ref.png")
	f, err := os.Create(ref)
	if err != nil {
		t.Fatal(err)
	}
	w, err := imgio.NewPNG(struct{ io.Writer }{f}, imgio.Header{Width: 200, Height: 144, Bits: 16})
	if err != nil {
		t.Fatal(err)
	}
	for range 144 {
		if err := w.WriteRow(make([]uint16, 600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if n := find(needs(func(j *pipeline.Job) { j.Reference = ref }), "reference"); n != 14*200*144 {
		t.Errorf("a reference needs %d", n)
	}
}
