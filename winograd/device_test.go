package winograd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// device is a device with a queue for a test.
type device struct{ *convtest.Bench }

func openDevice(t testing.TB) *device {
	t.Helper()
	return &device{convtest.Open(t, convtest.Device(t), planar.FP32, 1)}
}

func (d *device) caps() conv.Caps { return conv.CapsOf(d.Ctx.Device().Info()) }

// job is one convolution with its data.
type job struct {
	convtest.Operands
	precision planar.Precision
	cuts      []int // rows where launches begin, besides 0
	scratch   int64 // bytes given; 0: what Scratch asks for
}

// newJob fills a job with numbers of about unit size, rounded to the precision.
func newJob(s conv.Shape, p planar.Precision, residual bool, seed uint64) *job {
	rng := rand.New(rand.NewPCG(seed, 7))
	normal := func(n int, scale float64, round bool) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * scale)
			if round && p == planar.FP16 {
				x[i] = planar.Float(planar.Half(x[i]))
			}
		}
		return x
	}
	plane := func(c int) *convtest.Plane {
		return &convtest.Plane{C: c, H: s.H, W: s.W, V: normal(c*s.H*s.W, 1, true)}
	}
	j := &job{Operands: convtest.Operands{Shape: s, Slope: 0.2}, precision: p}
	for _, c := range s.SrcC {
		j.Src = append(j.Src, plane(c))
	}
	j.Weight = normal(s.OutC*s.InC()*s.K*s.K, 1/math.Sqrt(float64(s.InC()*s.K*s.K)), false)
	j.Bias = normal(s.OutC, 1, false)
	if residual {
		j.Res = plane(s.OutC)
	}
	return j
}

// reference computes the job in float64.
func (j *job) reference() []float64 {
	want, _ := j.Reference(j.precision, convtest.Accuracy{})
	return want
}

// run computes the job with an algorithm and returns C×H×W samples, or the launches' error.
func (j *job) run(d *device, algo conv.Algo, caps conv.Caps) ([]float32, error) {
	s := j.Shape
	impl, err := algo.New(caps, s, j.precision)
	if err != nil {
		return nil, err
	}
	d.Precision = j.precision
	defer d.Release()
	kernels, packed, out := d.Kernels(impl), d.Floats(impl.Pack(j.Weight, j.Bias)), convtest.NewPlane(s.OutC, s.H, s.W)
	cuts := append(append([]int{0}, j.cuts...), s.H)
	for i, y := range cuts[1:] {
		n := j.scratch
		if n == 0 {
			n = impl.Scratch(y - cuts[i])
		}
		if _, err := d.Launch(&j.Operands, impl, kernels, packed, out, cuts[i], y, n); err != nil {
			return nil, err
		}
	}
	return out.V, nil
}

// relativeRMS is the RMS difference over the RMS of want.
func relativeRMS(got []float32, want []float64) float64 {
	var diff, total float64
	for i, w := range want {
		e := float64(got[i]) - w
		diff += e * e
		total += w * w
	}
	return math.Sqrt(diff / total)
}
