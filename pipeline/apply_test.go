package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"enhance/internal/devices"
	"enhance/internal/imgio"
	"enhance/internal/onnxtest"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// network writes a network to a file.
func network(t *testing.T, n *onnxtest.Net) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(path, n.Encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// picture writes a PNG of w×h pixels with colours.
func picture(t *testing.T, w, h int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := imgio.NewPNG(f, imgio.Header{Width: w, Height: h, Bits: 8})
	row := make([]uint16, 3*w)
	for y := 0; y < h && err == nil; y++ {
		for i := range row {
			row[i] = uint16(257 * ((11*y + 5*i + i*y%7*20) % 256))
		}
		err = p.WriteRow(row)
	}
	if err == nil {
		err = p.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// applied is what Apply writes.
func applied(s *pipeline.Session, input string) ([]byte, *facts.ApplyReport, error) {
	var b bytes.Buffer
	var samples pipeline.Samples
	if err := samples.UnmarshalText([]byte("rgb01")); err != nil {
		return nil, nil, err
	}
	r, err := s.Apply(context.Background(), pipeline.ApplyJob{Input: input, Samples: samples, Output: pipeline.Output{Writer: &b, Format: pipeline.PNG, Bits: 16}})
	return b.Bytes(), r, err
}

// sharedNetwork is the path of a network beside the project, if it is there.
func sharedNetwork(name string) string {
	return filepath.Join("..", "..", "shared", "onnx", "networks", name+".onnx")
}

func needsDevice(t *testing.T) {
	t.Helper()
	if c, err := devices.Choose(""); err != nil || c.Device == nil {
		if os.Getenv("ENHANCE_REQUIRE_OPENCL") != "" {
			t.Fatalf("no OpenCL device: %v", err)
		}
		t.Skip("needs an OpenCL device")
	}
}

// TestApplyBudgets: a network of others gives the same bytes at the smallest budget and without a limit, on a device.
func TestApplyBudgets(t *testing.T) {
	in := picture(t, 75, 52)
	needsDevice(t)
	for name, path := range map[string]string{"smoother": network(t, onnxtest.Smoother(3)), "enlarger": network(t, onnxtest.Enlarger(3, 2)), "grey": network(t, onnxtest.Smoother(1)),
		"dncnn25": sharedNetwork("dncnn25"), "nafnet_w8": sharedNetwork("nafnet_w8")} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(path, "..") {
				t.Skip("a network of millions of weights: not in -short")
			}
			if _, err := os.Stat(path); err != nil {
				t.Skipf("NO NETWORK to run: %v", err)
			}
			run := func(mem pipeline.Budget) ([]byte, error) {
				s := session(t, pipeline.Settings{Model: path, Memory: mem})
				b, r, err := applied(s, in)
				if err == nil && !r.Memory.AsPlanned {
					t.Errorf("the peak was %d, not the %d planned", r.Memory.Peak, r.Plan.Peak)
				}
				return b, err
			}
			want, err := run(pipeline.Unlimited())
			if err != nil {
				t.Fatal(err)
			}
			_, err = run(pipeline.Limit(1))
			var small *pipeline.BudgetError
			if !errors.As(err, &small) {
				t.Fatalf("a budget of a byte: %v", err)
			}
			for _, bytesOf := range []int64{small.Minimum, 64 << 20} {
				got, err := run(pipeline.Limit(bytesOf))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes of memory: another picture, or %v", bytesOf, err)
				}
			}
		})
	}
}

// TestApplyRemedies says what a network for pictures can do within less memory: not what another one does to RAW photos.
func TestApplyRemedies(t *testing.T) {
	needsDevice(t)
	s := session(t, pipeline.Settings{Model: network(t, onnxtest.WholeNet("mobilenet", 1, 1)), Memory: pipeline.Limit(1 << 20)})
	_, err := s.ExplainSize(224, 224)
	var small *pipeline.BudgetError
	if !errors.As(err, &small) {
		t.Fatalf("a budget of 1 MiB: %v", err)
	}
	for _, r := range small.Lower {
		if strings.HasPrefix(r.Change, "-m") {
			t.Errorf("remedy %q for a network of pictures", r.Change)
		}
	}
}

func TestApplyRefusals(t *testing.T) {
	in := picture(t, 20, 16)
	for name, test := range map[string]struct {
		net  *onnxtest.Net
		want string
	}{
		"planes":     {onnxtest.Smoother(4), "4 channels"},
		"two inputs": {onnxtest.Difference(3), "2 inputs"},
		"fixed":      {onnxtest.Fixed(3), "16 rows and 16 columns"},
	} {
		s := session(t, pipeline.Settings{Model: network(t, test.net), Device: pipeline.HostDevice})
		if _, _, err := applied(s, in); pipeline.Classify(err) != pipeline.ClassInput || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error of the weights with %q", name, err, test.want)
		}
	}
}

func FuzzSamples(f *testing.F) {
	for _, s := range append(pipeline.SampleNames, "", "rgb", "bgr-1", "rgb01x") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := new(pipeline.Samples).UnmarshalText([]byte(s)); err != nil && pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%q: %v", s, err)
		}
	})
}
