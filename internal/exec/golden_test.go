package exec_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/model"
)

// planar is a Source and a Sink over whole planes in memory.
type tensor struct {
	c, h, w int
	v       []float32
	rows    int
	begun   int // rows asked for
}

func (p *tensor) at(c, y int) []float32 { return p.v[(c*p.h+y)*p.w:][:p.w] }

// begin and end hold an engine to the contract of Source and Sink: ranges in order, none
// left out, and ended in order. Only from row 0 may they begin again.
func (t *tensor) begin(y0, y1 int) error {
	if y0 != t.begun && y0 != 0 || y1 <= y0 || y1 > t.h {
		return fmt.Errorf("rows %d to %d of %d are begun after those to %d", y0, y1, t.h, t.begun)
	}
	t.begun = y1
	return nil
}

func (t *tensor) end(y0, y1 int) error {
	if y0 != t.rows && y0 != 0 {
		return fmt.Errorf("rows %d to %d are ended after those to %d", y0, y1, t.rows)
	}
	t.rows = y1
	return nil
}

// source and sink are an exec.Source and an exec.Sink.
type source struct{ *tensor }

type sourceRows struct {
	*tensor
	y0, y1 int
}

func (s source) Rows(y0, y1 int) (exec.Rows, error) {
	return sourceRows{s.tensor, y0, y1}, s.begin(y0, y1)
}

func (s sourceRows) Row(y int, planes [][]float32) {
	for c := range planes {
		copy(planes[c], s.at(c, y))
	}
}

func (s sourceRows) End() error { return s.end(s.y0, s.y1) }

type sink struct{ *tensor }

type sinkRows struct {
	*tensor
	y0, y1 int
}

func (s sink) Rows(y0, y1 int) (exec.Rows, error) { return sinkRows{s.tensor, y0, y1}, s.begin(y0, y1) }

func (s sinkRows) Row(y int, planes [][]float32) {
	for c := range planes {
		copy(s.at(c, y), planes[c])
	}
}

func (s sinkRows) End() error { return s.end(s.y0, s.y1) }

func readFloats(t testing.TB, path string) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// run computes in through the model and checks that the measured peak is the
// plan's.
func run(t testing.TB, m *model.Model, in *tensor, opt exec.Options) *tensor {
	t.Helper()
	job, err := exec.Prepare(m, in.h, in.w, convtest.Device(t).Info(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return runJob(t, job, in)
}

// runJob runs a job once and checks its peak.
func runJob(t testing.TB, job *exec.Job, in *tensor) *tensor {
	t.Helper()
	e, done := open(t, job)
	defer done()
	o := job.Program.Tensors[job.Program.Output]
	out := &tensor{c: o.C, h: o.H, w: o.W, v: make([]float32, o.Elems())}
	if err := e.Run(context.Background(), source{in}, sink{out}, nil); err != nil {
		t.Fatal(err)
	}
	if out.rows != out.h {
		t.Errorf("%d of %d rows were delivered", out.rows, out.h)
	}
	if e.Peak() != job.Plan.Peak {
		t.Errorf("measured peak %d, planned %d", e.Peak(), job.Plan.Peak)
	}
	return out
}

func TestPyNETSGolden(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	x := readFloats(t, "../../testdata/golden/pynet_s_96x128.x.f32")
	want := readFloats(t, "../../testdata/golden/pynet_s_96x128.y.f32")
	for _, opt := range []exec.Options{{Poison: true}, {Poison: true, WholePlanes: true}, {Poison: true, Rows: 2}, {Poison: true, Rows: 3}, {Poison: true, Rows: 16}} {
		got := run(t, m, &tensor{c: 4, h: 96, w: 128, v: x}, opt)
		worst := 0.0
		for i, v := range got.v {
			d := math.Abs(float64(v) - float64(want[i]))
			if !(d <= worst) {
				worst = d
			}
		}
		t.Logf("%+v: max abs error %.3g", opt, worst)
		if !(worst <= 1e-4) {
			t.Errorf("%+v: max abs error %g", opt, worst)
		}
	}
}
