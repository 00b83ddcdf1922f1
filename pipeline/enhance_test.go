package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"enhance/memplan"
	"enhance/model"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// TestChart develops the sample with every built-in model for its sensor and looks at it as the
// eye would: the greys are neutral, and there is no grid.
func TestChart(t *testing.T) {
	needOpenCL(t)
	for _, b := range model.Builtins() {
		if b.Name != model.ForAnySensor && (!testing.Short() || b.Name == "fast") {
			t.Run(b.Name, func(t *testing.T) { testChart(t, b.Name) })
		}
	}
}

func testChart(t *testing.T, name string) {
	var out bytes.Buffer
	j := pipeline.Job{Input: "../testdata/raw/colorchart.dng", Look: pipeline.Look{Tone: look.ToneLinear, WB: look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{1.47, 1, 2.26}}, Exposure: look.Exposure{EV: 2}}, Output: pipeline.Output{Writer: &out, Bits: 16}}
	im, rep := develop(t, session(t, pipeline.Settings{Model: name, Memory: pipeline.Limit(256 << 20)}), j)
	if im.Width != 1734 || im.Height != 1156 {
		t.Fatalf("picture of %dx%d", im.Width, im.Height)
	}
	if rep.Photo.Model != "Canon EOS Kiss X4" && rep.Photo.Make == "" {
		t.Errorf("camera %q %q", rep.Photo.Make, rep.Photo.Model)
	}
	// The bottom row of the chart, from white on.
	for i, x := range []int{702, 813, 924} {
		var mean [3]float64
		const y, half = 930, 24
		for yy := y - half; yy < y+half; yy++ {
			for k, v := range im.Row(yy)[3*(x-half):][:3*2*half] {
				mean[k%3] += float64(v) / (4 * half * half)
			}
		}
		least, most := min(mean[0], mean[1], mean[2]), max(mean[0], mean[1], mean[2])
		t.Logf("grey %d: %.0f, spread %.2f %%", i, mean, 100*(most-least)/mean[1])
		if most-least > 0.04*mean[1] { // with these gains the shot itself has up to 2 % in light
			t.Errorf("grey %d is not neutral: %.0f", i, mean)
		}
		if mean[1] < 0.25*65535 || mean[1] > 0.9*65535 {
			t.Errorf("grey %d is no light grey: %.0f", i, mean)
		}
		// A grid shows as a difference between the four places of the quads (the
		// mosaic's step) or between rows and columns modulo 16 (the poolings').
		if g := grid(im.Pix, im.Width, x-half, y-half, 2*half, 2); g > 0.01 {
			t.Errorf("grey %d: a 2x2 grid of %.2f %%", i, 100*g)
		}
	}
}

// grid is the largest relative difference of the mean green over one place of
// step×step cells to the mean of all, over n×n pixels.
func grid(pix []uint16, width, x0, y0, n, step int) float64 {
	sums := make([]float64, step*step)
	all := 0.0
	for y := range n {
		for x := range n {
			v := float64(pix[3*((y0+y)*width+x0+x)+1])
			sums[y%step*step+x%step] += v
			all += v
		}
	}
	worst := 0.0
	for _, s := range sums {
		worst = max(worst, math.Abs(s*float64(step*step)/all-1))
	}
	return worst
}

// TestSameBytes runs one photo under several budgets and strip heights, with all stages
// that a picture can have.
func TestSameBytes(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(300, 200, 201, 143)
	for i := 40 * c.w; i < 70*c.w; i++ {
		c.samples[i] = 3 * min(c.samples[i], 5461) // clipped parts
	}
	tiny := c.job(0, 0, new(bytes.Buffer))
	tiny.Tone = look.ToneNatural
	_, err := session(t, pipeline.Settings{Memory: pipeline.Limit(1)}).Enhance(context.Background(), tiny)
	var least *memplan.BudgetError
	if !errors.As(err, &least) || pipeline.Classify(err) != pipeline.ClassBudget {
		t.Fatalf("a budget of 1 byte: %v", err)
	}
	var want []byte
	for _, set := range []pipeline.Settings{
		{Memory: pipeline.Unlimited()}, {Memory: pipeline.Limit(least.Minimum)}, {Memory: pipeline.Limit(64 << 20)}, {Memory: pipeline.Limit(256 << 20)}, {},
		{PlanOptions: pipeline.PlanOptions{StripRows: 2}}, {PlanOptions: pipeline.PlanOptions{StripRows: 6}}, {PlanOptions: pipeline.PlanOptions{StripRows: 32}}, {PlanOptions: pipeline.PlanOptions{WholePlanes: true}},
	} {
		var out bytes.Buffer
		j := c.job(0, 0, &out)
		j.Tone = look.ToneNatural
		_, rep := develop(t, session(t, set), j)
		if rep.Memory.Peak > set.Memory.Bytes() {
			t.Errorf("%+v: peak %d", set, rep.Memory.Peak)
		}
		if want == nil {
			want = out.Bytes()
		} else if !bytes.Equal(want, out.Bytes()) {
			t.Errorf("%+v: other bytes than without limit", set)
		}
	}
	below := pipeline.Settings{Memory: pipeline.Limit(least.Minimum - 1)}
	if _, err := session(t, below).Enhance(context.Background(), tiny); pipeline.Classify(err) != pipeline.ClassBudget {
		t.Errorf("a byte below the minimum: %v", err)
	}
}

// TestHostAgrees holds the OpenCL result against the host executor's.
func TestHostAgrees(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(100, 60, 95, 61) // odd sides
	var a, b bytes.Buffer
	device, _ := develop(t, session(t, pipeline.Settings{}), c.job(0, 0, &a))
	host, rep := develop(t, session(t, pipeline.Settings{Device: pipeline.HostDevice}), c.job(0, 0, &b))
	if rep.Memory.Measured || rep.Device.Index != -1 {
		t.Errorf("the host executor reports %+v, %+v", rep.Memory, rep.Device)
	}
	db := psnr(device, host, 0, 0, 0, 0, 95, 61)
	t.Logf("%.1f dB", db)
	if !(db >= 90) {
		t.Errorf("device and host agree to %.1f dB", db)
	}
}

// TestTiny develops photos of hardly any pixels: black, white and between.
func TestTiny(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	for i, size := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 7}, {3, 3}, {17, 5}} {
		for k, v := range []uint16{0, 600, 8000, 15520, 65535} {
			p := (i + k) % 4
			var out bytes.Buffer
			im, _ := develop(t, s, filled(size[0], size[1], v).job(p/2, p%2, &out))
			if im.Width != size[0] || im.Height != size[1] {
				t.Errorf("%dx%d for %v", im.Width, im.Height, size)
			}
			if c := im.Pix[1]; v <= 600 && c > 6000 || v >= 15520 && c < 60000 {
				t.Errorf("size %v, samples of %d: green %d", size, v, c)
			}
		}
	}
}

// TestHighlights: what saturates the sensor comes out white, whatever the gains
// and the exposure, not in the colour of the gains.
func TestHighlights(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(200, 200, 64, 64)
	for y := 16; y < 48; y++ {
		for x := 16; x < 48; x++ {
			c.samples[y*c.w+x] = 16383 // above white
		}
	}
	for i, ev := range []float64{0, 1, 2, -2, 0, 1} {
		var out bytes.Buffer
		j := c.job(0, 0, &out)
		j.Exposure.EV = ev
		if i > 2 {
			j.Tone, j.Exposure.Given = look.ToneNatural, true
		}
		im, _ := develop(t, s, j)
		for y := 24; y < 40; y++ {
			for x, px := 24, im.Row(y)[3*24:]; x < 40; x, px = x+1, px[3:] {
				least, most := min(px[0], px[1], px[2]), max(px[0], px[1], px[2])
				if ev > 0 && least < 65500 || least < 62000 || most-least > 2000 {
					t.Fatalf("%+g EV: pixel (%d,%d) is %v", ev, x, y, px[:3])
				}
			}
		}
	}
}

// TestAutomatic estimates white balance and exposure, and says when it had to.
func TestAutomatic(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	c := nikon(t).crop(256, 128, 128, 96)
	var out bytes.Buffer
	j := c.job(0, 0, &out)
	j.WB = look.WhiteBalance{Mode: look.WBAuto}
	j.Exposure.Auto = true
	_, rep := develop(t, s, j)
	g := rep.Colour.Gains
	if min(g[0], g[1], g[2]) != 1 || max(g[0], g[1], g[2]) > 8 || !rep.Colour.AutoExposure || rep.Colour.EV < 0 || rep.Colour.EV > 3 {
		t.Errorf("estimated %+v", rep.Colour)
	}
	j = c.job(0, 0, new(bytes.Buffer))
	j.WB = look.WhiteBalance{Mode: look.WBAsShot}
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("as-shot white balance of a file without one: %v", err)
	}
	j = c.job(0, 0, new(bytes.Buffer))
	j.WB = look.WhiteBalance{}
	if _, rep := develop(t, s, j); rep.Colour.WhiteBalance != "auto" || len(rep.Warnings) == 0 {
		t.Errorf("the fallback to auto is not told: %+v", rep.Warnings)
	}
}

// TestNoLeak makes 50 pictures in one process, of two sizes in turn, and looks for
// what was left behind.
func TestNoLeak(t *testing.T) {
	needOpenCL(t)
	a, b := nikon(t).crop(64, 64, 40, 32), nikon(t).crop(64, 64, 24, 70)
	round := func(n int) {
		s, err := pipeline.NewSession(pipeline.Settings{Memory: pipeline.Limit(64 << 20)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		for i := range n {
			c := a
			if i/5%2 == 1 {
				c = b
			}
			_, rep := develop(t, s, c.job(0, 0, new(bytes.Buffer)))
			if live := s.Context().Live(); live != rep.Plan.Peak {
				t.Fatalf("picture %d: %d bytes live, the engine has %d", i, live, rep.Plan.Peak)
			}
			if kept := i%5 != 0; kept != (rep.Seconds.Prepare < 1e-4) {
				t.Logf("picture %d: prepared in %.4f s", i, rep.Seconds.Prepare)
			}
		}
	}
	round(2) // whatever the driver starts, it starts now
	before := runtime.NumGoroutine()
	round(40)
	for range 5 {
		round(2)
	}
	for wait := time.Millisecond; runtime.NumGoroutine() > before && wait < time.Second; wait *= 2 {
		time.Sleep(wait)
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

// TestCancel: a cancelled run says so and leaves the session usable.
func TestCancel(t *testing.T) {
	needOpenCL(t)
	s := session(t, pipeline.Settings{Memory: pipeline.Limit(64 << 20), PlanOptions: pipeline.PlanOptions{StripRows: 4}})
	c := nikon(t).crop(0, 0, 256, 256)
	ctx, cancel := context.WithCancel(context.Background())
	j := c.job(0, 0, new(bytes.Buffer))
	j.Progress = func(done, total int64) { cancel() }
	if _, err := s.Enhance(ctx, j); pipeline.Classify(err) != pipeline.ClassInterrupted {
		t.Errorf("cancelled: %v", err)
	}
	develop(t, s, c.job(0, 0, new(bytes.Buffer)))
}

func BenchmarkEnhance(b *testing.B) {
	needOpenCL(b)
	s := session(b, pipeline.Settings{})
	c := nikon(b)
	b.ReportAllocs()
	for b.Loop() {
		develop(b, s, c.job(0, 0, new(bytes.Buffer)))
	}
	b.ReportMetric(float64(c.w*c.h)*float64(b.N)/b.Elapsed().Seconds()/1e6, "MP/s")
}
