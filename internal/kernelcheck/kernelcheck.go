package kernelcheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/octets"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
	"enhance/model/ref"
)

// Options say what is tested.
type Options struct {
	Device *clrt.Device // nil: the host executor
	Model  *model.Model // whose convolutions are run
	// Begin, if set, is told about each kernel before it runs, and Done after that: a
	// kernel may crash or hang.
	Begin func(done, total int, kernel, precision string)
	Done  func(k *Kernel)
	// More are run after the networks', in fp32 and in fp16, on OpenCL devices.
	More []Check
}

// Check is a test of kernels that are no network's.
type Check struct {
	Kernel  string
	Allowed float64 // as that of a Kernel
	// Run gives the Kernel's Error. The context holds no buffers.
	Run func(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, p planar.Precision) (worst float64, err error)
}

// Report is what was found. It says all that is needed to see the problem elsewhere.
type Report struct {
	Device string           `json:"device"`
	Info   *clrt.DeviceInfo `json:"info,omitempty"` // none for the host executor
	// Matrix and Warpgroup say which matrix units were found.
	Matrix    bool     `json:"matrix_units"`
	Warpgroup bool     `json:"warpgroup_matrix_units"`
	Kernels   []Kernel `json:"kernels"`
	Wrong     int      `json:"wrong"` // of Kernels
	Seconds   float64  `json:"seconds"`
}

// Kernel is the verdict on one kernel in one precision.
type Kernel struct {
	Name      string `json:"kernel"`
	Precision string `json:"precision"`
	// Error is the largest difference from the definition, Allowed what it may be; both
	// are relative to the largest sample of the result.
	Error   float64 `json:"error"`
	Allowed float64 `json:"allowed"`
	Plans   int     `json:"plans"`           // under which it ran with the same bytes
	Opening float64 `json:"opening_seconds"` // compiling and allocating, the first time
	Running float64 `json:"running_seconds"` // of the last run, with its transfers
	Problem string  `json:"problem,omitempty"`
}

// tester runs cases on one device.
type tester struct {
	info   *clrt.DeviceInfo
	ctx    *clrt.Context
	units  conv.Units
	octets conv.Algo // of octets, nil if it has no units for that
}

// Run tests a device. The error says that the test could not be made; what is wrong with a
// kernel is in the report, which is not nil if the device could be opened.
func Run(ctx context.Context, o Options) (*Report, error) {
	start := time.Now()
	rep := &Report{Device: "host executor"}
	if o.Device != nil {
		rep.Device, rep.Info = o.Device.String(), o.Device.Info()
	}
	var cases []testCase
	var t *tester
	run := host
	if o.Device == nil {
		all, err := operations(conv.Arithmetic{})
		if err != nil {
			return nil, err
		}
		cases = all
	} else {
		var err error
		if t, err = open(o.Device); err != nil {
			return nil, err
		}
		defer t.ctx.Close()
		rep.Matrix, rep.Warpgroup = t.units.Matrix, t.units.Warpgroup
		if cases, err = t.cases(o.Model); err != nil {
			return rep, err
		}
		run = t.run
	}
	tests := make([]func() Kernel, 0, len(cases))
	names := make([][2]string, 0, len(cases))
	for i := range cases {
		c := &cases[i]
		names = append(names, [2]string{c.kernel, c.arith.String()})
		tests = append(tests, func() Kernel { return run(ctx, c) })
	}
	if t != nil {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			for i := range o.More {
				names = append(names, [2]string{o.More[i].Kernel, conv.Arithmetic{Precision: p}.String()})
				tests = append(tests, func() Kernel { return t.more(ctx, &o.More[i], p) })
			}
		}
	}
	if err := rep.runAll(ctx, o, names, tests); err != nil {
		return rep, err
	}
	rep.Seconds = time.Since(start).Seconds()
	return rep, nil
}

// runAll makes the tests, whose kernels and precisions are names, one after the other.
func (r *Report) runAll(ctx context.Context, o Options, names [][2]string, tests []func() Kernel) error {
	for i, test := range tests {
		if o.Begin != nil {
			o.Begin(i, len(tests), names[i][0], names[i][1])
		}
		k := test()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.Kernels = append(r.Kernels, k); k.Problem != "" {
			r.Wrong++
		}
		if o.Done != nil {
			o.Done(&k)
		}
	}
	return nil
}

// more is the verdict of a check.
func (t *tester) more(ctx context.Context, c *Check, p planar.Precision) Kernel {
	k := Kernel{Name: c.Kernel, Precision: conv.Arithmetic{Precision: p}.String(), Allowed: c.Allowed, Plans: 1}
	start := time.Now()
	var err error
	k.Error, err = c.Run(ctx, t.ctx, t.info, p)
	if k.Running = time.Since(start).Seconds(); err != nil {
		k.Problem = err.Error()
	}
	return k
}

func open(d *clrt.Device) (*tester, error) {
	c, err := clrt.NewContext(d)
	if err != nil {
		return nil, err
	}
	t := &tester{info: d.Info(), ctx: c}
	if t.units, err = exec.ProbeUnits(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if t.units.Octets = t.units.Warpgroup; t.units.Octets {
		t.octets = octets.Algo()
	}
	return t, nil
}

// cases are all that the device is tested with.
func (t *tester) cases(m *model.Model) (all []testCase, err error) {
	for _, a := range arithmetics(t.units.Matrix) {
		if !a.TF32 { // which only convolutions have
			ops, err := operations(a)
			if err != nil {
				return nil, err
			}
			all = append(all, ops...)
		}
		convs, err := convolutions(m, t.info, a, t.units)
		if err != nil {
			return nil, err
		}
		all = append(all, convs...)
	}
	if t.octets == nil {
		return all, nil
	}
	ops, err := octetOperations(t.octets)
	return append(all, ops...), err
}

// definition is what is right, and how far float32 in plain loops is from it.
func (c *testCase) definition(ctx context.Context, m *model.Model, in []float32) (want []float64, plain []float32, err error) {
	in64 := make([]float64, len(in))
	for i, v := range in {
		in64[i] = float64(v)
	}
	if want, _, err = ref.Run64(ctx, m, in64, c.h, c.w, ref.Options{}); err != nil {
		return nil, nil, err
	}
	plain, _, err = ref.Run(ctx, m, in, c.h, c.w, ref.Options{})
	return want, plain, err
}

// network is the case's model and input. Samples are on both sides of zero and exact in
// binary16, so that only what is computed is rounded.
func (c *testCase) network() (*model.Model, []float32) {
	m := &model.Model{Arch: "selftest", Graph: c.graph, Params: model.FormulaParams("selftest", c.graph),
		Convention: model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, Gamma: 1, Divisor: 1,
			Multiple: 1, MinSide: 1, ScaleNum: 1, ScaleDen: 1}}
	in := model.FormulaTensor("selftest", c.kernel, c.graph.Nodes[0].C*c.h*c.w)
	for i, v := range in {
		in[i] = planar.Float(planar.Half(2*v - 1))
	}
	return m, in
}

// Errors that are allowed, relative to the largest sample of the result: beside what
// float32 loses in plain loops, several times as sums have another order.
const (
	losses = 30
	// allowed32 is for sums term by term, allowedInexact for Winograd's transforms and matrix units.
	allowed32, allowedInexact = 1e-5, 2e-4
	// allowed11 is for samples or factors of 11 bits: binary16, tf32. Transforms make it larger.
	allowed11, allowed11Inexact = 2e-3, 1e-2
)

// judge compares a result with the definition.
func (c *testCase) judge(k *Kernel, got, plain []float32, want []float64) {
	scale, lost, worst, at := 0.0, 0.0, 0.0, 0
	for i, v := range want {
		scale = max(scale, math.Abs(v))
		lost = max(lost, math.Abs(float64(plain[i])-v))
		d := math.Abs(float64(got[i]) - v)
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > worst {
			worst, at = d, i
		}
	}
	k.Allowed = allowed32
	switch coarse := c.arith != (conv.Arithmetic{}); {
	case coarse && c.inexact:
		k.Allowed = allowed11Inexact
	case coarse:
		k.Allowed = allowed11
	case c.inexact:
		k.Allowed = allowedInexact
	}
	k.Allowed += losses * lost / scale
	if k.Error = worst / scale; !(k.Error <= k.Allowed) {
		k.Problem = fmt.Sprintf("sample %d is %v, and %v is right (the largest is %.3g)", at, got[at], want[at], scale)
		k.Error = min(k.Error, math.MaxFloat64) // JSON has no infinity
	}
}

// host is the verdict on the host executor.
func host(ctx context.Context, c *testCase) Kernel {
	k := Kernel{Name: c.kernel, Precision: c.arith.String(), Plans: 1}
	m, in := c.network()
	start := time.Now()
	want, plain, err := c.definition(ctx, m, in)
	k.Running = time.Since(start).Seconds()
	if err != nil {
		k.Problem = err.Error()
		return k
	}
	rounded := make([]float32, len(want))
	for i, v := range want {
		rounded[i] = float32(v)
	}
	c.judge(&k, plain, rounded, want)
	return k
}

// run is the verdict on a kernel of the device.
func (t *tester) run(ctx context.Context, c *testCase) Kernel {
	k := Kernel{Name: c.kernel, Precision: c.arith.String()}
	m, in := c.network()
	want, plain, err := c.definition(ctx, m, in)
	if err != nil {
		k.Problem = err.Error()
		return k
	}
	base := exec.Options{Precision: c.arith.Precision, TF32: c.arith.TF32, Units: t.units, Poison: true}
	base.Octets = c.octets
	base.Algo = func(_ string, s conv.Shape) conv.Algo { return c.chosen(s) }
	plans := []struct {
		name   string
		change func(o *exec.Options) error
	}{
		{"the default plan", func(*exec.Options) error { return nil }},
		{"whole planes", func(o *exec.Options) error { o.WholePlanes = true; return nil }},
		{"strips of 1 row", func(o *exec.Options) error { o.Rows = 1; return nil }},
		{"strips of 3 rows", func(o *exec.Options) error { o.Rows = 3; return nil }},
		{"the least memory", func(o *exec.Options) error {
			least, err := exec.Minimum(m, c.h, c.w, t.info, *o)
			o.Budget = memplan.Limit(least)
			return err
		}},
	}
	var first []float32
	for _, p := range plans {
		o := base
		err := p.change(&o)
		var got []float32
		if err == nil {
			got, err = t.once(ctx, c, m, in, o, &k)
		}
		if err != nil {
			k.Problem = fmt.Sprintf("%s: %v", p.name, err)
			return k
		}
		if first == nil {
			first = got
			if c.judge(&k, got, plain, want); k.Problem != "" {
				return k
			}
		}
		for i, v := range got {
			if math.Float32bits(v) != math.Float32bits(first[i]) {
				k.Problem = fmt.Sprintf("%s: sample %d is %v, and %v under %s", p.name, i, v, first[i], plans[0].name)
				return k
			}
		}
		k.Plans++
	}
	return k
}

// once runs the network under one plan.
func (t *tester) once(ctx context.Context, c *testCase, m *model.Model, in []float32, o exec.Options, k *Kernel) (out []float32, err error) {
	job, err := exec.Prepare(m, c.h, c.w, t.info, o)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	e, err := job.Open(t.ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, e.Close()); err == nil && t.ctx.Live() != 0 {
			err = fmt.Errorf("%d bytes are left on the device", t.ctx.Live())
		}
	}()
	if k.Opening == 0 {
		k.Opening = time.Since(start).Seconds()
	}
	start = time.Now()
	shape := job.Program.Tensors[job.Program.Output].Shape
	to := &exec.Planes{Shape: shape, Data: slices.Repeat([]float32{float32(math.NaN())}, int(shape.Elems()))}
	from := &exec.Planes{Shape: model.Shape{C: c.graph.Nodes[0].C, H: c.h, W: c.w}, Data: in}
	if err := e.Run(ctx, exec.PlanesSource{Planes: from}, exec.PlanesSink{Planes: to}, nil); err != nil {
		return nil, err
	}
	k.Running = time.Since(start).Seconds()
	if e.Peak() != job.Plan.Peak {
		return nil, fmt.Errorf("the device held %d bytes, and the plan says %d", e.Peak(), job.Plan.Peak)
	}
	return to.Data, nil
}
