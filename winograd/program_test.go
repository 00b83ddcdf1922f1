package winograd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func programs(t testing.TB) map[string]struct {
	p *Program
	m Matrix
} {
	all := map[string]struct {
		p *Program
		m Matrix
	}{}
	for name, tr := range allSets(t) {
		in, err := tr.InputProgram()
		if err != nil {
			t.Fatal(err)
		}
		out, err := tr.OutputProgram()
		if err != nil {
			t.Fatal(err)
		}
		all[name+" input"] = struct {
			p *Program
			m Matrix
		}{in, tr.BT}
		all[name+" output"] = struct {
			p *Program
			m Matrix
		}{out, tr.AT}
	}
	return all
}

// matchesMatrix checks p against m on unit vectors, which is enough: both are linear.
func matchesMatrix(t *testing.T, name string, p *Program, m Matrix) {
	t.Helper()
	if p.In != m.Cols() || len(p.Out) != len(m) {
		t.Fatalf("%s: program from %d to %d values for a %dx%d matrix", name, p.In, len(p.Out), len(m), m.Cols())
	}
	for j := range p.In {
		x := make([]Surd, p.In)
		x[j] = Int(1)
		for i, y := range p.EvalExact(x) {
			if !y.Equal(m[i][j]) {
				t.Fatalf("%s: entry (%d,%d) is %v, want %v", name, i, j, y, m[i][j])
			}
		}
	}
}

func TestProgramsEqualTheirMatrices(t *testing.T) {
	for name, c := range programs(t) {
		matchesMatrix(t, name, c.p, c.m)
	}
}

func TestProgramsOfRandomMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	entries := []Surd{{}, {}, Int(1), Int(-1), Int(2), Int(-2), Frac(1, 2), Root2(1, 2), Root2(-1, 1)}
	for n := range 60 {
		m := newMatrix(1+rng.IntN(6), 1+rng.IntN(6))
		for i := range m {
			for j := range m[i] {
				m[i][j] = entries[rng.IntN(len(entries))]
			}
			m[i][rng.IntN(len(m[i]))] = entries[2+rng.IntN(len(entries)-2)]
		}
		p, err := Compile(m)
		if err != nil {
			t.Fatal(err)
		}
		matchesMatrix(t, "random", p, m)
		plain := 0
		for _, f := range newForms(m).out {
			plain += f.cost()
		}
		if got := p.Counts().Ops(); got > plain {
			t.Errorf("matrix %d %v: %d operations, %d without sharing", n, m, got, plain)
		}
		q, err := Compile(identity(m.Cols()), m)
		if err != nil {
			t.Fatal(err)
		}
		matchesMatrix(t, "chained", q, m)
	}
}

func TestOperationCounts(t *testing.T) {
	all := programs(t)
	for name, want := range map[string]Counts{
		"F2x3 input":  {Add: 4, Live: 5},
		"F2x3 output": {Add: 4, Live: 4},
		"F4x3 input":  {Add: 2, FMA: 10, Live: 7},
		"F4x3 output": {Add: 6, Mul: 2, FMA: 4, Live: 7},
	} {
		if got := all[name].p.Counts(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestCodeIsStraightLine checks that values are read after they are made, that
// every instruction serves an output, and that Live is what a direct count gives.
func TestCodeIsStraightLine(t *testing.T) {
	for name, c := range programs(t) {
		p := c.p
		last := make([]int, p.In+len(p.Code))
		for i := range p.Code {
			for _, v := range p.Code[i].reads() {
				if v >= p.In+i {
					t.Fatalf("%s: instruction %d reads value %d, which comes later", name, i, v)
				}
				last[v] = i + 1
			}
		}
		for _, o := range p.Out {
			last[o.V] = len(p.Code) + 1
		}
		most := 0
		for now := 0; now <= len(p.Code); now++ { // values alive after instruction now−1
			live := 0
			for v, l := range last {
				if l == 0 && v >= p.In {
					t.Fatalf("%s: value %d is never read", name, v)
				}
				if v < p.In+now && l > now {
					live++
				}
			}
			most = max(most, live)
		}
		if got := p.Counts().Live; got != most {
			t.Errorf("%s: %d live values counted, want %d", name, got, most)
		}
	}
}

func TestEval32IsNearTheMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for name, c := range programs(t) {
		x := normal(rng, c.p.In)
		y := make([]float32, len(c.p.Out))
		c.p.Eval32(y, x)
		for i, row := range c.m.Float64() {
			want, scale := 0.0, 0.0
			for j, a := range row {
				want += a * float64(x[j])
				scale += math.Abs(a * float64(x[j]))
			}
			if math.Abs(float64(y[i])-want) > 2e-6*scale {
				t.Errorf("%s: value %d is %g, want %g", name, i, y[i], want)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, f := range map[string][]Matrix{
		"nothing":   nil,
		"empty":     {Matrix{}},
		"no column": {Matrix{{}}},
		"zero row":  {Matrix{{Int(1)}, {Int(0)}}},
		"ragged":    {Matrix{{Int(1)}, {Int(1), Int(1)}}},
		"sizes":     {identity(2), identity(3)},
	} {
		if _, err := Compile(f...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkCompileF4x5Input(b *testing.B) {
	tr := F4x5()
	var c Counts
	for b.Loop() {
		p, err := tr.InputProgram()
		if err != nil {
			b.Fatal(err)
		}
		c = p.Counts()
	}
	b.ReportMetric(float64(c.Ops()), "ops")
	b.ReportMetric(float64(c.Live), "live")
}
