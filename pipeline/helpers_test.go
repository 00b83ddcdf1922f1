package pipeline_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"enhance/clrt"
	"enhance/internal/imgio"
	"enhance/internal/profile"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw"
)

// needOpenCL skips the test where there is no device, or fails it where one is
// required.
func needOpenCL(t testing.TB) {
	t.Helper()
	if _, err := clrt.Devices(); err != nil {
		if os.Getenv("ENHANCE_REQUIRE_OPENCL") == "1" {
			t.Fatalf("ENHANCE_REQUIRE_OPENCL is set: %v", err)
		}
		t.Skipf("needs an OpenCL device: %v", err)
	}
}

// capture is a mosaic without a file.
type capture struct {
	w, h    int
	samples []uint16
}

// nikon reads the true RGGB capture of testdata: 14 bits, black 600, white 15520.
func nikon(t testing.TB) capture {
	t.Helper()
	b, err := os.ReadFile("../testdata/raw/DSC_1339_768x512_rggb.raw")
	if err != nil {
		t.Fatal(err)
	}
	c := capture{w: 768, h: 512, samples: make([]uint16, len(b)/2)}
	for i := range c.samples {
		c.samples[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return c
}

func (c capture) crop(x0, y0, w, h int) capture {
	out := capture{w: w, h: h}
	for y := y0; y < y0+h; y++ {
		out.samples = append(out.samples, c.samples[y*c.w+x0:][:w]...)
	}
	return out
}

// filled is a capture of one value.
func filled(w, h int, v uint16) capture {
	c := capture{w: w, h: h, samples: make([]uint16, w*h)}
	for i := range c.samples {
		c.samples[i] = v
	}
	return c
}

// job is the order to develop the capture to a 16-bit PNG, its phase given by the
// place (y, x) of its first sample in an RGGB mosaic.
func (c capture) job(y, x int, out *bytes.Buffer) pipeline.Job {
	var b []byte
	for _, v := range c.samples {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	rggb, _ := raw.ParsePattern("RGGB")
	cfa := rggb.Shift(y, x)
	black, white := 600.0, 15520.0
	return pipeline.Job{Input: "capture", Reader: bytes.NewReader(b), Size: int64(len(b)), Raw: raw.Options{Width: c.w, Height: c.h, CFA: &cfa, Black: &black, White: &white}, Look: pipeline.Look{Tone: look.ToneLinear, WB: look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{1.94921875, 1, 1.34375}}}, Output: pipeline.Output{Writer: out, Bits: 16}}
}

// session opens a session that ends with the test.
func session(t testing.TB, set pipeline.Settings) *pipeline.Session {
	t.Helper()
	s, err := pipeline.NewSession(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// develop makes a picture and checks what must hold of every run.
func develop(t testing.TB, s *pipeline.Session, j pipeline.Job) (*imgio.RGB16, *pipeline.Report) {
	t.Helper()
	rep, err := s.Enhance(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	if m := rep.Memory; m.Measured && (!m.AsPlanned || m.Peak != rep.Plan.Peak) {
		t.Errorf("measured peak %d, planned %d", m.Peak, rep.Plan.Peak)
	}
	out := j.Output.Writer.(*bytes.Buffer).Bytes()
	im, err := imgio.DecodeRGB16(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatal(err)
	}
	if im.Width != rep.Output.Width || im.Height != rep.Output.Height {
		t.Errorf("picture of %dx%d, reported as %dx%d", im.Width, im.Height, rep.Output.Width, rep.Output.Height)
	}
	return im, rep
}

// profileFile is a file with a device profile.
func profileFile(t testing.TB, p *profile.Profile) string {
	t.Helper()
	file := *p
	file.MaxAlloc = min(file.MaxAlloc, file.GlobalMem)
	b, err := json.Marshal(&file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), p.Name+".json")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// plansOnly skips a test in short: of the code that only plans, tests that run the plans show what
// the race detector can see.
func plansOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED in short: plans that are not run")
	}
}
