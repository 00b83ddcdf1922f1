package papers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"enhance/bench"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/peak"
)

// Order is a suite's run on a device as it was asked for.
type Order struct {
	Suite *Suite
	Scale int    // the planes' sides are divided by it
	Algos string // patterns, see [Suite.Pick]
	Options
	Compiler clrt.Compiler // compiles kernels beforehand on GPUs; nil: this process
	// Note, if set, is told of what is worth knowing before anything is measured.
	Note func(text string)
}

// OptionError says that an order cannot be done as it was asked for.
type OptionError struct{ text string }

func (e *OptionError) Error() string { return e.text }

// Experiment is an order made out for a device.
type Experiment struct {
	Order
	dev   *clrt.Device
	caps  conv.Caps
	cases []Case
	ways  []Way
}

// On makes the order out for a device. Algorithms that are asked for by name and do
// nothing are noted; it is an *OptionError if none does anything.
func (o Order) On(dev *clrt.Device) (*Experiment, error) {
	x := &Experiment{Order: o, dev: dev}
	x.Transfers = x.Transfers || o.Suite.Transfers
	x.Whole = x.Whole || o.Suite.Splits
	var err error
	if x.caps, err = bench.Caps(dev); err != nil {
		return nil, err
	}
	for _, c := range o.Suite.Cases {
		x.cases = append(x.cases, c.Scaled(o.Scale))
	}
	if x.ways, err = o.Suite.Pick(x.caps, o.Algos); err != nil {
		return nil, &OptionError{"--algo: " + err.Error()}
	}
	return x, x.refuseIdle()
}

func (x *Experiment) refuseIdle() error {
	if x.Algos == "" {
		return nil
	}
	idle := Idle(x.caps, x.cases, x.ways, x.Precision)
	if len(idle) == len(x.ways) && len(idle) > 0 {
		const most = 3 // a pattern may name them all
		why := strings.Join(idle[:min(len(idle), most)], "; ")
		if n := len(idle) - most; n > 0 {
			why += fmt.Sprintf("; and %d more", n)
		}
		return &OptionError{"--algo: " + why}
	}
	if strings.ContainsAny(x.Algos, "*?[") { // what a pattern finds nobody asked for by name
		return nil
	}
	for _, why := range idle {
		x.note(why)
	}
	return nil
}

func (x *Experiment) note(text string) {
	if x.Note != nil {
		x.Note(text)
	}
}

// Run measures all cases.
func (x *Experiment) Run(ctx context.Context) (*ConvReport, error) {
	direct := conv.Direct(x.caps).Name()
	r := &ConvReport{Suite: x.Suite.Name, Scale: x.Scale, Precision: x.Precision.String(), Device: x.dev.Info(), Columns: resolve(x.Suite.Columns, direct)}
	var err error
	if r.Peaks, err = bench.Units(x.dev, x.caps.Matrix, x.caps.Warpgroup); err != nil {
		return nil, err
	}
	if err := x.compile(); err != nil {
		return nil, err
	}
	for _, c := range x.cases {
		row, err := x.row(ctx, c, r.Peaks)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, *row)
	}
	for _, base := range x.Suite.Baselines(direct) {
		r.Ratios = append(r.Ratios, Ratios(r.Rows, base)...)
	}
	return r, nil
}

// row measures a case in a context of its own, so that nothing of it outlives it.
func (x *Experiment) row(ctx context.Context, c Case, peaks peak.Units) (*ConvRow, error) {
	cl, err := clrt.NewContext(x.dev)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	row, err := Conv(ctx, cl, x.caps, c, x.ways, peaks, x.Options)
	if err != nil || x.Suite.Splits {
		return row, err
	}
	chosen, _ := exec.AutoAlgo(x.caps, row.Shape(), conv.Arithmetic{Precision: x.Precision})
	row.Automatic = chosen.Algo.Name()
	return row, nil
}

// compile fills the cache, where there is one and drivers compile whole kernels, as
// those of GPUs do: on CPUs they wait for the size of work-groups.
func (x *Experiment) compile() error {
	if x.dev.Info().Type == clrt.CPU || clrt.CacheDir("programs") == "" {
		return nil
	}
	cl, err := clrt.NewContext(x.dev)
	if err != nil {
		return err
	}
	defer cl.Close()
	if k := x.Compiler; k != nil {
		cl.CompileWith(k)
		defer k.Rest(true) // a process holds memory of the device
	}
	start := time.Now()
	n := Compile(cl, x.caps, x.cases, algos(x.ways), x.Precision)
	x.note(fmt.Sprintf("compiled %d programs in %.1f s, or found them in the cache", n, time.Since(start).Seconds()))
	return nil
}
