package pipeline_test

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"enhance/internal/devices"
	"enhance/internal/tensorfile"
	"enhance/model"
	"enhance/pipeline"
)

// sessions runs a test on the host executor and on the best OpenCL device.
func sessions(t *testing.T, set pipeline.Settings, do func(t *testing.T, s *pipeline.Session)) {
	for _, device := range []string{pipeline.HostDevice, ""} {
		name := device
		if device == "" {
			name = "opencl"
		}
		t.Run(name, func(t *testing.T) {
			if c, err := devices.Choose(device); err != nil || device == "" && c.Device == nil {
				if os.Getenv("ENHANCE_REQUIRE_OPENCL") != "" {
					t.Fatalf("no OpenCL device: %v", err)
				}
				t.Skip("needs an OpenCL device")
			}
			set.Device = device
			s, err := pipeline.NewSession(set)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			do(t, s)
		})
	}
}

func goldenTensor(t *testing.T) (in *pipeline.Tensor, want []float32) {
	t.Helper()
	shape, data, err := tensorfile.Open("../testdata/golden/pynet_s_96x128.x.f32", 4, model.Shape{C: 4, H: 96, W: 128})
	if err != nil {
		t.Fatal(err)
	}
	in = &pipeline.Tensor{Shape: shape, Data: data}
	want, err = tensorfile.Read("../testdata/golden/pynet_s_96x128.y.f32", 3*192*256)
	if err != nil {
		t.Fatal(err)
	}
	return in, want
}

func TestRunTensorGolden(t *testing.T) {
	in, want := goldenTensor(t)
	sessions(t, pipeline.Settings{Model: "pynet-s"}, func(t *testing.T, s *pipeline.Session) {
		out, rep, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: *in})
		if err != nil {
			t.Fatal(err)
		}
		worst, psnr, err := tensorfile.Compare(out.Data, want)
		if err != nil || !(worst <= 1e-4) || !(psnr > 80) {
			t.Errorf("max abs error %g, PSNR %.1f dB, %v", worst, psnr, err)
		}
		if rep.Output != [3]int{3, 192, 256} || rep.Values.NonFinite != 0 || rep.Plan.FLOPs == 0 {
			t.Errorf("report %+v", rep)
		}
		if rep.Memory.Measured != (rep.Device.Index >= 0) || rep.Memory.Measured && !rep.Memory.AsPlanned {
			t.Errorf("memory %+v", rep.Memory)
		}
	})
}

// TestRunTensorPadsAndCrops: a plane whose sides the poolings cannot divide gives
// what the plane padded by hand gives, cropped.
func TestRunTensorPadsAndCrops(t *testing.T) {
	const h, w, ph, pw = 21, 30, 24, 32
	small := pipeline.Tensor{Shape: model.Shape{C: 4, H: h, W: w}, Data: model.FormulaTensor("pad", "input", 4*h*w)}
	big := pipeline.Tensor{Shape: model.Shape{C: 4, H: ph, W: pw}, Data: make([]float32, 4*ph*pw)}
	mirror := func(i, n int) int { return min(i, 2*n-2-i) }
	for c := range 4 {
		for y := range ph {
			for x := range pw {
				big.Data[(c*ph+y)*pw+x] = small.Data[(c*h+mirror(y, h))*w+mirror(x, w)]
			}
		}
	}
	sessions(t, pipeline.Settings{Model: "pynet-s"}, func(t *testing.T, s *pipeline.Session) {
		for _, node := range []string{"", "pool1", "conv_l1_d5"} {
			got, _, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: small, Node: node})
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: big, Node: node})
			if err != nil {
				t.Fatal(err)
			}
			if got.H != (h*want.H+ph-1)/ph || got.W != (w*want.W+pw-1)/pw || got.C != want.C {
				t.Fatalf("%q: cropped to %v", node, got.Shape)
			}
			for i, v := range got.Data {
				x, y, c := i%got.W, i/got.W%got.H, i/got.W/got.H
				if v != want.Data[(c*want.H+y)*want.W+x] {
					t.Fatalf("%q: sample (%d,%d,%d) is %g, want %g", node, c, y, x, v, want.Data[(c*want.H+y)*want.W+x])
				}
			}
		}
	})
}

// TestRunTensorDumpsEqualTheHosts walks nodes of every kind.
func TestRunTensorDumpsEqualTheHosts(t *testing.T) {
	in := pipeline.Tensor{Shape: model.Shape{C: 4, H: 32, W: 32}, Data: model.FormulaTensor("d", "input", 4*32*32)}
	set := pipeline.Settings{Model: "pynet-random:d,width=4,level=3"}
	values := map[string][]float32{}
	nodes := []string{"input", "conv_l2_d1.conv_3a.instance", "conv_l3_d3.cat", "conv_l3_d4+", "conv_l3_d4.conv_5b"}
	sessions(t, set, func(t *testing.T, s *pipeline.Session) {
		for _, node := range nodes {
			out, rep, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: in, Node: node})
			if err != nil {
				t.Errorf("%s: %v", node, err)
				continue
			}
			if rep.Node != node {
				t.Errorf("%s is reported as %s", node, rep.Node)
			}
			if rep.Device.Index < 0 {
				values[node] = out.Data
				continue
			}
			worst, _, err := tensorfile.Compare(out.Data, values[node])
			if limit := 1e-3 * rep.Values.Std; err != nil || !(worst <= limit) {
				t.Errorf("%s: differs from the host's by %g (limit %g), %v", node, worst, limit, err)
			}
		}
	})
}

func TestRunTensorStripsChangeNothing(t *testing.T) {
	in, _ := goldenTensor(t)
	var first []float32
	for _, set := range []pipeline.Settings{{Model: "pynet-s", PlanOptions: pipeline.PlanOptions{WholePlanes: true}}, {Model: "pynet-s", PlanOptions: pipeline.PlanOptions{StripRows: 6}}} {
		set.Algo = "direct-rows"
		s, err := pipeline.NewSession(set)
		if err != nil {
			t.Skipf("needs an OpenCL device: %v", err)
		}
		defer s.Close()
		out, rep, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: *in})
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Algos) != 1 || rep.Algos[0].Algo != "direct-rows" {
			t.Errorf("algorithms %+v, want direct-rows alone", rep.Algos)
		}
		if first == nil {
			first = out.Data
		} else if !slices.Equal(first, out.Data) {
			t.Error("strips changed the result")
		}
	}
}

func TestRunTensorRefuses(t *testing.T) {
	s, err := pipeline.NewSession(pipeline.Settings{Model: "pynet-s", Device: pipeline.HostDevice, Memory: pipeline.Limit(1000)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shape := model.Shape{C: 4, H: 16, W: 16}
	good := pipeline.Tensor{Shape: shape, Data: make([]float32, shape.Elems())}
	for name, c := range map[string]struct {
		job   pipeline.TensorJob
		class pipeline.Class
		want  string
	}{
		"channels": {pipeline.TensorJob{Input: pipeline.Tensor{Shape: model.Shape{C: 3, H: 16, W: 16}, Data: make([]float32, 768)}}, pipeline.ClassOption, "wants 4,H,W"},
		"samples":  {pipeline.TensorJob{Input: pipeline.Tensor{Shape: shape, Data: make([]float32, 5)}}, pipeline.ClassOption, "5 samples"},
		"empty":    {pipeline.TensorJob{}, pipeline.ClassOption, "0,0,0"},
		"node":     {pipeline.TensorJob{Input: good, Node: "l1_d9"}, pipeline.ClassOption, "l1_d9"},
		"budget":   {pipeline.TensorJob{Input: good}, pipeline.ClassBudget, "1000"},
	} {
		_, _, err := s.RunTensor(context.Background(), c.job)
		if pipeline.Classify(err) != c.class || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestRunTensorRefusesNonFinite(t *testing.T) {
	shape := model.Shape{C: 4, H: 16, W: 16}
	in := pipeline.Tensor{Shape: shape, Data: make([]float32, shape.Elems())}
	in.Data[5] = float32(math.NaN())
	sessions(t, pipeline.Settings{Model: "pynet-s"}, func(t *testing.T, s *pipeline.Session) {
		_, _, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: in})
		if pipeline.Classify(err) != pipeline.ClassResult {
			t.Errorf("error %v, want a result that is not finite", err)
		}
		out, rep, err := s.RunTensor(context.Background(), pipeline.TensorJob{Input: in, AllowNonFinite: true})
		if err != nil || rep.Values.NonFinite == 0 || len(out.Data) != 3*32*32 {
			t.Errorf("asked to allow it: %v", err)
		}
	})
}

func TestAlgoSettingsRefuse(t *testing.T) {
	for _, c := range []struct{ device, algo, want string }{
		{pipeline.HostDevice, "direct-rows", "host executor"},
		{"", "fft", "known are auto"},
	} {
		s, err := pipeline.NewSession(pipeline.Settings{Model: "pynet-s", Device: c.device, PlanOptions: pipeline.PlanOptions{Algo: c.algo}})
		if err == nil {
			s.Close()
		}
		if pipeline.Classify(err) != pipeline.ClassOption || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--algo %s on %q: error %v, want %q", c.algo, c.device, err, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	sessions(t, pipeline.Settings{Model: "pynet-s"}, func(t *testing.T, s *pipeline.Session) {
		x, err := s.ExplainSize(61, 64)
		if strings.HasSuffix(t.Name(), pipeline.HostDevice) {
			if pipeline.Classify(err) != pipeline.ClassOption {
				t.Errorf("host executor: error %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		y, err := s.ExplainPhoto(pipeline.Job{Input: "../testdata/raw/colorchart.dng"})
		if err != nil {
			t.Fatal(err)
		}
		if x.Plan.Packed != [2]int{32, 32} || len(x.Steps) != len(y.Steps) || y.Plan.FLOPs <= x.Plan.FLOPs || len(y.Algos) == 0 {
			t.Errorf("%d steps for %v, %d for %v", len(x.Steps), x.Plan.Packed, len(y.Steps), y.Plan.Packed)
		}
		if s.Context() != nil {
			t.Error("explaining touched the device")
		}
	})
}
