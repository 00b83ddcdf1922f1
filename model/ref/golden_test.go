package ref

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"enhance/model"
)

// golden is what testdata/golden holds of a run; see its README.
type golden struct {
	Seed        string `json:"seed"`
	Norm        bool   `json:"instance_norm"`
	Norm1       bool   `json:"instance_norm_level_1"`
	Input       []int  `json:"input_shape"`
	Output      []int  `json:"output_shape"`
	Activations map[string]activation
}

type activation struct {
	Shape     []int
	Mean, Std float64
	Index     []int
	Value     []float64
}

func goldenPath(name string) string { return filepath.Join("..", "..", "testdata", "golden", name) }

func readFloats(t *testing.T, name string) []float32 {
	t.Helper()
	b, err := os.ReadFile(goldenPath(name))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// maxDiff is the largest absolute difference; NaN counts as infinite.
func maxDiff[A, B sample](t *testing.T, a []A, b []B) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d samples against %d", len(a), len(b))
	}
	worst := 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

func TestGoldenPyNETS(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	got, shape, err := Run(t.Context(), m, readFloats(t, "pynet_s_96x128.x.f32"), 96, 128, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (model.Shape{C: 3, H: 192, W: 256}); shape != want {
		t.Errorf("output is %v, want %v", shape, want)
	}
	d := maxDiff(t, got, readFloats(t, "pynet_s_96x128.y.f32"))
	t.Logf("largest difference %.2g", d)
	if d > 2e-5 {
		t.Errorf("output differs by %g, more than 2e-5", d)
	}
}

func TestGoldenPyNET(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("170 GFLOP: not in -short, not with -race")
	}
	for _, name := range []string{"pynet_gold_80x112_nonorm1", "pynet_gold_96x128"} {
		t.Run(name, func(t *testing.T) { testGolden(t, name) })
	}
}

func testGolden(t *testing.T, name string) {
	var want golden
	text, err := os.ReadFile(goldenPath(name + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	g := model.PyNET(model.PyNETOptions{InstanceNorm: want.Norm, InstanceNormLevel1: want.Norm1, SideOutputs: true})
	whole, err := model.Load("pynet-random:" + want.Seed) // for the convention
	if err != nil {
		t.Fatal(err)
	}
	m := &model.Model{Arch: "pynet", Graph: g, Params: model.FormulaParams(want.Seed, g), Convention: whole.Convention}
	h, w := want.Input[2], want.Input[3]
	dumped := make(map[string]bool)
	worst := 0.0
	o := Options{Dump: func(node string, shape model.Shape, data []float32) {
		a, ok := want.Activations[node]
		if !ok {
			return
		}
		dumped[node] = true
		worst = max(worst, checkActivation(t, node, a, shape, data))
	}}
	start := time.Now()
	got, shape, err := Run(t.Context(), m, model.FormulaTensor(want.Seed, "input", 4*h*w), h, w, o)
	if err != nil {
		t.Fatal(err)
	}
	seconds := time.Since(start).Seconds()
	if s := (model.Shape{C: want.Output[1], H: want.Output[2], W: want.Output[3]}); shape != s {
		t.Errorf("output is %v, want %v", shape, s)
	}
	for node := range want.Activations {
		if !dumped[node] {
			t.Errorf("activation %q is not a node", node)
		}
	}
	d := maxDiff(t, got, readFloats(t, name+".f32"))
	flops, err := g.FLOPs(h, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("output differs by at most %.2g, activations by %.2g of their deviation; %.1f s, %.1f GFLOP/s", d, worst, seconds, float64(flops)/seconds/1e9)
	if !(d < 2e-4) {
		t.Errorf("output differs by %g, want less than 2e-4", d)
	}
}

// checkActivation compares a value with its golden shape, mean, deviation and
// samples, in units of its deviation; it gives the largest difference.
func checkActivation(t *testing.T, node string, want activation, shape model.Shape, data []float32) float64 {
	if got := []int{1, shape.C, shape.H, shape.W}; !slices.Equal(got, want.Shape) {
		t.Errorf("%s: shape %v, want %v", node, got, want.Shape)
		return 0
	}
	mean, std := moments(data)
	worst := max(math.Abs(mean-want.Mean), math.Abs(std-want.Std)) / want.Std
	for i, at := range want.Index {
		worst = max(worst, math.Abs(float64(data[at])-want.Value[i])/want.Std)
	}
	if !(worst <= 1e-3) {
		t.Errorf("%s: mean %g (want %g), deviation %g (want %g), samples: off by up to %g of the deviation",
			node, mean, want.Mean, std, want.Std, worst)
	}
	return worst
}

// moments gives mean and biased standard deviation.
func moments(data []float32) (mean, std float64) {
	for _, v := range data {
		mean += float64(v)
	}
	mean /= float64(len(data))
	for _, v := range data {
		d := float64(v) - mean
		std += d * d
	}
	return mean, math.Sqrt(std / float64(len(data)))
}
