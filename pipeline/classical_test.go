package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"enhance/internal/colour"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// scene is a smooth picture of light, 0 to 1, with an edge.
func scene(y, x int, c mosaic.Colour) float64 {
	v := 0.3 + 0.1*math.Sin(float64(x)/9+float64(c)) + 0.1*math.Cos(float64(y)/7)
	if 2*x > 3*y {
		v *= 0.5
	}
	return v
}

var sceneGains = [3]float64{2, 1, 1.25}

// sensorPhoto is a DNG of the scene behind a filter array that has pattern p at the
// corner of the stored image. Of that the active area and the crop are parts.
func sensorPhoto(p mosaic.Pattern, w, h int, active, crop mosaic.Rect) dng.Spec {
	s := dng.Spec{Width: w, Height: h, Bits: 16, Samples: make([]uint16, w*h), ActiveArea: active}
	s.Meta.CFA = p.Shift(active.Y0, active.X0)
	s.Meta.Crop = crop
	s.Meta.SetBlack(1000)
	s.Meta.SetWhite(61000)
	if p != mosaic.Mono {
		s.Meta.AsShot = &[3]float64{1 / sceneGains[0], 1 / sceneGains[1], 1 / sceneGains[2]}
	}
	for i := range s.Samples {
		c := p.At(i/w, i%w)
		light := scene(i/w, i%w, c)
		if p != mosaic.Mono {
			light /= sceneGains[c]
		}
		s.Samples[i] = uint16(1000 + 60000*light + 0.5)
	}
	return s
}

func sensorJob(t testing.TB, s dng.Spec, out *bytes.Buffer) pipeline.Job {
	t.Helper()
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	j := pipeline.Job{Input: "sensor.dng", Reader: bytes.NewReader(b.Bytes()), Size: int64(b.Len()),
		Output: pipeline.Output{Writer: out, Bits: 16}}
	j.Tone = look.ToneLinear
	return j
}

// TestSensorPhases develops the scene from mosaics of every kind in every phase, with an
// active area and a crop that shift it.
func TestSensorPhases(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: pipeline.Classical})
	for name, want := range map[string]float64{"xtrans": 48, "quad-RGGB": 43} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		n := p.Rows() * p.Cols()
		for i := 0; i < n; i++ {
			if testing.Short() && i%5 != 0 {
				continue
			}
			const w, h = 95, 83
			dy, dx := i/p.Cols(), i%p.Cols()
			active := mosaic.Rect{X0: dx, Y0: dy, X1: w - 1, Y1: h - 2}
			crop := mosaic.Rect{X0: 9 - dx, Y0: 8 - dy, X1: 80, Y1: 70}
			var out bytes.Buffer
			im, rep := develop(t, s, sensorJob(t, sensorPhoto(p, w, h, active, crop), &out))
			if rep.Photo.Sensor != p.Kind() || !strings.Contains(strings.Join(rep.Warnings, "\n"), p.Kind()) {
				t.Fatalf("sensor %q, notes %q", rep.Photo.Sensor, rep.Warnings)
			}
			sum := 0.0
			for y := range im.Height {
				for k, v := range im.Row(y) {
					light := scene(y+8, k/3+9, mosaic.Colour(k%3))
					e := colour.SRGBEncode(light) - float64(v)/65535
					sum += e * e
				}
			}
			if db := -10 * math.Log10(sum/float64(3*im.Width*im.Height)); !(db > want) {
				t.Errorf("%s from row %d, column %d: %.1f dB, want %g", name, dy, dx, db, want)
			}
		}
	}
}

// TestMonochrome develops a sensor without filters: a sample is a gray pixel.
func TestMonochrome(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	const w, h = 95, 83
	crop := mosaic.Rect{X0: 3, Y0: 5, X1: 90, Y1: 80}
	spec := sensorPhoto(mosaic.Mono, w, h, mosaic.Rect{X0: 1, Y0: 2, X1: w, Y1: h}, crop)
	var out bytes.Buffer
	im, rep := develop(t, s, sensorJob(t, spec, &out))
	if rep.Photo.Sensor != "monochrome" {
		t.Errorf("sensor %q", rep.Photo.Sensor)
	}
	for y := range im.Height {
		for k, v := range im.Row(y) {
			want := 65535 * colour.SRGBEncode(scene(y+7, k/3+4, mosaic.Green))
			if math.Abs(float64(v)-want) > 8 {
				t.Fatalf("row %d, value %d is %d, want %.1f", y, k, v, want)
			}
		}
	}
	out.Reset()
	j := sensorJob(t, spec, &out)
	j.Tone = look.ToneNatural
	im, _ = develop(t, s, j)
	for y := range im.Height {
		for x := range im.Width {
			if p := im.Row(y)[3*x:][:3]; p[0] != p[1] || p[1] != p[2] {
				t.Fatalf("pixel %d, %d is %v, not gray", y, x, p)
			}
		}
	}
	j = sensorJob(t, spec, &out)
	j.WB = look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{2, 1, 1}}
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("white balance of a monochrome sensor: %v", err)
	}
}

// TestSensorBytes: an X-Trans picture is the same on one core and on several, from all
// of the mosaic held and from little of it, turned or not.
func TestSensorBytes(t *testing.T) {
	const w, h = 130, 700
	spec := sensorPhoto(mosaic.XTrans, w, h, mosaic.Rect{X1: w, Y1: h}, mosaic.Rect{X1: w, Y1: h})
	spec.Meta.Orientation = 6
	make := func(procs int, set pipeline.Settings) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		set.Device, set.Model = pipeline.HostDevice, pipeline.Classical
		var out bytes.Buffer
		im, _ := develop(t, session(t, set), sensorJob(t, spec, &out))
		if im.Width != h || im.Height != w {
			t.Errorf("%dx%d, want it turned", im.Width, im.Height)
		}
		return out.Bytes()
	}
	want := make(1, pipeline.Settings{})
	for name, got := range map[string][]byte{
		"4 cores":      make(4, pipeline.Settings{}),
		"small budget": make(2, pipeline.Settings{Memory: pipeline.Limit(1 << 20)}),
	} {
		if !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// TestSensorRefusals: what is for Bayer's array is refused by name for another.
func TestSensorRefusals(t *testing.T) {
	spec := sensorPhoto(mosaic.XTrans, 40, 40, mosaic.Rect{}, mosaic.Rect{})
	half := 0.5
	for name, c := range map[string]struct {
		set  pipeline.Settings
		edit func(j *pipeline.Job)
		want string
	}{
		"model":    {pipeline.Settings{Model: "fast"}, func(*pipeline.Job) {}, "model fast is for Bayer mosaics, and the photo's sensor is X-Trans: leave --model out"},
		"denoise":  {pipeline.Settings{Model: pipeline.Classical}, func(j *pipeline.Job) { j.Denoise = &half }, "noise stays as it is"},
		"noise":    {pipeline.Settings{Model: pipeline.Classical}, func(j *pipeline.Job) { j.Noise.Mode = look.NoiseEstimate }, "noise stays as it is"},
		"host mem": {pipeline.Settings{Model: pipeline.Classical, HostMemory: pipeline.Limit(1 << 20)}, func(*pipeline.Job) {}, "of rows whose colours are made"},
	} {
		c.set.Device = pipeline.HostDevice
		var out bytes.Buffer
		j := sensorJob(t, spec, &out)
		c.edit(&j)
		_, err := session(t, c.set).Enhance(context.Background(), j)
		class := pipeline.Classify(err)
		if (class != pipeline.ClassOption && class != pipeline.ClassBudget) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	small := sensorPhoto(mosaic.XTrans, 5, 40, mosaic.Rect{}, mosaic.Rect{})
	var out bytes.Buffer
	if _, err := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: pipeline.Classical}).Enhance(context.Background(), sensorJob(t, small, &out)); pipeline.Classify(err) != pipeline.ClassInput {
		t.Errorf("5 columns: %v", err)
	}
}
