package exec_test

import (
	"errors"
	"math"
	"testing"

	"enhance/clrt"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/model"
)

// leastAlloc is the smallest largest allocation that works, as the error of a smaller one says.
func leastAlloc(t testing.TB, m *model.Model, in *tensor, info *clrt.DeviceInfo, opt exec.Options) int64 {
	t.Helper()
	small := *info
	small.MaxAlloc = 1
	_, err := exec.Prepare(m, in.h, in.w, &small, opt)
	var large *memplan.AllocError
	if !errors.As(err, &large) {
		t.Fatalf("buffers of one byte give %v", err)
	}
	return large.Bytes
}

// TestLargestAllocation runs PyNET with every family of algorithms that PoCL runs within the
// smallest largest allocation, where maps that several sections read wait on the host in pieces
// and parameters are in several buffers, and expects the bytes of a run without that limit.
func TestLargestAllocation(t *testing.T) {
	m, err := model.Load("pynet-random:largest,width=4,level=3")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 96, 32
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	waits, fewest := 0, 9 // runs with more on the host than one piece holds
	all := []string{"direct-rows", "*l3_d4.conv_3*=direct-packed", "*l3_d4.conv_3*=implicit-gemm", "*l3_d4.conv_3*=direct-tile",
		"*l3_d4.conv_3*=winograd-f4x3-tiled", "*l3_d4.conv_3*=winograd-f4x3"}
	if testing.Short() {
		all, fewest = all[:1], 1
	}
	for _, algos := range all {
		spec, err := exec.ParseAlgos(algos)
		if err != nil {
			t.Fatal(err)
		}
		want := run(t, m, in, exec.Options{Poison: true, Algo: spec.Algo})
		for _, opt := range []exec.Options{{}, {Discrete: true}, {HostRest: true}} {
			opt.Poison, opt.Algo = true, spec.Algo
			small := *convtest.Device(t).Info()
			small.MaxAlloc = leastAlloc(t, m, in, &small, opt)
			job, err := exec.Prepare(m, h, w, &small, opt)
			if err != nil {
				t.Fatalf("%s: %v", algos, err)
			}
			if job.Plan.Largest > small.MaxAlloc || len(job.Plan.ResidentParts) < 2 {
				t.Errorf("%s: buffers of %d where %d are allowed, parameters in %d", algos, job.Plan.Largest, small.MaxAlloc, len(job.Plan.ResidentParts))
			}
			if job.Plan.HostBytes > small.MaxAlloc {
				waits++
			}
			got := runJob(t, job, in)
			for i, v := range got.v {
				if math.Float32bits(v) != math.Float32bits(want.v[i]) {
					t.Errorf("%s, buffers of %d: sample %d is %g, without that limit %g", algos, small.MaxAlloc, i, v, want.v[i])
					break
				}
			}
		}
	}
	// GPUs' kernels want larger buffers at least, so that one piece may hold what waits.
	if convtest.Device(t).Info().Type == clrt.CPU && waits < fewest {
		t.Errorf("in %d runs host memory is in several pieces: too few to show anything", waits)
	}
}

// TestChoiceWithinLargestAllocation plans PyNET for GPUs whose largest buffer holds less and
// less. A layer whose automatic choice needs a larger one gets another algorithm, others keep
// theirs, and the smallest largest allocation that the error names works.
func TestChoiceWithinLargestAllocation(t *testing.T) {
	plansOnly(t)
	m, err := model.Load("pynet-random:largest,width=32,level=3")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 32, 2048
	info := clrt.DeviceInfo{Name: "a GPU", Type: clrt.GPU, GlobalMem: 12 << 30, MaxAlloc: 3 << 30, LocalMem: 48 << 10, MaxWorkGroup: 1024, ComputeUnits: 28, BaseAlign: 512}
	algos := func(most int64) (names []string, err error) {
		small := info
		small.MaxAlloc = most
		job, err := exec.Prepare(m, h, w, &small, exec.Options{})
		if err != nil {
			return nil, err
		}
		if job.Plan.Largest > most {
			t.Errorf("a buffer of %d bytes where %d are allowed", job.Plan.Largest, most)
		}
		for i := range job.Program.Steps {
			names = append(names, job.Algo(i))
		}
		return names, nil
	}
	free, err := algos(info.MaxAlloc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = algos(1)
	var large *memplan.AllocError
	if !errors.As(err, &large) {
		t.Fatalf("buffers of one byte give %v", err)
	}
	seen := map[int]bool{} // numbers of layers with another algorithm
	for most := info.MaxAlloc; most > large.Bytes; most = max(most/3, large.Bytes) {
		got, err := algos(most)
		if err != nil {
			t.Fatalf("buffers of %d bytes, where %d are enough: %v", most, large.Bytes, err)
		}
		changed := 0
		for i := range got {
			if got[i] != free[i] {
				changed++
			}
		}
		seen[changed] = true
	}
	if _, err := algos(large.Bytes); err != nil {
		t.Errorf("the smallest largest allocation that works does not: %v", err)
	}
	if _, err := algos(large.Bytes - 1); !errors.As(err, &large) {
		t.Errorf("one byte less than the smallest largest allocation gives %v", err)
	}
	if !seen[0] || len(seen) < 3 {
		t.Errorf("numbers of layers whose algorithm changes: %v", seen)
	}
}
