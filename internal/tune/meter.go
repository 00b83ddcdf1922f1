package tune

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

//go:embed fill.cl
var fillCL string

// Limits bound a measurement.
type Limits struct {
	Bytes int64   // of device memory, all buffers together
	FLOPs float64 // of a launch, unless a granule of rows needs more
	Runs  int     // launches that count
}

// Defaults are limits that suit a device: launches of some milliseconds, and no
// more than budget bytes (0: no limit).
func Defaults(info *clrt.DeviceInfo, budget int64) Limits {
	l := Limits{Bytes: min(1<<30, info.GlobalMem/8), FLOPs: 3e11, Runs: 3}
	if info.Type == clrt.CPU {
		l.FLOPs, l.Runs = 1e9, 5
	}
	if budget > 0 {
		l.Bytes = min(l.Bytes, budget)
	}
	return l
}

// Meter measures convolutions on a device. It uses the context alone, which must
// hold no other buffers, and is used by one goroutine.
type Meter struct {
	ctx       *clrt.Context
	caps      conv.Caps
	precision planar.Precision
	limits    Limits
	q         *clrt.Queue
	builder   *builder
	fill      *clrt.Kernel
	pace      time.Duration // of a compilation among others; 0: not known
}

// NewMeter prepares measurements of convolutions on samples stored as p.
func NewMeter(ctx *clrt.Context, caps conv.Caps, p planar.Precision, l Limits) (m *Meter, err error) {
	m = &Meter{ctx: ctx, caps: caps, precision: p, limits: l, builder: newBuilder(ctx)}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if m.q, err = ctx.NewQueue(); err != nil {
		return m, err
	}
	prog, err := m.builder.get(planar.Source(p, model.PadReflect) + fillCL)
	if err != nil {
		return m, err
	}
	m.fill, err = prog.Kernel("tune_fill")
	return m, err
}

// Close releases everything the meter made; the context stays open.
func (m *Meter) Close() error {
	var errs []error
	if m.q != nil {
		errs = append(errs, m.q.Finish())
	}
	if m.fill != nil {
		errs = append(errs, m.fill.Close())
	}
	errs = append(errs, m.builder.close())
	if m.q != nil {
		errs = append(errs, m.q.Close())
	}
	return errors.Join(errs...)
}

// source is the program of an implementation's kernels.
func (m *Meter) source(impl conv.Impl) string {
	return conv.ProgramSource(impl, m.precision, conv.Shape{})
}

// problem is one shape with tensors on the device: as many rows of the plane as
// the limits allow, and what of the result is compared.
type problem struct {
	*Meter
	shape   conv.Shape
	rows    int // rows [0,rows) are computed
	buffers []*clrt.Buffer
	src     []planar.Ring
	dst     planar.Ring
	weights []float32
	bias    []float32
	bands   [][2]int    // rows that are compared
	want    [][]float32 // of each band, by the plain definition
}

// rowsMultiple is a multiple of every granule there is, so that all candidates
// compute the same rows.
const rowsMultiple = 36

// newProblem places a shape's tensors and computes what is right. The plain
// definition itself is compared with float64.
func (m *Meter) newProblem(s conv.Shape) (p *problem, err error) {
	p = &problem{Meter: m, shape: s}
	if p.rows, err = p.howManyRows(); err != nil {
		return p, err
	}
	for i, c := range s.SrcC {
		r, err := p.ring(c, min(s.H, p.rows+planar.Rim), fmt.Sprintf("source %d", i))
		if err != nil {
			return p, err
		}
		p.src = append(p.src, r)
		if err := p.random(r, i); err != nil {
			return p, err
		}
	}
	if p.dst, err = p.ring(s.OutC, p.rows, "result"); err != nil {
		return p, err
	}
	p.weights, p.bias = randomWeights(s)
	p.chooseBands()
	return p, p.reference()
}

// howManyRows is the most rows within the limits, a multiple of rowsMultiple
// unless the plane or memory has fewer.
func (p *problem) howManyRows() (int, error) {
	s := p.shape
	each := int64(0)
	for _, c := range append([]int{s.OutC}, s.SrcC...) {
		each += planar.RowBytes(p.tensor(c), p.precision)
	}
	room := p.limits.Bytes/2 - each*2*planar.Rim // half for weights and scratch
	fit := int(min(room/each, int64(s.H)))
	if fit < 1 {
		return 0, fmt.Errorf("tune: no row of %v fits in %d bytes", s, p.limits.Bytes)
	}
	most := max(int(p.limits.FLOPs/(s.FLOPs()/float64(s.H))), 1)
	if rows := min(fit, (most+rowsMultiple-1)/rowsMultiple*rowsMultiple); rows < s.H && rows > rowsMultiple {
		return rows / rowsMultiple * rowsMultiple, nil
	} else {
		return rows, nil
	}
}

func (p *problem) tensor(c int) fuse.Tensor {
	return fuse.Tensor{Shape: model.Shape{C: c, H: p.shape.H, W: p.shape.W}}
}

func (p *problem) ring(c, rows int, purpose string) (planar.Ring, error) {
	t := p.tensor(c)
	b, err := p.buffer(planar.RowBytes(t, p.precision)*int64(rows)+planar.RimBytes(t, p.precision), purpose)
	if err != nil {
		return planar.Ring{}, err
	}
	return planar.NewRing(b, 0, t, rows), nil
}

func (p *problem) buffer(n int64, purpose string) (*clrt.Buffer, error) {
	b, err := p.ctx.NewBuffer(n, "tuning, "+purpose)
	if err != nil {
		return nil, err
	}
	p.buffers = append(p.buffers, b)
	return b, b.Touch(p.q)
}

// random fills a source on the device.
func (p *problem) random(r planar.Ring, seed int) error {
	if err := new(conv.KernelArgs).Ring(r).Int(seed, r.Rows).Set(p.fill); err != nil {
		return err
	}
	return p.q.LaunchQuiet(p.fill, []int{(r.W + 15) / 16 * 16, r.C, r.Rows}, nil)
}

func (p *problem) close() error {
	errs := []error{p.q.Finish()}
	for _, b := range p.buffers {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// rig is a candidate ready to run on a problem.
type rig struct {
	*problem
	impl      conv.Impl
	stripRows int // rows of a launch
	kernels   []*clrt.Kernel
	packed    *clrt.Buffer
	scratch   *clrt.Buffer
	seconds   float64 // the best so far
	err       float64 // relative, see check
	sum       [sha256.Size]byte
}

func (p *problem) open(impl conv.Impl) (r *rig, err error) {
	r = &rig{problem: p, impl: impl}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	prog, err := p.builder.get(p.source(impl))
	if err != nil {
		return r, err
	}
	for _, k := range impl.Kernels() {
		kernel, err := prog.Kernel(k.Name)
		if err != nil {
			return r, err
		}
		r.kernels = append(r.kernels, kernel)
	}
	packed := floatBytes(impl.Pack(p.weights, p.bias))
	if r.packed, err = p.ctx.NewBuffer(int64(len(packed)), "tuning, weights"); err != nil {
		return r, err
	}
	if err := p.q.Write(r.packed, 0, packed); err != nil {
		return r, err
	}
	g := max(impl.Granule(), 1)
	if p.rows < p.shape.H && p.rows%g != 0 {
		return r, fmt.Errorf("tune: %d rows are no multiple of the %d that launches take", p.rows, g)
	}
	room := p.limits.Bytes - p.ctx.Live()
	for r.stripRows = p.rows; impl.Scratch(r.stripRows) > room && r.stripRows > g; {
		r.stripRows = max((r.stripRows/2+g-1)/g*g, g)
	}
	n := impl.Scratch(r.stripRows)
	if n > room {
		return r, fmt.Errorf("tune: needs %d bytes of scratch for %d rows, there is room for %d", n, r.stripRows, room)
	}
	if n == 0 {
		return r, nil
	}
	if r.scratch, err = p.ctx.NewBuffer(n, "tuning, scratch"); err != nil {
		return r, err
	}
	return r, r.scratch.Touch(p.q)
}

func (r *rig) close() {
	r.q.Finish()
	for _, k := range r.kernels {
		k.Close()
	}
	for _, b := range []*clrt.Buffer{r.packed, r.scratch} {
		if b != nil {
			b.Close()
		}
	}
}

// launch enqueues rows [from,to) of the convolution; from must be a multiple of
// the granule.
func (r *rig) launch(from, to int) error {
	for y := from; y < to; y += r.stripRows {
		a := &conv.Args{Src: r.src, Dst: r.dst, Y0: y, Y1: min(y+r.stripRows, to), Slope: slope, Scratch: r.scratch}
		if err := r.impl.Launch(r.q, r.kernels, r.packed, a); err != nil {
			return err
		}
	}
	return nil
}

// time runs all rows once, by the device's clock, and keeps the best time.
func (r *rig) time() (seconds float64, err error) {
	seconds, err = r.q.Seconds(func() error { return r.launch(0, r.rows) })
	if err == nil && (r.seconds == 0 || seconds < r.seconds) {
		r.seconds = seconds
	}
	return seconds, err
}
