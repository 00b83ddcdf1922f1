package exec_test

import (
	"errors"
	"fmt"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/internal/usage"
	"enhance/memplan"
	"enhance/model"
)

// TestPyNETUnderBudgets runs PyNET, whose norms need whole planes, under budgets
// from the smallest up, and expects the same bytes from all of them.
func TestPyNETUnderBudgets(t *testing.T) {
	m, err := model.Load("pynet-random:budget,width=8")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 48, 32
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		want := run(t, m, in, exec.Options{Precision: p, Poison: true, WholePlanes: true})
		for _, opt := range []exec.Options{{}, {Discrete: true}, {HostRest: true}} {
			if testing.Short() && opt.Discrete != (p == planar.FP16) {
				continue
			}
			opt.Precision, opt.Poison = p, true
			least := minimum(t, m, h, w, opt)
			for _, budget := range []memplan.Budget{memplan.Limit(least), memplan.Limit(least + least/4), memplan.Limit(2 * least), memplan.Unlimited()} {
				opt.Budget = budget
				got := run(t, m, in, opt)
				for i := range want.v {
					if got.v[i] != want.v[i] {
						t.Errorf("%s, discrete %v, rest of the host's %v, budget %v: sample %d is %g, whole planes give %g",
							p, opt.Discrete, opt.HostRest, budget, i, got.v[i], want.v[i])
						break
					}
				}
			}
		}
	}
}

// TestLeastScratch runs algorithms with scratch memory within budgets from the smallest up,
// where they have less of it than they want, Winograd's of some layers less than a row of tiles
// takes, and expects the bytes of whole planes.
func TestLeastScratch(t *testing.T) {
	m, err := model.Load("pynet-random:scratch,width=8,level=3")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 64, 48
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	for _, c := range []struct {
		algos string
		sizes int // of scratch, at least
	}{{"*l3_d4.conv_3*=winograd-f4x3-tiled", 3},
		{"*l3_d4.conv_5*=winograd-f4x5", 1}} {
		algos := c.algos
		algo, err := exec.ParseAlgos(algos)
		if err != nil {
			t.Fatal(err)
		}
		opt := exec.Options{Poison: true, Discrete: true, Algo: algo.Algo, WholePlanes: true}
		want := run(t, m, in, opt)
		whole, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.WholePlanes = false
		within := minimum(t, m, h, w, opt)
		opt.Budget = memplan.Limit(within)
		job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if least, all := job.Plan.Scratch, whole.Plan.Scratch; least == 0 || least >= all {
			t.Errorf("%s: %d bytes of scratch within the smallest budget, %d over whole planes", algos, least, all)
		}
		sizes := map[int64]bool{}
		for _, more := range []int64{0, 1, 2, 4, 8, 16} {
			opt := opt
			opt.Budget = memplan.Limit(within + within*more/16)
			if job, err = exec.Prepare(m, h, w, convtest.Device(t).Info(), opt); err != nil {
				t.Fatal(err)
			}
			sizes[job.Plan.Scratch] = true
			for i, v := range run(t, m, in, opt).v {
				if v != want.v[i] {
					t.Errorf("%s within %d bytes: sample %d is %g, whole planes give %g", algos, opt.Budget.Bytes(), i, v, want.v[i])
					break
				}
			}
		}
		if len(sizes) < c.sizes {
			t.Errorf("%s: budgets give scratch of %v bytes alone", algos, sizes)
		}
	}
}

// minimum is the smallest budget that works, which the error of a smaller one names.
func minimum(t *testing.T, m *model.Model, h, w int, opt exec.Options) int64 {
	t.Helper()
	least, err := exec.Minimum(m, h, w, convtest.Device(t).Info(), opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Budget = memplan.Limit(least - 1)
	var be *memplan.BudgetError
	if _, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt); !errors.As(err, &be) || be.Minimum != least {
		t.Errorf("one byte less than the smallest budget of %d gives %v", least, err)
	}
	return least
}

// budgetOf is a budget of so many MiB, and of 0 none.
func budgetOf(mib int64) memplan.Budget {
	if mib == 0 {
		return memplan.Unlimited()
	}
	return memplan.Limit(mib << 20)
}

// plansOnly skips a test in short: of the code that only plans, tests that run the plans show what
// the race detector can see.
func plansOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED in short: plans that are not run")
	}
}

// gpu is a GPU with memory of its own, for plans that are not run.
var gpu = &clrt.DeviceInfo{Type: clrt.GPU, GlobalMem: 12 << 30, MaxAlloc: 3 << 30, LocalMem: 48 << 10, MaxWorkGroup: 1024,
	ComputeUnits: 28, MaxClockMHz: 1780, BaseAlign: 512, NativeVectorFloat: 1}

// TestMinimumIsLeast: no plan that a larger budget gets takes clearly less than the budget
// that is named as the smallest, also where what is spilled comes back through rings that
// take room themselves.
func TestMinimumIsLeast(t *testing.T) {
	plansOnly(t)
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	info := &clrt.DeviceInfo{Name: "a GPU", Type: clrt.GPU, GlobalMem: 12 << 30, MaxAlloc: 3 << 30, LocalMem: 48 << 10, MaxWorkGroup: 1024, ComputeUnits: 28}
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		opt := exec.Options{Precision: p, Units: conv.Units{Matrix: true}}
		least, err := exec.Minimum(m, 1440, 1984, info, opt)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		for _, percent := range []int64{100, 102, 105, 108, 115, 130} {
			opt.Budget = memplan.Limit(least * percent / 100)
			job, err := exec.Prepare(m, 1440, 1984, info, opt)
			if err != nil {
				t.Errorf("%s, %d %% of the smallest budget: %v", p, percent, err)
			} else if job.Plan.Peak*101/100 < least {
				t.Errorf("%s: a budget of %d has a plan of %d, but %d is named as the smallest", p, opt.Budget.Bytes(), job.Plan.Peak, least)
			}
		}
	}
}

// TestMinimumByHeight: on a device with memory of its own the smallest budget does
// not grow with the height of the photo, but for the statistics of norms, which
// are 8 bytes for a row of a channel.
func TestMinimumByHeight(t *testing.T) {
	plansOnly(t)
	for _, c := range []struct {
		model  string
		matrix bool
		perRow int64 // bytes that it may grow by
	}{{"pynet-s", false, 0}, {"pynet-s", true, 0}, {"pynet-random:height", true, 2 * 8 * 128}, {"pynet-random:height", false, 2 * 8 * 128}} {
		m, err := model.Load(c.model)
		if err != nil {
			t.Fatal(err)
		}
		const low = 1440
		least := func(h int) int64 {
			n, err := exec.Minimum(m, h, 1984, gpu, exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: c.matrix}})
			if err != nil {
				t.Fatalf("%s: %v", c.model, err)
			}
			return n
		}
		base := least(low)
		if more := least(2*low) - base; more > c.perRow*low {
			t.Errorf("%s, matrix %v: %d bytes for %d rows, %d more for %d", c.model, c.matrix, base, low, more, 2*low)
		}
	}
}

// BenchmarkPrepare plans PyNET for a 12 MP photo on a GPU with its own memory.
func BenchmarkPrepare(b *testing.B) {
	m, err := model.Load("pynet-random:gold")
	if err != nil {
		b.Fatal(err)
	}
	for _, mib := range []int64{0, 1024, 512, 256, 128, 64} {
		b.Run(fmt.Sprintf("%dM", mib), func(b *testing.B) {
			start := usage.CPUSeconds()
			for b.Loop() {
				if _, err := exec.Prepare(m, 1440, 1984, gpu, exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: true}, Budget: budgetOf(mib)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((usage.CPUSeconds()-start)*1e3/float64(b.N), "cpu-ms/op")
		})
	}
}

// TestSharedMemoryHoldsWeightsOnce: where the device shares the host's memory, the
// smallest budget of a network with norms holds its parameters, and the host has no
// copy that sections would load them from.
func TestSharedMemoryHoldsWeightsOnce(t *testing.T) {
	m, err := model.Load("pynet-random:gold")
	if err != nil {
		t.Fatal(err)
	}
	shared := *gpu
	shared.Unified = true
	for _, matrix := range []bool{false, true} {
		opt := exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: matrix}}
		least, err := exec.Minimum(m, 720, 992, &shared, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Budget = memplan.Limit(least)
		job, err := exec.Prepare(m, 720, 992, &shared, opt)
		if err != nil {
			t.Fatal(err)
		}
		if u := job.HostUse(); u.Weights != 0 || u.Spilled != 0 || job.Plan.Loaded != 0 {
			t.Errorf("matrix %v: %d bytes of parameters wait on the host, %d of tensors; %d are loaded", matrix, u.Weights, u.Spilled, job.Plan.Loaded)
		}
		if least := int64(90 << 20); job.Plan.Resident < least {
			t.Errorf("matrix %v: %d bytes of parameters are on the device, fewer than the network has", matrix, job.Plan.Resident)
		}
	}
}

// TestGroups runs a network within budgets where launches load the parameters of one group of
// outputs after another, on devices with memory of their own and on ones that share the rest of
// the host's, and expects the bytes of whole planes and the predicted peak.
func TestGroups(t *testing.T) {
	m, err := model.Load("pynet-random:groups,width=16,level=3")
	if err != nil {
		t.Fatal(err)
	}
	algo, err := exec.ParseAlgos("*l3_d4.conv_3*=winograd-f4x3-tiled,*l3_d6.conv_5*=winograd-f2x5-tiled")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 32, 16
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		want := run(t, m, in, exec.Options{Precision: p, Poison: true, Algo: algo.Algo, WholePlanes: true})
		for _, opt := range []exec.Options{{Discrete: true}, {HostRest: true}} {
			opt.Precision, opt.Poison, opt.Algo = p, true, algo.Algo
			least, groups := minimum(t, m, h, w, opt), map[int]bool{}
			for _, percent := range []int64{100, 110} {
				opt.Budget = memplan.Limit(least * percent / 100)
				job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range job.Plan.Groups {
					groups[n] = true
				}
				for i, v := range run(t, m, in, opt).v {
					if v != want.v[i] {
						t.Errorf("%s, discrete %v, %d %% of the smallest budget: sample %d is %g, whole planes give %g", p, opt.Discrete, percent, i, v, want.v[i])
						break
					}
				}
			}
			if !groups[2] && !groups[4] {
				t.Errorf("%s, discrete %v: no plan loads parameters in groups: %v", p, opt.Discrete, groups)
			}
		}
	}
}
