package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/tune"
	"enhance/memplan"
	"enhance/model"
	"enhance/pipeline/facts"
)

// kinds are device facts for what needs no driver.
var kinds = map[string]*clrt.DeviceInfo{
	"cpu": {Type: clrt.CPU, NativeVectorFloat: 8, LocalMem: 32 << 10, MaxWorkGroup: 4096, BaseAlign: 128},
	"gpu": {Type: clrt.GPU, NativeVectorFloat: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024, BaseAlign: 512, GlobalMem: 8 << 30, MaxAlloc: 2 << 30},
}

// TestTuneTasks: tasks are distinct, and every convolution of a network finds its
// own; the default comes first, candidates are distinct, accepted and found by
// their names, and ask for scratch or granules of rows only where defaults may.
func TestTuneTasks(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	for kind, info := range kinds {
		units := conv.Units{Matrix: kind == "gpu"}
		for _, opt := range []exec.Options{{}, {Precision: planar.FP16}, {Units: units}, {Units: units, TF32: true}, {Precision: planar.FP16, Units: units}} {
			name := fmt.Sprintf("%s %+v %v", kind, opt.Precision, opt.Matrix)
			tasks, err := exec.TuneTasks(m, 736, 992, info, opt)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, task := range tasks {
				if seen[task.Key] {
					t.Errorf("%s: key %s twice", name, task.Key)
				}
				seen[task.Key] = true
				checkCandidates(t, name, opt.Caps(info), conv.Arithmetic{Precision: opt.Precision, TF32: opt.TF32 && opt.Matrix && opt.Precision == planar.FP32}, task)
			}
		}
	}
}

// TestWarpgroups: where a device has warpgroup matrix units, they are the default
// for large kernels in fp16, and every search holds mma against them.
func TestWarpgroups(t *testing.T) {
	large := conv.Shape{K: 7, SrcC: []int{192}, OutC: 64, H: 720, W: 992}
	small := large
	small.K = 3
	for _, c := range []struct {
		shape conv.Shape
		p     planar.Precision
		units bool
		want  bool
	}{{large, planar.FP16, true, true}, {large, planar.FP16, false, false}, {large, planar.FP32, true, false}, {small, planar.FP16, true, false}} {
		caps := conv.CapsOf(kinds["gpu"])
		caps.Matrix, caps.Warpgroup = true, c.units
		list := exec.Candidates(caps, c.shape, conv.Arithmetic{Precision: c.p})
		place := func(prefix string) int {
			return slices.IndexFunc(list, func(a conv.Algo) bool { return strings.HasPrefix(a.Name(), prefix) })
		}
		if at := place("wgmma"); at > 0 || at == 0 != c.want {
			t.Errorf("%v in %s, warpgroups %v: wgmma is candidate %d", c.shape, c.p, c.units, at)
		}
		if place("mma") < 0 {
			t.Errorf("%v in %s, warpgroups %v: mma is no candidate", c.shape, c.p, c.units)
		}
	}
}

func checkCandidates(t *testing.T, name string, caps conv.Caps, arith conv.Arithmetic, task tune.Task) {
	t.Helper()
	if len(task.Candidates) < 2 {
		t.Errorf("%s: %s: nothing to choose from", name, task.Shape)
	}
	first, _ := exec.AutoAlgo(caps, task.Shape, arith)
	if task.Candidates[0].Name() != first.Algo.Name() {
		t.Errorf("%s: %s: %s comes first, the default is %s", name, task.Shape, task.Candidates[0].Name(), first.Algo.Name())
	}
	narrow := task.Shape.InC() < 32 || task.Shape.OutC < 32
	names := map[string]bool{}
	for _, a := range task.Candidates {
		impl, err := a.New(caps, task.Shape, arith.Precision)
		switch {
		case err != nil:
			t.Errorf("%s: %s: %s: %v", name, task.Shape, a.Name(), err)
			continue
		case names[a.Name()]:
			t.Errorf("%s: %s: %s twice", name, task.Shape, a.Name())
		case narrow && (impl.Granule() > 1 || impl.Scratch(100) > 0):
			t.Errorf("%s: %s: %s takes rows by %d and %d bytes of scratch: photos would need more memory", name, task.Shape, a.Name(), impl.Granule(), impl.Scratch(100))
		case strings.Contains(a.Name(), "mma-tf32") && !arith.TF32:
			t.Errorf("%s: %s rounds to tf32 unasked", name, a.Name())
		}
		names[a.Name()] = true
		if choose, err := exec.ParseAlgos(a.Name()); err != nil || choose.Algo("x", task.Shape).Name() != a.Name() {
			t.Errorf("%s is not found by its name: %v", a.Name(), err)
		}
		shaped, ok := a.(conv.Shaped)
		if !ok {
			continue
		}
		for _, n := range shaped.Neighbours(caps, task.Shape, arith.Precision) {
			if choose, err := exec.ParseAlgos(n.Name()); err != nil || choose.Algo("x", task.Shape).Name() != n.Name() {
				t.Errorf("%s, a neighbour of %s, is not found by its name: %v", n.Name(), a.Name(), err)
			}
		}
	}
}

// table has one algorithm for every convolution of a network.
func table(t *testing.T, m *model.Model, h, w int, info *clrt.DeviceInfo, opt exec.Options, choose func(i int, task tune.Task) string) *tune.Table {
	t.Helper()
	tasks, err := exec.TuneTasks(m, h, w, info, opt)
	if err != nil {
		t.Fatal(err)
	}
	tab := tune.New(exec.TuningDevice(info))
	for i, task := range tasks {
		if algo := choose(i, task); algo != "" {
			tab.Choices[task.Key] = facts.Choice{Algo: algo, Default: task.Candidates[0].Name(), Seconds: 1, Before: 2}
		}
	}
	return tab
}

// TestTableDecides: a job takes what the table says, says so, and tells its
// decisions apart by a hash; what the table does not know, or knows wrongly, is the
// rule's; --algo comes before both.
func TestTableDecides(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	info := kinds["cpu"]
	prepare := func(opt exec.Options) *exec.Job {
		job, err := exec.Prepare(m, 64, 96, info, opt)
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	all := func(name string) *tune.Table {
		return table(t, m, 64, 96, info, exec.Options{}, func(int, tune.Task) string { return name })
	}
	plain := prepare(exec.Options{}).Tuning()
	if plain.State != "defaults" || plain.Automatic < 4 || plain.Asked != 0 || plain.Hash != "" || plain.String() != "defaults" {
		t.Errorf("without a table: %+v", plain)
	}
	job := prepare(exec.Options{Tuned: all("direct-rows-o2v4")})
	for _, f := range job.Explain() {
		if f.Kind == fuse.Conv.String() && (f.Algo != "direct-rows-o2v4" || !strings.HasPrefix(f.Why, "tuned")) {
			t.Errorf("%s: %s (%s)", f.Name, f.Algo, f.Why)
		}
	}
	one := job.Tuning()
	other := prepare(exec.Options{Tuned: all("direct-rows-o3v2")}).Tuning()
	if one.State != "tuned" || other.State != "tuned" || one.Hash == "" || one.Hash == other.Hash {
		t.Errorf("%+v and %+v", one, other)
	}
	grown := all("direct-rows-o2v4")
	grown.Choices["of another network"] = facts.Choice{Algo: "direct-tile", Default: "direct-tile"}
	if again := prepare(exec.Options{Tuned: grown}).Tuning(); again != one {
		t.Errorf("a table that knows more: %+v, before %+v", again, one)
	}
	for _, bad := range []string{"no such algorithm", "winograd-f4x5"} { // the latter does no 3×3
		if got := prepare(exec.Options{Tuned: all(bad)}).Tuning(); got.State == "tuned" {
			t.Errorf("%s: %+v", bad, got)
		}
	}
	few := table(t, m, 64, 96, info, exec.Options{}, func(i int, _ tune.Task) string { return []string{"direct-rows-o2v4", ""}[min(i, 1)] })
	if got := prepare(exec.Options{Tuned: few}).Tuning(); got.State != "partly tuned" || got.Hash == one.Hash {
		t.Errorf("one choice: %+v", got)
	}
	asked, err := exec.ParseAlgos("direct-naive")
	if err != nil {
		t.Fatal(err)
	}
	job = prepare(exec.Options{Tuned: all("direct-rows-o2v4"), Algo: asked.Algo})
	if got := job.Tuning(); got != (facts.Tuning{Asked: plain.Automatic, AskedFor: "direct-naive"}) || job.Explain()[0].Algo != "direct-naive" {
		t.Errorf("with --algo: %+v, %s", got, job.Explain()[0].Algo)
	}
	if got, want := job.Tuning().String(), fmt.Sprintf("%d by --algo (direct-naive)", plain.Automatic); got != want {
		t.Errorf("said of --algo: %q, want %q", got, want)
	}
	if asked, err = exec.ParseAlgos("skip=direct-rows,conv_l1_d1*=direct-naive,*=auto"); err != nil {
		t.Fatal(err)
	}
	mixed := prepare(exec.Options{Tuned: all("direct-rows-o2v4"), Algo: asked.Algo}).Tuning()
	if mixed.Asked == 0 || mixed.Asked+mixed.Automatic != plain.Automatic || mixed.State != "tuned" {
		t.Errorf("with --algo for some: %+v", mixed)
	}
	if got, want := mixed.String(), fmt.Sprintf("%d by --algo (direct-naive, direct-rows), the other %d tuned for this device (choices %s)", mixed.Asked, mixed.Automatic, mixed.Hash); got != want {
		t.Errorf("said of --algo for some: %q, want %q", got, want)
	}
	// Choices of one precision are none of another.
	if got := prepare(exec.Options{Tuned: all("direct-rows-o2v4"), Precision: planar.FP16}).Tuning(); got.State != "defaults" {
		t.Errorf("fp16 with a table of fp32: %+v", got)
	}
}

// TestTunedBytes runs a network with a table of many algorithms: the same bytes
// under every plan, and the planned peak.
func TestTunedBytes(t *testing.T) {
	dev := convtest.Device(t)
	m, err := model.Load("pynet-random:tuned,width=8")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 80, 64
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	opt := exec.Options{Poison: true}
	opt.Tuned = table(t, m, h, w, dev.Info(), opt, func(i int, task tune.Task) string {
		return task.Candidates[i%min(len(task.Candidates), 3)].Name()
	})
	want := run(t, m, in, opt)
	plain := run(t, m, in, exec.Options{})
	worst := 0.0
	for i := range want.v {
		worst = max(worst, max(float64(want.v[i]-plain.v[i]), float64(plain.v[i]-want.v[i])))
	}
	if !(worst < 1e-3) {
		t.Errorf("a tuned result is %g from the default's", worst)
	}
	least := minimum(t, m, h, w, opt)
	for _, budget := range []int64{least, 2 * least} {
		opt := opt
		opt.Budget = memplan.Limit(budget)
		got := run(t, m, in, opt)
		for i := range want.v {
			if got.v[i] != want.v[i] {
				t.Fatalf("budget %d: sample %d is %g, without budget %g", budget, i, got.v[i], want.v[i])
			}
		}
	}
}

// TestKernelHash: it is one of kernels, and the same all the time.
func TestKernelHash(t *testing.T) {
	if a, b := exec.KernelHash(), exec.KernelHash(); a != b || len(a) != 16 {
		t.Errorf("%q, %q", a, b)
	}
}

// TestNormsKeepTheRule: on matrix units convolutions beside a norm take it along in
// forms that tuning does not check, so that no table changes their algorithm.
func TestNormsKeepTheRule(t *testing.T) {
	m, err := model.Load("pynet-random:norms,width=8")
	if err != nil {
		t.Fatal(err)
	}
	info := kinds["gpu"]
	opt := exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: true}}
	plain, err := exec.Prepare(m, 64, 64, info, opt)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]facts.Step{}
	for _, f := range plain.Explain() {
		if f.Kind == fuse.Conv.String() { // steps of its norm have the same name
			byName[f.Name] = f
		}
	}
	// A table for every shape there is, whether a task or not.
	p, err := fuse.Fuse(m.Graph, 64, 64)
	if err != nil {
		t.Fatal(err)
	}
	const other = "direct-naive"
	opt.Tuned = tune.New(exec.TuningDevice(info))
	norms := 0
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == fuse.Conv {
			key := tune.Key(exec.ShapeOf(p, s), "fp16")
			opt.Tuned.Choices[key] = facts.Choice{Algo: other, Default: "mma", Seconds: 1, Before: 2}
		}
	}
	job, err := exec.Prepare(m, 64, 64, info, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(job.Program.Steps) != len(plain.Program.Steps) {
		t.Errorf("%d steps with a table, %d without: a norm is no longer taken along", len(job.Program.Steps), len(plain.Program.Steps))
	}
	for i, f := range job.Explain() {
		s := &job.Program.Steps[i]
		beside := s.Kind == fuse.Conv && (s.Affine != fuse.None || i+1 < len(job.Program.Steps) && job.Program.Steps[i+1].Kind == fuse.RowStats && job.Program.Steps[i+1].Src[0] == s.Dst)
		beside = beside && strings.HasPrefix(byName[f.Name].Algo, "mma") // others take no norms along
		switch {
		case beside && f.Algo != byName[f.Name].Algo:
			t.Errorf("%s is beside a norm and has %s, without a table %s", f.Name, f.Algo, byName[f.Name].Algo)
		case beside:
			norms++
		}
	}
	if norms == 0 || job.Tuning().State != "tuned" {
		t.Errorf("%d convolutions beside norms, %+v: nothing was tested", norms, job.Tuning())
	}
}

// TestSuitsWarpgroups: devices are asked for warpgroups for networks that use them.
func TestSuitsWarpgroups(t *testing.T) {
	for spec, want := range map[string]bool{"pynet-random:gold": true, "pynet-s": false, "fast": true, "best": true, "max": true} {
		m, err := model.Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := exec.SuitsWarpgroups(m); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}
