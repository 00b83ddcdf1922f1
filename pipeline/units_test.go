package pipeline

import (
	"slices"
	"sync"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/internal/findings"
	"enhance/internal/fuse"
	"enhance/pipeline/facts"
)

// asGPU is a session on a device that is taken for a GPU.
func asGPU(t *testing.T, set Settings) *Session {
	t.Helper()
	needDevice(t)
	s, err := NewSession(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	info := *s.device.info
	info.Type, info.MaxWorkGroup = clrt.GPU, max(info.MaxWorkGroup, 1024)
	s.device.info = &info
	return s
}

// TestUnitsAreNoted: units that work are not tried again, nor is the device opened to plan.
func TestUnitsAreNoted(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	first := asGPU(t, Settings{Model: "fast", Precision: FP16})
	units := findings.GPUUnits(true, true)
	first.device.findings().NoteUnits(t.Context(), &units)
	last := asGPU(t, Settings{Model: "fast", Precision: FP16})
	if err := last.probe(t.Context(), func() { t.Error("units are tried") }); err != nil {
		t.Fatal(err)
	}
	if last.device.cl != nil || !last.device.units.Warpgroup {
		t.Errorf("the device is open: %v, warpgroups %v", last.device.cl != nil, last.device.units.Warpgroup)
	}
}

// asked is a clrt.Compiler that compiles nothing and keeps what it was asked for.
type asked struct {
	mu  sync.Mutex
	all []string
}

func (a *asked) Compile(_ *clrt.Device, source, _ string) ([]byte, func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, source)
	return nil, func() {}
}
func (a *asked) Width(*clrt.Device) int { return 1 }
func (a *asked) Expect(*clrt.Device)    {}
func (a *asked) Rest(bool)              {}
func (a *asked) asks(source string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.all, source)
}

// TestCompileAhead: what is compiled while units are tried is what the plan needs that has them.
func TestCompileAhead(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	got := &asked{}
	set := Settings{Model: "fast", Precision: FP16}
	set.Compiler = got
	s := asGPU(t, set)
	if err := s.device.openContext(); err != nil {
		t.Fatal(err)
	}
	c := s.computation(t.Context(), s.model, 48, 64, &facts.Plan{}, &facts.Memory{}, &facts.Seconds{})
	c.within = s.allowed()
	s.choices.samples, s.choices.picture = true, &fuse.Picture{X1: 64, Y1: 48}
	c.compileAhead()
	s.device.units = findings.GPUUnits(true, true)
	job, err := s.planPrecisely(t.Context(), c.net, c.h, c.w, c.within)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if missing := slices.DeleteFunc(job.Texts(), got.asks); len(missing) == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d programs of the plan were not asked for", len(missing))
		}
	}
}
