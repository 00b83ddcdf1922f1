package winograd_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// device is a device with a queue for a test.
type device struct {
	ctx *clrt.Context
	q   *clrt.Queue
}

func openDevice(t testing.TB) *device {
	t.Helper()
	ds, err := clrt.Devices()
	if err != nil {
		t.Skipf("needs an OpenCL device: %v", err)
	}
	ctx, err := clrt.NewContext(ds[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ctx.Close() })
	q, err := ctx.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	return &device{ctx, q}
}

func (d *device) caps() conv.Caps { return conv.CapsOf(d.ctx.Device().Info()) }

// job is one convolution with its data. Residual and rings are optional.
type job struct {
	shape     conv.Shape
	precision planar.Precision
	src       [][]float32 // per source, C×H×W
	w, bias   []float32
	res       []float32 // C×H×W, or nil
	slope     float32

	srcRows int   // slots of the source rings; 0: H
	slice   bool  // sources and destination are channels of larger tensors
	cuts    []int // rows where launches begin, besides 0
	scratch int64 // bytes given; 0: what Scratch asks for
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
	j := &job{shape: s, precision: p, slope: 0.2}
	for _, c := range s.SrcC {
		j.src = append(j.src, normal(c*s.H*s.W, 1, true))
	}
	j.w = normal(s.OutC*s.InC()*s.K*s.K, 1/math.Sqrt(float64(s.InC()*s.K*s.K)), false)
	j.bias = normal(s.OutC, 1, false)
	if residual {
		j.res = normal(s.OutC*s.H*s.W, 1, true)
	}
	return j
}

// reference computes the job in float64.
func (j *job) reference() []float64 {
	s := j.shape
	out := make([]float64, s.OutC*s.H*s.W)
	for k := range s.OutC {
		for y := range s.H {
			for x := range s.W {
				sum := float64(j.bias[k])
				ic := 0
				for si, c := range s.SrcC {
					for cc := range c {
						plane := j.src[si][cc*s.H*s.W:]
						taps := j.w[(k*s.InC()+ic)*s.K*s.K:]
						for ky := range s.K {
							yy := fuse.Reflect(y+ky-s.K/2, s.H)
							for kx := range s.K {
								sum += float64(taps[ky*s.K+kx]) * float64(plane[yy*s.W+fuse.Reflect(x+kx-s.K/2, s.W)])
							}
						}
						ic++
					}
				}
				switch s.Act {
				case fuse.LeakyReLU:
					if sum < 0 {
						sum *= float64(j.slope)
					}
				case fuse.Sigmoid:
					sum = 1 / (1 + math.Exp(-sum))
				}
				at := (k*s.H+y)*s.W + x
				if j.res != nil {
					sum += float64(j.res[at])
				}
				out[at] = sum
			}
		}
	}
	return out
}

const guard = 64 // bytes of a pattern after the scratch and around nothing else

// run computes the job with an algorithm and returns C×H×W samples. All device
// memory is NaN before; rims must come out right and scratch must not be passed.
func (j *job) run(d *device, algo conv.Algo, caps conv.Caps) ([]float32, error) {
	s := j.shape
	impl, err := algo.New(caps, s, j.precision)
	if err != nil {
		return nil, err
	}
	prog, kernels, err := d.build(impl, j.precision)
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	defer func() {
		for _, k := range kernels {
			k.Close()
		}
	}()
	r := &rig{device: d, job: j}
	defer r.close()
	out, err := r.launchAll(impl, kernels)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (d *device) build(impl conv.Impl, p planar.Precision) (*clrt.Program, []*clrt.Kernel, error) {
	src := planar.Source(p)
	for _, k := range impl.Kernels() {
		src += k.Source
	}
	prog, err := d.ctx.Build(src, "-cl-std=CL1.2")
	if err != nil {
		return nil, nil, err
	}
	var ks []*clrt.Kernel
	for _, k := range impl.Kernels() {
		kern, err := prog.Kernel(k.Name)
		if err != nil {
			return nil, nil, err
		}
		ks = append(ks, kern)
	}
	return prog, ks, nil
}

// rig holds the buffers of a run.
type rig struct {
	*device
	*job
	buffers []*clrt.Buffer
}

func (r *rig) close() {
	for _, b := range r.buffers {
		b.Close()
	}
}

// buffer is n bytes of NaN.
func (r *rig) buffer(n int64) (*clrt.Buffer, error) {
	b, err := r.ctx.NewBuffer((n+3)/4*4, "test")
	if err != nil {
		return nil, err
	}
	r.buffers = append(r.buffers, b)
	return b, r.q.Fill(b, 0, b.Size(), []byte{0xff, 0xff, 0xff, 0xff})
}

// ring makes a ring for c channels of which those from c0 on are used.
func (r *rig) ring(c, extra, c0, rows int) (planar.Ring, error) {
	t := fuse.Tensor{Shape: model.Shape{C: c + extra, H: r.shape.H, W: r.shape.W}}
	base := int64(extra) * planar.BaseAlign
	b, err := r.buffer(base + planar.RowBytes(t, r.precision)*int64(rows) + planar.RimBytes(t, r.precision))
	if err != nil {
		return planar.Ring{}, err
	}
	return planar.NewRing(b, base, t, rows).Slice(c0, c), nil
}

// put writes row y of planes to its slot, other channels NaN.
func (r *rig) put(g planar.Ring, planes []float32, y int) error {
	s := r.shape
	rows := planar.Rows{C: g.CAll, W: s.W, Precision: r.precision}
	raw := make([]byte, rows.Bytes(1))
	for i := range raw {
		raw[i] = 0xff
	}
	for c := range g.C {
		rows.Put(raw, g.C0+c, planes[(c*s.H+y)*s.W:][:s.W])
	}
	return r.q.Write(g.Buf, g.Base+int64(y%g.Rows)*rows.Bytes(1), raw)
}

func (r *rig) launchAll(impl conv.Impl, kernels []*clrt.Kernel) ([]float32, error) {
	s := r.shape
	extra, c0 := 0, 0
	if r.slice {
		extra, c0 = 3, 1
	}
	rows := r.srcRows
	if rows == 0 {
		rows = s.H
	}
	a := &conv.Args{Slope: r.slope}
	for _, c := range s.SrcC {
		g, err := r.ring(c, extra, c0, rows)
		if err != nil {
			return nil, err
		}
		a.Src = append(a.Src, g)
	}
	var err error
	if a.Dst, err = r.ring(s.OutC, extra, c0, s.H); err != nil {
		return nil, err
	}
	if r.res != nil {
		if a.Res, err = r.ring(s.OutC, extra, c0, s.H); err != nil {
			return nil, err
		}
		for y := range s.H {
			if err := r.put(a.Res, r.res, y); err != nil {
				return nil, err
			}
		}
	}
	packed, err := r.weights(impl)
	if err != nil {
		return nil, err
	}
	filled := 0
	cuts := append(append([]int{0}, r.cuts...), s.H)
	for i := range cuts[1:] {
		a.Y0, a.Y1 = cuts[i], cuts[i+1]
		for ; filled < min(s.H, a.Y1+s.K/2); filled++ {
			for n := range a.Src {
				if err := r.put(a.Src[n], r.src[n], filled); err != nil {
					return nil, err
				}
			}
		}
		if err := r.launch(impl, kernels, packed, a); err != nil {
			return nil, err
		}
	}
	return r.read(a.Dst)
}

func (r *rig) weights(impl conv.Impl) (*clrt.Buffer, error) {
	p := impl.Pack(r.w, r.bias)
	if len(p) != impl.PackedLen() {
		return nil, fmt.Errorf("packed %d values, PackedLen says %d", len(p), impl.PackedLen())
	}
	b, err := r.buffer(int64(len(p)) * 4)
	if err != nil {
		return nil, err
	}
	raw := make([]byte, 4*len(p))
	for i, v := range p {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
	}
	return b, r.q.Write(b, 0, raw)
}

// launch gives the launch exactly the scratch it may use and checks the bytes after it.
func (r *rig) launch(impl conv.Impl, kernels []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	n := r.scratch
	if n == 0 {
		n = impl.Scratch(a.Y1 - a.Y0)
	}
	a.Scratch = nil
	var whole *clrt.Buffer
	var err error
	if n > 0 {
		if whole, err = r.buffer(n + guard); err != nil {
			return err
		}
		if a.Scratch, err = whole.Sub(0, n); err != nil {
			return err
		}
		defer a.Scratch.Close()
	}
	if err := impl.Launch(r.q, kernels, packed, a); err != nil {
		return err
	}
	if err := r.q.Finish(); err != nil || n == 0 {
		return err
	}
	tail := make([]byte, guard)
	if err := r.q.Read(whole, n, tail); err != nil {
		return err
	}
	for i, v := range tail {
		if v != 0xff {
			return fmt.Errorf("byte %d after the scratch of %d bytes was written", i, n)
		}
	}
	return nil
}

// read returns the destination's samples and checks rims and other channels.
func (r *rig) read(g planar.Ring) ([]float32, error) {
	s := r.shape
	rows := planar.Rows{C: g.CAll, W: s.W, Precision: r.precision}
	raw := make([]byte, rows.Bytes(s.H))
	if err := r.q.Read(g.Buf, g.Base, raw); err != nil {
		return nil, err
	}
	out := make([]float32, s.OutC*s.H*s.W)
	pitch := planar.Pitch(s.W)
	sample := func(y, c, x int) float32 {
		i := (y*g.CAll+c)*pitch + planar.Pad + x
		if r.precision == planar.FP16 {
			return planar.Float(binary.LittleEndian.Uint16(raw[2*i:]))
		}
		return math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	for y := range s.H {
		for c := range g.CAll {
			if c < g.C0 || c >= g.C0+g.C {
				for x := -planar.Pad; x < pitch-planar.Pad; x++ {
					if v := sample(y, c, x); v == v {
						return nil, fmt.Errorf("channel %d, which is another step's, was written at row %d, column %d", c, y, x)
					}
				}
				continue
			}
			for x := -planar.Rim; x < s.W+planar.Rim; x++ {
				v := sample(y, c, x)
				if want := sample(y, c, fuse.Reflect(x, s.W)); v != want {
					return nil, fmt.Errorf("channel %d, row %d: column %d is %g, its mirror image %g", c-g.C0, y, x, v, want)
				}
				if x >= 0 && x < s.W {
					out[((c-g.C0)*s.H+y)*s.W+x] = v
				}
			}
		}
	}
	return out, nil
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
