package facts_test

import (
	"os"
	"strings"
	"testing"

	"enhance/internal/peak"
	"enhance/pipeline/facts"
)

// TestProfileTable compares the table's form with testdata/profile.golden, written
// again by ENHANCE_UPDATE=1 go test ./pipeline/facts -run ProfileTable.
func TestProfileTable(t *testing.T) {
	const path = "testdata/profile.golden"
	r := sampleReport()
	var got strings.Builder
	if err := r.WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ENHANCE_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the table is\n%s\nwant\n%s", got.String(), want)
	}
}

// sampleReport is made up: two steps, three queues.
func sampleReport() *facts.Profile {
	return &facts.Profile{
		Device: "some GPU", Runs: 1, Wall: 0.100, Kernels: 0.060, Copies: 0.001, Gaps: 0.030, Edges: 0.009,
		Launches: 12, Planned: 7, Commands: 40, FLOPs: 3e12, Bytes: 5e9,
		Peaks: &facts.Peaks{Units: peak.Units{FMA: 6e13, MMA: 6e14, TF32: 3e14, Warpgroup: 9e14}, Bytes: 4e12},
		Steps: []facts.StepProfile{
			{Name: "conv_l1_d1.conv_3a", Kind: "conv", Algo: "mma", Launches: 10, Seconds: 0.0588, Gaps: 0.025, FLOPs: 3e12, Bytes: 4e9, Roof: 0.085, Bound: "compute",
				Kernels: []facts.KernelProfile{{Name: "conv_mma_k3", Launches: 10, Seconds: 0.0588}}},
			{Name: "pool1", Kind: "max_pool", Launches: 2, Seconds: 0.0012, Gaps: 0.005, Bytes: 1e9, Roof: 1.208, Bound: "memory",
				Kernels: []facts.KernelProfile{{Name: "ops_max_pool", Launches: 2, Seconds: 0.0012}}},
		},
		Queues: []facts.QueueProfile{
			{Name: "compute", Kinds: []facts.KindTimes{{Kind: "kernel", Count: 12, Seconds: 0.06}, {Kind: "write", Count: 1, Bytes: 1e6, Seconds: 0.001}}},
			{Name: "upload", Kinds: []facts.KindTimes{{Kind: "write", Count: 23, Bytes: 46e6, Seconds: 0.002}}},
			{Name: "download", Kinds: []facts.KindTimes{{Kind: "read", Count: 4, Bytes: 137e6, Seconds: 0.003}}},
		},
		Host: []facts.StageTime{{Name: "decode", Count: 45, Seconds: 0.05}, {Name: "pack", Count: 23, Seconds: 0.012}},
	}
}

func TestMedian(t *testing.T) {
	for want, v := range map[float64][]float64{3: {3}, 2: {1, 3}, 5: {9, 1, 5}, 2.5: {4, 1, 2, 3}} {
		if got := facts.Median(v); got != want {
			t.Errorf("median of %v is %g", v, got)
		}
	}
}
