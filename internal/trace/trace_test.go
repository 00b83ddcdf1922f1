package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/internal/trace"
)

// event is one of the Trace Event Format.
type event struct {
	Ph, Name, Cat string
	Pid, Tid      int
	Ts, Dur       float64
	Args          map[string]any
}

func parse(t *testing.T, p []byte) []event {
	t.Helper()
	var all struct {
		DisplayTimeUnit string
		TraceEvents     []event
	}
	if err := json.Unmarshal(p, &all); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	if all.DisplayTimeUnit != "ns" {
		t.Errorf("unit %q", all.DisplayTimeUnit)
	}
	return all.TraceEvents
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	tr := trace.New(&b)
	now := time.Now()
	tr.Process(3, "a \"device\"")
	tr.Name(trace.Track{Process: 3, Line: 2}, "queue\n")
	tr.Span(trace.Track{Process: 3, Line: 2}, "näme<>\x01", "kernel", now, now.Add(1500*time.Nanosecond), trace.Arg{Name: "bytes", Value: 12})
	tr.Span(trace.Track{Process: 3, Line: 2}, "backwards", "kernel", now, now.Add(-time.Second))
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	tr.Span(trace.Track{}, "late", "", now, now) // ignored
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	es := parse(t, b.Bytes())
	if len(es) != 6 {
		t.Fatalf("%d events: %+v", len(es), es)
	}
	if e := es[0]; e.Ph != "M" || e.Name != "process_name" || e.Pid != 3 || e.Args["name"] != "a \"device\"" {
		t.Errorf("process %+v", e)
	}
	if e := es[2]; e.Ph != "M" || e.Name != "thread_name" || e.Tid != 2 || e.Args["name"] != "queue\n" {
		t.Errorf("track %+v", e)
	}
	if e := es[4]; e.Ph != "X" || e.Name != "näme<>\x01" || e.Cat != "kernel" || e.Dur != 1.5 || e.Args["bytes"] != 12.0 || e.Ts < 0 || e.Ts > 1e6 {
		t.Errorf("span %+v", e)
	}
	if e := es[5]; e.Dur != 0 {
		t.Errorf("a span that ends before it starts: %+v", e)
	}
}

func TestNothing(t *testing.T) {
	var tr *trace.Writer
	tr.Process(1, "x")
	tr.Span(trace.Track{}, "x", "y", time.Now(), time.Now())
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	var s *trace.Stages
	s.Begin("x")()
	if s.Sums() != nil {
		t.Error("sums of no stages")
	}
}

func TestEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := trace.New(&b).Close(); err != nil {
		t.Fatal(err)
	}
	if es := parse(t, b.Bytes()); len(es) != 0 {
		t.Errorf("events %+v", es)
	}
}

// full takes some bytes and then fails.
type full struct{ room int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	tr := trace.New(&full{100 << 10})
	for range 10000 {
		tr.Span(trace.Track{}, "span", "kernel", time.Now(), time.Now())
	}
	if err := tr.Close(); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
	var b bytes.Buffer
	tr = trace.New(&b)
	tr.Span(trace.Track{}, "span", "kernel", time.Now(), time.Now(), trace.Arg{Name: "f", Value: func() {}})
	if err := tr.Close(); err == nil || !strings.Contains(err.Error(), "argument f") {
		t.Errorf("error %v", err)
	}
}

// TestStages: stages at the same time have tracks of their own, and tracks are
// used again.
func TestStages(t *testing.T) {
	var b bytes.Buffer
	tr := trace.New(&b)
	s := trace.NewStages(tr, 0, "host")
	for range 3 {
		end1, end2 := s.Begin("decode"), s.Begin("decode")
		end3 := s.Begin("encode")
		time.Sleep(2 * time.Millisecond)
		end2()
		end1()
		end3()
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				s.Begin("pack")()
			}
		})
	}
	wg.Wait()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	sums := s.Sums()
	if len(sums) != 3 || sums[0].Name != "decode" || sums[0].Count != 6 || sums[1].Name != "encode" || sums[1].Count != 3 || sums[2].Count != 800 || sums[0].Seconds < 0.012 {
		t.Errorf("sums %+v", sums)
	}
	names, ends := map[int]string{}, map[int]float64{}
	tracks := map[string]int{}
	for _, e := range parse(t, b.Bytes()) {
		switch {
		case e.Name == "thread_name":
			names[e.Tid] = e.Args["name"].(string)
			tracks[names[e.Tid]]++
		case e.Ph == "X":
			if names[e.Tid] != e.Name {
				t.Errorf("%s is on the track of %s", e.Name, names[e.Tid])
			}
			if e.Ts < ends[e.Tid]-0.002 {
				t.Errorf("%s starts at %g on a track that is busy until %g", e.Name, e.Ts, ends[e.Tid])
			}
			ends[e.Tid] = max(ends[e.Tid], e.Ts+e.Dur)
		}
	}
	if tracks["decode"] != 2 || tracks["encode"] != 1 || tracks["pack"] > 8 {
		t.Errorf("tracks %v", tracks)
	}
}
