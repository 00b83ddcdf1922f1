package papers

import (
	"context"
	"math"
	"time"

	"enhance/bench/im2col"
	"enhance/conv"
	"enhance/model"
	"enhance/model/ref"
)

// Host is a way to compute a case in which the host's cores take part. Its time is the
// host's, from the input in the host's memory to the result: on the host, or, with
// HostIm2col, on the device.
type Host string

const (
	// HostLoops is the definition in plain loops in float64, on one core.
	HostLoops Host = "host-loops"
	// HostGEMM unfolds and multiplies by Gonum's product of matrices, on all cores.
	HostGEMM Host = "host-gemm"
	// HostIm2col has the host's cores unfold while the device multiplies.
	HostIm2col Host = im2col.HostName
)

// Name implements Way.
func (h Host) Name() string { return string(h) }

// hostClock says that seconds are the host's.
const hostClock = "host"

// measureHost fills m for one of the host's ways.
func (p *place) measureHost(ctx context.Context, h Host, m *Measurement) error {
	if h == HostIm2col {
		return p.measureUnfolding(ctx, m)
	}
	r := p.hostRun(h)
	run := func() error { return r.all(ctx) }
	if err := run(); err != nil {
		return err
	}
	err := p.hostRuns(ctx, m, func() (float64, error) {
		start := time.Now()
		err := run()
		return time.Since(start).Seconds(), err
	})
	if err != nil {
		return err
	}
	return p.compare(p.c.H, func(n, y int) (func(o, x int) float64, error) {
		return func(o, x int) float64 { return r.out(n, o, y, x) }, nil
	}, m)
}

// hostRuns repeats a run of whole planes and fills m with its seconds.
func (p *place) hostRuns(ctx context.Context, m *Measurement, run func() (float64, error)) error {
	for begin := time.Now(); len(m.Runs) < p.o.Repeat; {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := run()
		if err != nil {
			return err
		}
		if m.Runs = append(m.Runs, t); time.Since(begin) > p.o.Limit {
			break
		}
	}
	m.Clock, m.Rows, m.LaunchRows = hostClock, p.c.H, p.c.H
	m.summarise(p.c)
	return nil
}

// hostRun is a network of one convolution on the host.
type hostRun struct {
	c     Case
	model *model.Model
	in    [][]float32 // by picture; in64 where the run is in float64
	in64  [][]float64
	res   [][]float32
	res64 [][]float64
}

func (p *place) hostRun(h Host) *hostRun {
	c := p.c
	b := model.NewBuilder(c.C)
	g, err := b.Graph(b.Conv("conv", "conv", 0, c.OutC, c.K))
	if err != nil {
		panic("papers: a graph of one convolution: " + err.Error()) // cases are constants of this package
	}
	r := &hostRun{c: c, model: &model.Model{
		Graph: g,
		Params: map[string]*model.Tensor{
			"conv.weight": {Shape: []int{c.OutC, c.C, c.K, c.K}, Data: p.weightValues},
			"conv.bias":   {Shape: []int{c.OutC}, Data: p.biasValues},
		},
		Convention: model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, Gamma: 1, Divisor: 1, Multiple: 1, MinSide: 1, ScaleNum: 1, ScaleDen: 1},
	}}
	for n := range c.pictures() {
		in := p.values.picture(n)
		if h != HostLoops {
			r.in = append(r.in, in)
			continue
		}
		wide := make([]float64, len(in))
		for i, v := range in {
			wide[i] = float64(v)
		}
		r.in64 = append(r.in64, wide)
	}
	r.res, r.res64 = make([][]float32, len(r.in)), make([][]float64, len(r.in64))
	return r
}

func (r *hostRun) all(ctx context.Context) (err error) {
	for n, in := range r.in {
		if r.res[n], _, err = ref.Run(ctx, r.model, in, r.c.H, r.c.W, ref.Options{}); err != nil {
			return err
		}
	}
	for n, in := range r.in64 {
		if r.res64[n], _, err = ref.Run64(ctx, r.model, in, r.c.H, r.c.W, ref.Options{Workers: 1}); err != nil {
			return err
		}
	}
	return nil
}

func (r *hostRun) out(n, o, y, x int) float64 {
	at := (o*r.c.H+y)*r.c.W + x
	if len(r.res64) > 0 {
		return r.res64[n][at]
	}
	return float64(r.res[n][at])
}

// measureUnfolding fills m for im2col on the host's cores with the product on the
// device; with transfers, to the result on the host.
func (p *place) measureUnfolding(ctx context.Context, m *Measurement) error {
	before := p.cl.Live()
	h, err := im2col.NewHost(p.cl, p.q, p.c.Shape(), p.o.Precision, p.weightValues, p.biasValues, 0)
	if err != nil {
		return err
	}
	defer h.Close()
	m.Weights = 4 * int64(h.PackedLen())
	m.Scratch = p.cl.Live() - before - m.Weights
	var src [][]float32
	for n := range p.c.pictures() {
		src = append(src, p.values.picture(n))
	}
	run := func() error {
		for n := range src {
			if err := h.Run(src[n], &conv.Args{Dst: p.dst[n]}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(); err != nil {
		return err
	}
	out := make([]byte, p.dst[0].Buf.Size())
	err = p.hostRuns(ctx, m, func() (float64, error) {
		start := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		t := time.Since(start).Seconds()
		if err := p.q.Read(p.dst[0].Buf, 0, out); err != nil {
			return 0, err
		}
		m.TransferRuns = append(m.TransferRuns, time.Since(start).Seconds())
		return t, nil
	})
	if err != nil {
		return err
	}
	if !p.o.Transfers {
		m.TransferRuns = nil
	}
	m.summarise(p.c)
	return p.check(p.c.H, run, m)
}

// picture is a picture's samples, planes one after another.
func (v values) picture(n int) []float32 {
	c := v.c
	src := make([]float32, c.C*c.H*c.W)
	each(c.C*c.H, func(i int) {
		for x := range c.W {
			src[i*c.W+x] = v.input(n, i/c.H, i%c.H, x)
		}
	})
	return src
}

// deviation is the standard deviation of a sample about its mean, 0 for one value.
func deviation(v []float64) (mean, dev float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	if len(v) < 2 {
		return mean, 0
	}
	for _, x := range v {
		dev += (x - mean) * (x - mean) / float64(len(v)-1)
	}
	return mean, math.Sqrt(dev)
}
