package kernelcheck

import (
	"context"
	"errors"
	"fmt"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/model"
)

// The sides of the planes of stored samples: odd.
const samplesH, samplesW = 77, 181

// Samples holds planes that a device makes of stored samples against their definition,
// with activations in fp32 or in fp16, as octets too where the device has units for these. The context must hold no buffers.
func Samples(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, p planar.Precision) error {
	if err := SamplesUnder(ctx, cl, info, exec.Options{Precision: p}); err != nil || p != planar.FP16 || info.Type != clrt.GPU {
		return err
	}
	units, err := exec.ProbeUnits(cl)
	if err != nil || !units.Warpgroup {
		return err
	}
	units.Octets = true
	if err := SamplesUnder(ctx, cl, info, exec.Options{Precision: p, Units: units}); err != nil {
		return fmt.Errorf("octets: %w", err)
	}
	return nil
}

// SamplesJob is the job of SamplesUnder.
func SamplesJob(info *clrt.DeviceInfo, opt exec.Options) (*exec.Job, error) {
	network := Unchanged
	if opt.Octets { // which convolutions alone read and write as planes
		network = copied
	}
	m, err := network(fuse.QuadPlaces)
	if err != nil {
		return nil, err
	}
	opt.Samples = true
	return exec.Prepare(m, samplesH, samplesW, info, opt)
}

// SamplesUnder is Samples under the options of a plan.
func SamplesUnder(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options) error {
	job, err := SamplesJob(info, opt)
	if err != nil {
		return err
	}
	e, err := job.Open(cl)
	if err != nil {
		return err
	}
	src := storedScene{}
	out := &exec.Planes{Shape: model.Shape{C: fuse.QuadPlaces, H: samplesH, W: samplesW}, Data: make([]float32, fuse.QuadPlaces*samplesH*samplesW)}
	if err := errors.Join(e.Run(ctx, src, exec.PlanesSink{Planes: out}, nil), e.Close()); err != nil {
		return err
	}
	for i, got := range out.Data {
		k, y, x := i/(samplesH*samplesW), i/samplesW%samplesH, i%samplesW
		at := e.Model.Convention.Pack[k]
		if want := src.entry(k, int(src.sample(2*y+at[0], 2*x+at[1]))); got != want {
			return fmt.Errorf("plane %d, row %d, column %d is %g, and %g is right", k, y, x, got, want)
		}
	}
	return nil
}

// Unchanged is a network that gives samples of 0 and more as they are.
func Unchanged(planes int) (*model.Model, error) {
	b := model.NewBuilder(planes)
	g, err := b.Graph(b.LeakyReLU("same", 0, 1))
	if err != nil {
		return nil, err
	}
	return &model.Model{Arch: "check", Graph: g, Params: model.FormulaParams("check", g), Convention: model.Convention{
		Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, Gamma: 2.2, Divisor: 1, Multiple: 1, MinSide: 1, ScaleNum: 1, ScaleDen: 1}}, nil
}

// copied is a network of a convolution that gives samples as they are.
func copied(planes int) (*model.Model, error) {
	m, err := Unchanged(planes)
	if err != nil {
		return nil, err
	}
	b := model.NewBuilder(planes)
	if m.Graph, err = b.Graph(b.Conv("same", "same", 0, planes, 1)); err != nil {
		return nil, err
	}
	m.Params = model.FormulaParams("check", m.Graph)
	for _, p := range m.Params {
		clear(p.Data)
		if len(p.Data) == planes*planes {
			for k := range planes {
				p.Data[k*planes+k] = 1
			}
		}
	}
	return m, nil
}

// storedScene is an exec.SampleSource of all stored samples, with tables that are exact in binary16.
type storedScene struct{}

func (storedScene) sample(y, x int) uint16          { return uint16(40503 * (y*2*samplesW + x)) }
func (storedScene) entry(plane, stored int) float32 { return float32((stored*(2*plane+3))%2048) / 2048 }

func (s storedScene) Tables() ([][]float32, error) {
	all := make([][]float32, fuse.QuadPlaces)
	for k := range all {
		all[k] = make([]float32, ops.TableLen)
		for i := range all[k] {
			all[k][i] = s.entry(k, i)
		}
	}
	return all, nil
}

func (s storedScene) Rows(int, int) (exec.Rows, error) { return s, nil }
func (storedScene) Row(int, [][]float32)               {}
func (storedScene) End() error                         { return nil }

func (s storedScene) Samples(y int, lines [2][]uint16) {
	for k, line := range lines {
		for x := range line {
			line[x] = s.sample(2*y+k, x)
		}
	}
}
