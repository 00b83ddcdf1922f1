package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/internal/imgio"
	"enhance/model"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// anyNetwork is a network for any filter array with weights from a formula.
const anyNetwork = "pynet-m-random:sensors,planes=24"

func quadRGGB(t testing.TB) mosaic.Pattern {
	t.Helper()
	p, err := mosaic.ParsePattern("quad-RGGB")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fullColour is the scene with all colours at each place.
func fullColour(w, h int, crop mosaic.Rect) dng.Spec {
	s := sensorPhoto(mosaic.RGGB, w, h, mosaic.Rect{}, crop)
	s.Linear, s.Samples = true, nil
	for i := range w * h {
		for c := range 3 {
			s.Samples = append(s.Samples, uint16(1000+60000*scene(i/w, i%w, mosaic.Colour(c))/sceneGains[c]+0.5))
		}
	}
	return s
}

// withNoise is a job that says the noise, so that a demosaiced photo gets a network.
func withNoise(t testing.TB, s dng.Spec, out *bytes.Buffer) pipeline.Job {
	t.Helper()
	j := sensorJob(t, s, out)
	j.Noise = look.Noise{Mode: look.NoiseGiven}
	for c := range j.Noise.Levels {
		j.Noise.Levels[c].S, j.Noise.Levels[c].O = 1e-3, 1e-5
	}
	return j
}

// TestAnySensor develops mosaics of every kind and a demosaiced photo with one network, on
// the device within several budgets and on several cores, which must not change a byte, and
// on the host, which must agree.
func TestAnySensor(t *testing.T) {
	needOpenCL(t)
	const w, h = 95, 131
	active := mosaic.Rect{X0: 3, Y0: 1, X1: w, Y1: h}
	crop := mosaic.Rect{X0: 1, Y0: 2, X1: w - 4, Y1: h - 2}
	for name, spec := range map[string]dng.Spec{
		"X-Trans": sensorPhoto(mosaic.XTrans, w, h, active, crop), "quad-Bayer": sensorPhoto(quadRGGB(t), w, h, active, crop),
		"demosaiced": fullColour(w, h, crop), "Bayer": sensorPhoto(mosaic.GRBG, w, h, active, crop),
	} {
		run := func(set pipeline.Settings, procs int) (*imgio.RGB16, []byte) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			set.Model = anyNetwork
			var out bytes.Buffer
			im, rep := develop(t, session(t, set), withNoise(t, spec, &out))
			if rep.WithoutNetwork() || rep.Noise == nil || rep.Noise.Source != "given" || rep.Model.Name != anyNetwork {
				t.Fatalf("%s: %q, noise %+v, model %s", name, rep.Plan.Strategy, rep.Noise, rep.Model.Name)
			}
			return im, out.Bytes()
		}
		whole, bytesOf := run(pipeline.Settings{}, 2)
		for _, set := range []pipeline.Settings{{Memory: pipeline.Limit(900 << 10)}, {PlanOptions: pipeline.PlanOptions{StripRows: 5}}, {PlanOptions: pipeline.PlanOptions{WholePlanes: true}}} {
			if _, got := run(set, 1); !bytes.Equal(got, bytesOf) {
				t.Errorf("%s: other bytes with %v, %+v", name, set.Memory, set.PlanOptions)
			}
		}
		host, _ := run(pipeline.Settings{Device: pipeline.HostDevice}, 2)
		for i, v := range host.Pix {
			if d := math.Abs(float64(v) - float64(whole.Pix[i])); d > 16 {
				t.Fatalf("%s: value %d is %d on the device, %d on the host", name, i, whole.Pix[i], v)
			}
		}
	}
}

// TestAnySensorShifts: a photo that begins elsewhere, behind a filter array that does so too,
// gives the same picture away from the borders. The shifts are multiples of what the
// network's levels halve, and come to different phases of the array.
func TestAnySensorShifts(t *testing.T) {
	s := session(t, pipeline.Settings{Model: anyNetwork, Device: pipeline.HostDevice})
	const w, h, far = 216, 200, 72 // beyond what a sample reaches
	for _, p := range []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(1, 1), mosaic.XTrans.Shift(2, 3), quadRGGB(t).Shift(3, 1)} {
		picture := func(y0, x0 int) *imgio.RGB16 {
			var out bytes.Buffer
			im, _ := develop(t, s, withNoise(t, sensorPhoto(p, w, h, mosaic.Rect{X0: x0, Y0: y0, X1: w, Y1: h}, mosaic.Rect{}), &out))
			return im
		}
		want := picture(0, 0)
		for _, at := range [][2]int{{8, 0}, {0, 8}, {16, 24}, {8, 16}} {
			got := picture(at[0], at[1])
			for y := far; y < got.Height-far; y++ {
				a, b := got.Row(y), want.Row(y+at[0])
				if !slices.Equal(a[3*far:3*(got.Width-far)], b[3*(far+at[1]):3*(got.Width-far+at[1])]) {
					t.Fatalf("%v from row %d, column %d: row %d differs", p, at[0], at[1], y)
				}
			}
		}
	}
}

// trainedFor writes the network as one that was trained for some photos only.
func trainedFor(t testing.TB, patterns string) string {
	t.Helper()
	m, err := model.Load(anyNetwork)
	if err != nil {
		t.Fatal(err)
	}
	m.Meta["train.patterns"] = patterns
	path := filepath.Join(t.TempDir(), "any.safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := model.Write(f, m); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTrainedFor: a network refuses photos of sensors that it was not trained for, and takes
// noise from a demosaiced photo only if that is asked for.
func TestTrainedFor(t *testing.T) {
	s := session(t, pipeline.Settings{Model: trainedFor(t, "xtrans rgb"), Device: pipeline.HostDevice})
	for name, spec := range map[string]dng.Spec{
		"Bayer": sensorPhoto(mosaic.RGGB, 40, 40, mosaic.Rect{}, mosaic.Rect{}), "quad-Bayer": sensorPhoto(quadRGGB(t), 40, 40, mosaic.Rect{}, mosaic.Rect{}),
		"monochrome": sensorPhoto(mosaic.Mono, 40, 40, mosaic.Rect{}, mosaic.Rect{}),
	} {
		var out bytes.Buffer
		_, err := s.Enhance(context.Background(), sensorJob(t, spec, &out))
		if want := "is for X-Trans mosaics and demosaiced photos, and the photo's sensor is " + name; pipeline.Classify(err) != pipeline.ClassOption || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	half, none := 0.5, 0.0
	for name, c := range map[string]struct {
		edit    func(j *pipeline.Job)
		network bool
		source  string
	}{
		"as it is":  {func(*pipeline.Job) {}, false, ""},
		"none":      {func(j *pipeline.Job) { j.Denoise = &none }, false, ""},
		"none of 2": {func(j *pipeline.Job) { j.Denoise = &none; j.Noise.Mode = look.NoiseEstimate }, false, ""},
		"half":      {func(j *pipeline.Job) { j.Denoise = &half }, true, "estimated"},
		"estimate":  {func(j *pipeline.Job) { j.Noise.Mode = look.NoiseEstimate }, true, "estimated"},
	} {
		var out bytes.Buffer
		j := sensorJob(t, fullColour(300, 290, mosaic.Rect{}), &out)
		c.edit(&j)
		_, rep := develop(t, s, j)
		if rep.WithoutNetwork() == c.network || c.network && rep.Noise.Source != c.source {
			t.Errorf("%s: %q, noise %+v, notes %q", name, rep.Plan.Strategy, rep.Noise, rep.Warnings)
		}
	}
}

// TestAnySensorPlans: what a photo of another sensor would take is planned as others are, and
// its profile of the device's memory holds.
func TestAnySensorPlans(t *testing.T) {
	needOpenCL(t)
	s := session(t, pipeline.Settings{Model: anyNetwork})
	spec := sensorPhoto(mosaic.XTrans, 95, 131, mosaic.Rect{}, mosaic.Rect{})
	var out bytes.Buffer
	x, err := s.ExplainPhoto(sensorJob(t, spec, &out))
	if err != nil || x.Plan.Packed != [2]int{68, 48} {
		t.Errorf("%v: %+v", err, x)
	}
	table, err := s.PlanTable(context.Background(), sensorJob(t, spec, &out), false)
	if err != nil || len(table.Rows) == 0 || table.Packed != x.Plan.Packed {
		t.Errorf("%v: %+v", err, table)
	}
	j := sensorJob(t, spec, &out)
	j.DryRun, j.Output = true, pipeline.Output{}
	rep, err := s.Enhance(context.Background(), j)
	if err != nil || rep.Plan.Packed != x.Plan.Packed || rep.Noise == nil {
		t.Errorf("dry run: %v, %+v", err, rep)
	}
	if _, err := session(t, pipeline.Settings{Model: pipeline.Classical}).ExplainPhoto(sensorJob(t, spec, &out)); pipeline.Classify(err) != pipeline.ClassInput {
		t.Errorf("a photo without a network is explained: %v", err)
	}
}

// TestMixedBatch: photos of several sensors in one batch have the pictures that each has by
// itself, each from the network that is built in for it, within one budget.
func TestMixedBatch(t *testing.T) {
	needOpenCL(t)
	half, most := 0.5, 0.75
	const w, h = 96, 70
	mono := sensorPhoto(mosaic.Mono, w, h, mosaic.Rect{}, mosaic.Rect{})
	photos := []struct {
		spec    dng.Spec
		denoise *float64
		model   string
	}{
		{sensorPhoto(mosaic.GBRG, w, h, mosaic.Rect{}, mosaic.Rect{}), &half, model.Default},
		{sensorPhoto(mosaic.RGGB, w, h, mosaic.Rect{}, mosaic.Rect{}), nil, model.Default}, {sensorPhoto(mosaic.XTrans, w, h, mosaic.Rect{}, mosaic.Rect{}), nil, model.ForAnySensor},
		{sensorPhoto(quadRGGB(t), w, h, mosaic.Rect{}, mosaic.Rect{}), &half, model.ForAnySensor}, {mono, nil, ""},
		{sensorPhoto(mosaic.BGGR, w, h, mosaic.Rect{}, mosaic.Rect{}), nil, model.Default}, {fullColour(w, h, mosaic.Rect{}), &half, model.ForAnySensor},
		{fullColour(w, h, mosaic.Rect{}), nil, ""}, {sensorPhoto(mosaic.RGGB, w, h, mosaic.Rect{}, mosaic.Rect{}), &most, model.Default},
	}
	set := pipeline.Settings{Memory: pipeline.Limit(24 << 20)}
	set.Began = time.Now()
	outs := make([]bytes.Buffer, len(photos))
	job := func(i int, out *bytes.Buffer) pipeline.Job {
		j := sensorJob(t, photos[i].spec, out)
		j.Denoise = photos[i].denoise
		return j
	}
	b, err := pipeline.NewBatch(set)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.Run(context.Background(), len(photos), func(i int) (pipeline.Job, bool) { return job(i, &outs[i]), true },
		func(i int, rep *pipeline.Report, err error) {
			switch want := photos[i].model; {
			case err != nil:
				t.Errorf("photo %d: %v", i, err)
			case rep.WithoutNetwork() != (want == "") || want != "" && rep.Model.Name != want:
				t.Errorf("photo %d: %q by %s, want %q", i, rep.Plan.Strategy, rep.Model.Name, want)
			case rep.Memory.Measured && (!rep.Memory.AsPlanned || rep.Memory.Peak > 24<<20):
				t.Errorf("photo %d: %+v", i, rep.Memory)
			case (rep.Seconds.Start > 0) != (i == 0):
				t.Errorf("photo %d began %g s after the program", i, rep.Seconds.Start)
			}
		})
	for i := range photos {
		var out bytes.Buffer
		if _, err := session(t, set).Enhance(context.Background(), job(i, &out)); err != nil || !bytes.Equal(out.Bytes(), outs[i].Bytes()) {
			t.Errorf("photo %d: other bytes by itself (%v)", i, err)
		}
	}
}
