package papers

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"enhance/bench"
	"enhance/bench/gemm"
	"enhance/clrt"
	"enhance/internal/tune"
	"enhance/pipeline/facts"
)

// GEMMMeasurement is one variant on one product.
type GEMMMeasurement struct {
	Variant   string    `json:"variant"`
	Layout    string    `json:"layout"`
	Refused   string    `json:"refused,omitempty"` // why nothing was measured
	Runs      []float64 `json:"runs,omitempty"`    // seconds of each
	Clock     string    `json:"clock,omitempty"`   // "host" where it is not the device's
	Seconds   float64   `json:"seconds,omitempty"`
	GFLOPs    float64   `json:"gflops,omitempty"`
	PeakShare float64   `json:"peak_share,omitempty"`
	RelError  float64   `json:"rel_error"`
	Scratch   int64     `json:"scratch"`

	// With transfers, by the host's clock: copy A and B, multiply, copy C.
	TransferRuns    []float64 `json:"transfer_runs,omitempty"`
	TransferSeconds float64   `json:"transfer_seconds,omitempty"`
}

// summarise makes seconds and rates of the runs.
func (m *GEMMMeasurement) summarise(c GEMMCase) {
	m.Seconds = facts.Median(m.Runs)
	m.GFLOPs = float64(c.FLOPs()) / m.Seconds / 1e9
	if len(m.TransferRuns) > 0 {
		m.TransferSeconds = facts.Median(m.TransferRuns)
	}
}

// GEMMRow is one product by every variant.
type GEMMRow struct {
	GEMMCase
	Results []GEMMMeasurement `json:"results"`
}

// GEMMReport is a suite of products as measured.
type GEMMReport struct {
	Suite   string           `json:"suite"`
	Scale   int              `json:"scale"` // the sides were divided by it
	Device  *clrt.DeviceInfo `json:"device"`
	PeakFMA float64          `json:"peak_fma"` // measured, operations per second
	Rows    []GEMMRow        `json:"rows"`
}

// GEMM measures a product by each variant on the device of cl and by the host. rates are
// the operations per second that they reached on a smaller product, by name, or nil: a
// product that would pass o.Limit several times at that rate is not tried. They are updated.
func GEMM(ctx context.Context, cl *clrt.Context, c GEMMCase, variants []*gemm.Variant, peak float64, rates map[string]float64, o Options) (*GEMMRow, error) {
	o = o.complete()
	row := &GEMMRow{GEMMCase: c}
	q, err := cl.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	add := func(name, layout string, measure func(*GEMMMeasurement) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := GEMMMeasurement{Variant: name, Layout: layout}
		err := tooSlow(rates[name], c.FLOPs(), o.Limit)
		if err == nil {
			err = measure(&m)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			m = GEMMMeasurement{Variant: name, Layout: layout, Refused: err.Error()}
		} else if rates != nil {
			rates[name] = m.GFLOPs * 1e9
		}
		if peak > 0 && m.Clock == "" {
			m.PeakShare = m.GFLOPs * 1e9 / peak
		}
		row.Results = append(row.Results, m)
		return nil
	}
	for _, v := range variants {
		layout := v.A.String()
		if v.B != v.A {
			layout += " x " + v.B.String()
		}
		if err := add(v.Name, layout, func(m *GEMMMeasurement) error { return measureGEMM(ctx, cl, q, c, v, o, m) }); err != nil {
			return row, err
		}
	}
	for _, h := range []Host{HostLoops, HostGEMM} {
		if err := add(h.Name(), gemm.RowMajor.String(), func(m *GEMMMeasurement) error { return hostProduct(ctx, c, h, o, m) }); err != nil {
			return row, err
		}
	}
	return row, nil
}

// tooSlow refuses work of which a single run would take more than the limit.
func tooSlow(rate float64, flops int64, limit time.Duration) error {
	if rate <= 0 {
		return nil
	}
	if t := float64(flops) / rate; t > limit.Seconds() {
		return fmt.Errorf("would take about %.1f s at the rate of the product before, the limit is %.1f s", t, limit.Seconds())
	}
	return nil
}

// operands are a product's matrices on the device.
type operands struct {
	GEMMCase
	layout     gemm.Layout // of C
	a, b, c    *clrt.Buffer
	rawA, rawB []byte // as uploaded
}

func newOperands(cl *clrt.Context, q *clrt.Queue, c GEMMCase, v *gemm.Variant) (o *operands, err error) {
	o = &operands{GEMMCase: c, layout: v.C, rawA: placed(v.A, c.M, c.K, c.aValue), rawB: placed(v.B, c.K, c.N, c.bValue)}
	if o.a, err = cl.NewBuffer(int64(len(o.rawA)), "A"); err == nil {
		if o.b, err = cl.NewBuffer(int64(len(o.rawB)), "B"); err == nil {
			o.c, err = cl.NewBuffer(4*int64(v.C.Len(c.M, c.N)), "C")
		}
	}
	if err == nil {
		err = o.upload(q)
	}
	if err == nil { // what is not written shows
		err = q.Fill(o.c, 0, o.c.Size(), []byte{0xff, 0xff, 0xff, 0xff})
	}
	if err != nil {
		o.close()
	}
	return o, err
}

// placed is a matrix in a layout, zero where blocks are padded.
func placed(l gemm.Layout, rows, cols int, value func(i, j int) float32) []byte {
	raw := make([]byte, 4*l.Len(rows, cols))
	each(rows, func(i int) {
		for j := range cols {
			binary.LittleEndian.PutUint32(raw[4*l.Index(rows, cols, i, j):], math.Float32bits(value(i, j)))
		}
	})
	return raw
}

func (o *operands) upload(q *clrt.Queue) error {
	if err := q.Write(o.a, 0, o.rawA); err != nil {
		return err
	}
	return q.Write(o.b, 0, o.rawB)
}

func (c GEMMCase) aValue(i, j int) float32 { return tune.Uniform(uint64(i*c.K + j)) }
func (c GEMMCase) bValue(i, j int) float32 { return tune.Uniform(weightSeed + uint64(i*c.N+j)) }

func (o *operands) close() {
	for _, b := range []*clrt.Buffer{o.a, o.b, o.c} {
		if b != nil {
			b.Close()
		}
	}
}

func measureGEMM(ctx context.Context, cl *clrt.Context, q *clrt.Queue, c GEMMCase, v *gemm.Variant, o Options, m *GEMMMeasurement) error {
	ops, err := newOperands(cl, q, c, v)
	if err != nil {
		return err
	}
	defer ops.close()
	p := v.Open(cl)
	defer p.Close()
	multiply := func() error { return p.Run(q, c.M, c.N, c.K, ops.a, ops.b, ops.c, nil) }
	run := func() (float64, error) { return q.Seconds(multiply) }
	if _, err := run(); err != nil {
		return err
	}
	for start := time.Now(); len(m.Runs) < o.Repeat; {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := run()
		if err != nil {
			return err
		}
		if m.Runs = append(m.Runs, t); time.Since(start) > o.Limit {
			break
		}
	}
	if o.Transfers {
		if err := ops.transfers(q, multiply, m); err != nil {
			return err
		}
	}
	m.summarise(c)
	m.Scratch = p.Scratch(c.M, c.N, c.K)
	m.RelError, err = ops.relError(q, o.Samples)
	return err
}

// transfers times A's and B's way to the device, the product, and C's way back.
func (o *operands) transfers(q *clrt.Queue, multiply func() error, m *GEMMMeasurement) error {
	out := make([]byte, o.c.Size())
	for range len(m.Runs) {
		start := time.Now()
		if err := o.upload(q); err != nil {
			return err
		}
		if err := multiply(); err != nil {
			return err
		}
		if err := q.Read(o.c, 0, out); err != nil {
			return err
		}
		m.TransferRuns = append(m.TransferRuns, time.Since(start).Seconds())
	}
	return nil
}

// hostProduct fills m for the host: by Gonum's product on all cores, or in plain loops on
// one.
func hostProduct(ctx context.Context, c GEMMCase, h Host, o Options, m *GEMMMeasurement) error {
	values := func(rows, cols int, value func(i, j int) float32) []float32 {
		v := make([]float32, rows*cols)
		each(rows, func(i int) {
			for j := range cols {
				v[i*cols+j] = value(i, j)
			}
		})
		return v
	}
	a, b, out := values(c.M, c.K, c.aValue), values(c.K, c.N, c.bValue), make([]float32, c.M*c.N)
	multiply := func() {
		gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, c.M, c.N, c.K, 1, a, c.K, b, c.N, 0, out, c.N)
	}
	if h == HostLoops {
		multiply = func() { loops(c, a, b, out) }
	}
	multiply()
	for begin := time.Now(); len(m.Runs) < o.Repeat; {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		multiply()
		if m.Runs = append(m.Runs, time.Since(start).Seconds()); time.Since(begin) > o.Limit {
			break
		}
	}
	m.Clock = hostClock
	m.summarise(c)
	var err error
	m.RelError, err = c.relError(o.Samples, func(i, j int) (float64, error) { return float64(out[i*c.N+j]), nil })
	return err
}

// loops is the definition.
func loops(c GEMMCase, a, b, out []float32) {
	for i := range c.M {
		for j := range c.N {
			sum := float32(0)
			for t := range c.K {
				sum += a[i*c.K+t] * b[t*c.N+j]
			}
			out[i*c.N+j] = sum
		}
	}
}

// relError compares what the device has of C with float64.
func (o *operands) relError(q *clrt.Queue, samples int) (float64, error) {
	raw := make([]byte, 4)
	return o.GEMMCase.relError(samples, func(i, j int) (float64, error) {
		err := q.Read(o.c, 4*int64(o.layout.Index(o.M, o.N, i, j)), raw)
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), err
	})
}

// relError compares a random sample of elements, the last among them, with float64.
func (c GEMMCase) relError(samples int, get func(i, j int) (float64, error)) (float64, error) {
	rng := rand.New(rand.NewPCG(uint64(c.FLOPs()), 2))
	var sum, refs float64
	for s := range samples {
		i, j := rng.IntN(c.M), rng.IntN(c.N)
		if s == 0 {
			i, j = c.M-1, c.N-1
		}
		want := 0.0
		for k := range c.K {
			want += float64(c.aValue(i, k)) * float64(c.bValue(k, j))
		}
		got, err := get(i, j)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(got) || math.IsInf(got, 0) {
			return 0, fmt.Errorf("wrong result: element (%d,%d) is %v, not %g", i, j, got, want)
		}
		sum, refs = sum+(got-want)*(got-want), refs+want*want
	}
	e := math.Sqrt(sum / refs)
	if e > 0.01 {
		return e, fmt.Errorf("wrong result: the relative error is %.3g", e)
	}
	return e, nil
}

// WriteText writes a table with a line for each product and variant.
func (r *GEMMReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "suite %s, sides 1/%d, on %s", r.Suite, r.Scale, r.Device.Name)
	if r.PeakFMA > 0 {
		fmt.Fprintf(w, ", FMA peak %.0f GFLOP/s measured", r.PeakFMA/1e9)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\n\nM=N=K\tvariant\tlayout\tms\tmean ± deviation\tGFLOP/s\tpeak\trel. error\tscratch\t")
	transfers := r.transfers()
	if transfers {
		fmt.Fprint(t, "with transfers\t")
	}
	fmt.Fprintln(t)
	for _, row := range r.Rows {
		name := row.GEMMCase.String()
		for _, m := range row.Results {
			if m.Refused != "" {
				fmt.Fprintf(t, "%s\t%s\t%s\t-\t-\t-\t-\t-\t-\t", name, m.Variant, m.Layout)
			} else {
				fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%s\t%.1f\t%s\t%.2g\t%s\t", name, m.Variant, m.Layout, m.Seconds*1e3, spread(m.Runs), m.GFLOPs, percent(m.PeakShare), m.RelError, bench.FormatBytes(m.Scratch))
			}
			if transfers {
				fmt.Fprintf(t, "%s\t", spread(m.TransferRuns))
			}
			fmt.Fprintln(t)
			name = ""
		}
	}
	return t.Flush()
}

func (r *GEMMReport) transfers() bool {
	for _, row := range r.Rows {
		for _, m := range row.Results {
			if m.TransferSeconds > 0 {
				return true
			}
		}
	}
	return false
}

// Chart is the suite's rates, a group of bars for each product.
func (r *GEMMReport) Chart() *Chart {
	c := &Chart{Title: fmt.Sprintf("matrix products, fp32: %s", r.Device.Name), XLabel: "sides M=N=K", YLabel: "GFLOP/s"}
	for i, row := range r.Rows {
		c.Groups = append(c.Groups, row.GEMMCase.String())
		var v []float64
		for _, m := range row.Results {
			if i == 0 {
				c.Series = append(c.Series, m.Variant)
			}
			v = append(v, m.GFLOPs)
		}
		c.Values = append(c.Values, v)
	}
	return c
}
