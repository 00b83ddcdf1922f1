package exec_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
)

// mosaicSource is a mosaic of stored samples and what tables make of it: an
// exec.SampleSource, whose Row gives the same planes.
type mosaicSource struct {
	*tensor // for the order of calls
	pack    [4][2]int
	stored  []uint16 // 2h rows of 2w
	tables  [][]float32
}

func randomMosaic(c *model.Convention, h, w int) mosaicSource {
	rng := rand.New(rand.NewPCG(5, 19))
	s := mosaicSource{tensor: &tensor{h: h, w: w}, pack: c.Pack, stored: make([]uint16, 4*h*w), tables: make([][]float32, 4+c.NoisePlanes)}
	for i := range s.stored {
		s.stored[i] = uint16(rng.Uint32())
	}
	s.stored[0], s.stored[1] = 0, 65535
	for k := range s.tables {
		s.tables[k] = convtest.Randoms(rng, 1<<16)
	}
	return s
}

type mosaicRows struct {
	sourceRows
	mosaicSource
}

func (s mosaicSource) Rows(y0, y1 int) (exec.Rows, error) {
	return mosaicRows{sourceRows{s.tensor, y0, y1}, s}, s.begin(y0, y1)
}

func (s mosaicSource) Tables() ([][]float32, error) { return s.tables, nil }

func (r mosaicRows) End() error { return r.sourceRows.End() }

func (r mosaicRows) Row(y int, planes [][]float32) {
	for k, line := range planes {
		at := r.pack[k%4]
		for x := range line {
			line[x] = r.tables[k][r.stored[(2*y+at[0])*2*r.mosaicSource.w+2*x+at[1]]]
		}
	}
}

func (r mosaicRows) Samples(y int, lines [2][]uint16) {
	for k, line := range lines {
		copy(line, r.stored[(2*y+k)*2*r.mosaicSource.w:])
	}
}

// runMosaic runs a network twice over a mosaic and checks the peak.
func runMosaic(t *testing.T, m *model.Model, s mosaicSource, opt exec.Options) []float32 {
	t.Helper()
	job, err := exec.Prepare(m, s.h, s.w, convtest.Device(t).Info(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if job.TakesSamples() != opt.Samples {
		t.Fatalf("the job takes samples: %v", job.TakesSamples())
	}
	e, done := open(t, job)
	defer done()
	o := job.Program.Tensors[job.Program.Output]
	var out [2]*tensor
	for i := range out { // the second finds what the first left
		out[i] = &tensor{c: o.C, h: o.H, w: o.W, v: make([]float32, o.Elems())}
		s.tensor.begun, s.tensor.rows = 0, 0
		if err := e.Run(context.Background(), s, sink{out[i]}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(out[0].v, out[1].v) {
		t.Error("two runs of one engine differ")
	}
	if e.Peak() != job.Plan.Peak {
		t.Errorf("measured peak %d, planned %d", e.Peak(), job.Plan.Peak)
	}
	return out[0].v
}

// TestSamples: planes that the device makes of stored samples give the bytes of planes
// from the host, within budgets from the smallest up.
func TestSamples(t *testing.T) {
	for _, name := range []string{"fast", "pynet-s"} {
		m, err := model.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		h, w := m.Convention.PaddedSides(21, 27)
		s := randomMosaic(&m.Convention, h, w)
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			want := runMosaic(t, m, s, exec.Options{Precision: p, Poison: true})
			for _, opt := range []exec.Options{{}, {WholePlanes: true}, {Discrete: true}} {
				opt.Precision, opt.Poison, opt.Samples = p, true, true
				least := minimum(t, m, h, w, opt)
				for _, b := range []memplan.Budget{memplan.Limit(least), memplan.Limit(least + least/4), memplan.Unlimited()} {
					opt.Budget = b
					if got := runMosaic(t, m, s, opt); !slices.Equal(got, want) {
						t.Errorf("%s, %s, discrete %v, whole planes %v, budget %v: not the bytes that planes from the host give", name, p, opt.Discrete, opt.WholePlanes, b)
					}
				}
			}
		}
	}
}

// TestSamplesRefused: a network whose norms need the input again has its planes from the host,
// and a source of planes cannot serve an engine for samples.
func TestSamplesRefused(t *testing.T) {
	info := convtest.Device(t).Info()
	norms, err := model.Load("pynet-random:samples,width=4")
	if err != nil {
		t.Fatal(err)
	}
	job, err := exec.Prepare(norms, 32, 32, info, exec.Options{Samples: true})
	if err != nil {
		t.Fatal(err)
	}
	if job.TakesSamples() {
		t.Error("a network with norms takes samples")
	}
	m, err := model.Load("fast")
	if err != nil {
		t.Fatal(err)
	}
	if job, err = exec.Prepare(m, 32, 32, info, exec.Options{Samples: true}); err != nil {
		t.Fatal(err)
	}
	e := openJob(t, job)
	planes := &tensor{c: 8, h: 32, w: 32, v: make([]float32, 8*32*32)}
	if err := e.Run(context.Background(), source{planes}, sink{planes}, nil); err == nil || !strings.Contains(err.Error(), "stored samples") {
		t.Errorf("planes for an engine that takes samples: %v", err)
	}
	s := randomMosaic(&m.Convention, 32, 32)
	s.tables = s.tables[1:]
	if err := e.Run(context.Background(), s, sink{planes}, nil); err == nil || !strings.Contains(err.Error(), "tables") {
		t.Errorf("a table too few: %v", err)
	}
}
