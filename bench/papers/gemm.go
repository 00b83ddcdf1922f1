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

	"enhance/bench"
	"enhance/clrt"
	"enhance/conv/gemm"
)

// GEMMMeasurement is one variant on one product.
type GEMMMeasurement struct {
	Variant   string    `json:"variant"`
	Layout    string    `json:"layout"`
	Refused   string    `json:"refused,omitempty"` // why nothing was measured
	Runs      []float64 `json:"runs,omitempty"`    // seconds of each, by the device's clock
	Seconds   float64   `json:"seconds,omitempty"`
	GFLOPs    float64   `json:"gflops,omitempty"`
	PeakShare float64   `json:"peak_share,omitempty"`
	RelError  float64   `json:"rel_error"`
	Scratch   int64     `json:"scratch"`
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

// GEMM measures a product by each variant on the device of cl. rates are the
// operations per second that variants reached on a smaller product, by name, or
// nil: a product that would pass o.Limit several times at that rate is not tried.
// They are updated.
func GEMM(ctx context.Context, cl *clrt.Context, c GEMMCase, variants []*gemm.Variant, peak float64, rates map[string]float64, o Options) (*GEMMRow, error) {
	o = o.complete()
	row := &GEMMRow{GEMMCase: c}
	q, err := cl.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	for _, v := range variants {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		m := GEMMMeasurement{Variant: v.Name, Layout: v.Layout.String()}
		err := tooSlow(rates[v.Name], c.FLOPs(), o.Limit)
		if err == nil {
			err = measureGEMM(ctx, cl, q, c, v, o, &m)
		}
		if ctx.Err() != nil {
			return row, ctx.Err()
		}
		if err != nil {
			m = GEMMMeasurement{Variant: m.Variant, Layout: m.Layout, Refused: err.Error()}
		} else if rates != nil {
			rates[v.Name] = m.GFLOPs * 1e9
		}
		if peak > 0 {
			m.PeakShare = m.GFLOPs * 1e9 / peak
		}
		row.Results = append(row.Results, m)
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
	layout  gemm.Layout
	a, b, c *clrt.Buffer
}

func newOperands(cl *clrt.Context, q *clrt.Queue, c GEMMCase, l gemm.Layout) (o *operands, err error) {
	o = &operands{GEMMCase: c, layout: l}
	upload := func(rows, cols int, value func(i, j int) float32, what string) (*clrt.Buffer, error) {
		raw := make([]byte, 4*l.Len(rows, cols)) // zero where blocks are padded
		each(rows, func(i int) {
			for j := range cols {
				binary.LittleEndian.PutUint32(raw[4*l.Index(rows, cols, i, j):], math.Float32bits(value(i, j)))
			}
		})
		b, err := cl.NewBuffer(int64(len(raw)), what)
		if err != nil {
			return nil, err
		}
		return b, q.Write(b, 0, raw)
	}
	if o.a, err = upload(c.M, c.K, c.aValue, "A"); err == nil {
		if o.b, err = upload(c.K, c.N, c.bValue, "B"); err == nil {
			o.c, err = cl.NewBuffer(4*int64(l.Len(c.M, c.N)), "C")
		}
	}
	if err == nil { // what is not written shows
		err = q.Fill(o.c, 0, o.c.Size(), []byte{0xff, 0xff, 0xff, 0xff})
	}
	if err != nil {
		o.close()
	}
	return o, err
}

func (c GEMMCase) aValue(i, j int) float32 { return uniform(uint64(i*c.K + j)) }
func (c GEMMCase) bValue(i, j int) float32 { return uniform(weightSeed + uint64(i*c.N+j)) }

func (o *operands) close() {
	for _, b := range []*clrt.Buffer{o.a, o.b, o.c} {
		if b != nil {
			b.Close()
		}
	}
}

func measureGEMM(ctx context.Context, cl *clrt.Context, q *clrt.Queue, c GEMMCase, v *gemm.Variant, o Options, m *GEMMMeasurement) error {
	ops, err := newOperands(cl, q, c, v.Layout)
	if err != nil {
		return err
	}
	defer ops.close()
	p := v.Open(cl)
	defer p.Close()
	run := func() (float64, error) {
		return q.Seconds(func() error { return p.Run(q, c.M, c.N, c.K, ops.a, ops.b, ops.c, nil) })
	}
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
	m.Seconds = bench.Median(m.Runs)
	m.GFLOPs = float64(c.FLOPs()) / m.Seconds / 1e9
	m.Scratch = p.Scratch(c.M, c.N, c.K)
	m.RelError, err = ops.relError(q, o.Samples)
	return err
}

// relError compares a random sample of elements, the last among them, with float64.
func (o *operands) relError(q *clrt.Queue, samples int) (float64, error) {
	rng := rand.New(rand.NewPCG(uint64(o.FLOPs()), 2))
	raw := make([]byte, 4)
	var sum, refs float64
	for s := range samples {
		i, j := rng.IntN(o.M), rng.IntN(o.N)
		if s == 0 {
			i, j = o.M-1, o.N-1
		}
		if err := q.Read(o.c, 4*int64(o.layout.Index(o.M, o.N, i, j)), raw); err != nil {
			return 0, err
		}
		want := 0.0
		for k := range o.K {
			want += float64(o.aValue(i, k)) * float64(o.bValue(k, j))
		}
		got := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
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
	fmt.Fprintln(t, "\n\nM=N=K\tvariant\tms\tGFLOP/s\tpeak\trel. error\tscratch\t")
	for _, row := range r.Rows {
		name := row.GEMMCase.String()
		for _, m := range row.Results {
			if m.Refused != "" {
				fmt.Fprintf(t, "%s\t%s\t-\t-\t-\t-\t-\t\n", name, m.Variant)
			} else {
				fmt.Fprintf(t, "%s\t%s\t%.3f\t%.1f\t%s\t%.2g\t%s\t\n", name, m.Variant, m.Seconds*1e3, m.GFLOPs, percent(m.PeakShare), m.RelError, bench.FormatBytes(m.Scratch))
			}
			name = ""
		}
	}
	return t.Flush()
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
