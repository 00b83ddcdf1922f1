package papers

import (
	"context"
	"fmt"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/peak"
	"enhance/internal/planar"
	"enhance/pipeline/facts"
)

// Options of a measurement; zero values take the defaults.
type Options struct {
	Precision planar.Precision
	Repeat    int           // runs that count; 5
	Limit     time.Duration // of the runs of one measurement together; 2 s
	Samples   int           // outputs compared with float64; 256
	Transfers bool          // also time the way to the device and back
	// Whole refuses algorithms whose scratch for a whole plane has no room, instead of
	// launching them for some rows at a time.
	Whole bool
	// Done, if set, is told of every measurement.
	Done func(c Case, m *Measurement)
}

func (o Options) complete() Options {
	if o.Repeat == 0 {
		o.Repeat = 5
	}
	if o.Limit == 0 {
		o.Limit = 2 * time.Second
	}
	if o.Samples == 0 {
		o.Samples = 256
	}
	return o
}

// Measurement is one algorithm on one case.
type Measurement struct {
	Algo    string `json:"algo"`
	Refused string `json:"refused,omitempty"` // why nothing was measured

	// Rows of the plane that were computed: fewer than all where all would have
	// passed the limit. LaunchRows at a time, for want of scratch memory.
	Rows       int       `json:"rows,omitempty"`
	LaunchRows int       `json:"launch_rows,omitempty"`
	Runs       []float64 `json:"runs,omitempty"`  // seconds of each
	Clock      string    `json:"clock,omitempty"` // "host" where it is not the device's
	Seconds    float64   `json:"seconds,omitempty"`
	GFLOPs     float64   `json:"gflops,omitempty"`     // 10^9 operations per second
	PeakShare  float64   `json:"peak_share,omitempty"` // of the unit that the algorithm uses, see peak.Units

	RelError float64 `json:"rel_error"` // root mean square error by root mean square output
	MaxError float64 `json:"max_error"` // largest error by root mean square output
	Scratch  int64   `json:"scratch"`   // bytes
	Weights  int64   `json:"weights"`   // bytes, as packed

	// With transfers, by the host's clock: copy the input, run, copy the output.
	TransferRuns    []float64 `json:"transfer_runs,omitempty"`
	TransferSeconds float64   `json:"transfer_seconds,omitempty"`
	TransferGFLOPs  float64   `json:"transfer_gflops,omitempty"`
}

// summarise makes seconds and rates of the runs.
func (m *Measurement) summarise(c Case) {
	m.Seconds = facts.Median(m.Runs)
	m.GFLOPs = float64(c.FLOPs(m.Rows)) / m.Seconds / 1e9
	if len(m.TransferRuns) > 0 {
		m.TransferSeconds = facts.Median(m.TransferRuns)
		m.TransferGFLOPs = float64(c.FLOPs(m.Rows)) / m.TransferSeconds / 1e9
	}
}

// ConvRow is one case by every algorithm.
type ConvRow struct {
	Case
	Winner    string        `json:"winner"`              // by speed and error, "" if none is right
	Automatic string        `json:"automatic,omitempty"` // what runs take without tuning
	Results   []Measurement `json:"results"`
}

// Conv measures a case in each of the ways on the device of cl, which must hold no
// other buffers; caps are what the algorithms are told of it. What refuses the case, or
// does not fit the device, has a measurement that says why. Rates are shares of peaks.
func Conv(ctx context.Context, cl *clrt.Context, caps conv.Caps, c Case, ways []Way, peaks peak.Units, o Options) (*ConvRow, error) {
	o = o.complete()
	row := &ConvRow{Case: c}
	p, err := newPlace(cl, caps, c, o)
	if err != nil {
		return nil, fmt.Errorf("case %s (%s): %w", c.Name, c, err)
	}
	defer p.close()
	for _, w := range ways {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		m := Measurement{Algo: w.Name()}
		if err := p.measureWay(ctx, w, &m); err != nil {
			if ctx.Err() != nil {
				return row, ctx.Err()
			}
			m = Measurement{Algo: w.Name(), Refused: err.Error()}
		}
		if peak, _ := peaks.Of(m.Algo); peak > 0 && m.GFLOPs > 0 && m.Clock != hostClock {
			m.PeakShare = m.GFLOPs * 1e9 / peak
		}
		row.Results = append(row.Results, m)
		if o.Done != nil {
			o.Done(c, &m)
		}
	}
	row.judge(o.Precision.String())
	return row, nil
}

// measure fills m for one algorithm.
func (p *place) measure(ctx context.Context, a conv.Algo, m *Measurement) error {
	impl, err := a.New(p.caps, p.c.Shape(), p.o.Precision)
	if err != nil {
		return err
	}
	r := &rig{place: p, impl: impl}
	defer r.close()
	if err := r.open(); err != nil {
		return err
	}
	m.Scratch, m.LaunchRows, m.Weights = r.scratchBytes(), r.stripRows, r.weights.Size()
	rows, first, err := r.howMany()
	if err != nil {
		return err
	}
	m.Rows = rows
	if first > p.o.Limit.Seconds() { // it has run twice, and once is too long
		m.Runs = []float64{first}
	} else if m.Runs, err = r.repeat(ctx, rows); err != nil {
		return err
	}
	if p.o.Transfers {
		if err := r.transfers(rows, m); err != nil {
			return err
		}
	}
	m.summarise(p.c)
	return r.check(rows, func() error { return r.launch(rows) }, m)
}

// rig is an algorithm ready to run on a place.
type rig struct {
	*place
	impl      conv.Impl
	stripRows int // rows of a launch
	prog      *clrt.Program
	kernels   []*clrt.Kernel
	weights   *clrt.Buffer
	scratch   *clrt.Buffer
}

func (r *rig) open() error {
	if err := r.build(); err != nil {
		return err
	}
	packed := floatBytes(r.impl.Pack(r.weightValues, r.biasValues))
	var err error
	if r.weights, err = r.cl.NewBuffer(int64(len(packed)), "weights"); err != nil {
		return err
	}
	if err := r.q.Write(r.weights, 0, packed); err != nil {
		return err
	}
	g := max(r.impl.Granule(), 1)
	room := r.roomForScratch()
	for r.stripRows = r.c.H; r.impl.Scratch(r.stripRows) > room && r.stripRows > g && !r.o.Whole; {
		r.stripRows = max((r.stripRows/2+g-1)/g*g, g)
	}
	n := r.impl.Scratch(r.stripRows)
	if n > room {
		return fmt.Errorf("needs %d bytes of scratch for %d rows, the device has room for %d", n, r.stripRows, room)
	}
	if n == 0 {
		return nil
	}
	if r.scratch, err = r.cl.NewBuffer(n, "scratch"); err != nil {
		return err
	}
	return r.scratch.Touch(r.q)
}

func (r *rig) build() error {
	var err error
	if r.prog, err = r.cl.Build(conv.ProgramSource(r.impl, r.o.Precision, conv.Shape{}), conv.BuildOptions); err != nil {
		return err
	}
	for _, k := range r.impl.Kernels() {
		kernel, err := r.prog.Kernel(k.Name)
		if err != nil {
			return err
		}
		r.kernels = append(r.kernels, kernel)
	}
	return nil
}

func (r *rig) scratchBytes() int64 {
	if r.scratch == nil {
		return 0
	}
	return r.scratch.Size()
}

func (r *rig) close() {
	r.q.Finish()
	for _, k := range r.kernels {
		k.Close()
	}
	if r.prog != nil {
		r.prog.Close()
	}
	for _, b := range []*clrt.Buffer{r.weights, r.scratch} {
		if b != nil {
			b.Close()
		}
	}
}

// launch enqueues the first rows rows of the convolution of every picture.
func (r *rig) launch(rows int) error {
	for n := range r.src {
		for y := 0; y < rows; y += r.stripRows {
			a := &conv.Args{Src: r.src[n : n+1], Dst: r.dst[n], Y0: y, Y1: min(y+r.stripRows, rows), Scratch: r.scratch}
			if err := r.impl.Launch(r.q, r.kernels, r.weights, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// run computes rows rows and returns the device's seconds.
func (r *rig) run(rows int) (float64, error) {
	return r.q.Seconds(func() error { return r.launch(rows) })
}

// repeat runs rows rows once without counting, so that caches, clocks and page
// tables are warm, and then until there are enough runs or the limit is reached.
func (r *rig) repeat(ctx context.Context, rows int) (runs []float64, err error) {
	if _, err := r.run(rows); err != nil {
		return nil, err
	}
	for start := time.Now(); len(runs) < r.o.Repeat; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := r.run(rows)
		if err != nil {
			return nil, err
		}
		if runs = append(runs, t); time.Since(start) > r.o.Limit {
			break
		}
	}
	return runs, nil
}

// leastCut is how many rows a plane has at most that is always run whole: tiles of some
// rows would make a share of it look slow.
const leastCut = 32

// howMany decides how many rows can be run within the limit, by timing few. first
// is the seconds of a run of the few, if those are all that will be run.
func (r *rig) howMany() (rows int, first float64, err error) {
	g, h := max(r.impl.Granule(), 1), r.c.H
	if r.o.Whole || h <= leastCut {
		return h, 0, nil
	}
	few := min(h, max(g, (h/32+g-1)/g*g))
	if _, err := r.run(few); err != nil { // compiles on some devices
		return 0, 0, err
	}
	t, err := r.run(few)
	if err != nil {
		return 0, 0, err
	}
	each := r.o.Limit.Seconds() / float64(r.o.Repeat)
	if t/float64(few)*float64(h) <= each {
		return h, 0, nil
	}
	fit := int(each / t * float64(few))
	if rows = min(h, max(fit/g*g, few)); rows == few {
		first = t
	}
	return rows, first, nil
}

// transfers times the input's way to the device, the run, and the output's way
// back, by the host's clock.
func (r *rig) transfers(rows int, m *Measurement) error {
	if rows < r.c.H {
		return nil // a part of a plane has no honest time of transfer
	}
	host := make([]byte, r.dst[0].Buf.Size())
	for range len(m.Runs) {
		start := time.Now()
		if err := r.q.Write(r.src[0].Buf, 0, r.host); err != nil {
			return err
		}
		if err := r.launch(rows); err != nil {
			return err
		}
		if err := r.q.Read(r.dst[0].Buf, 0, host); err != nil {
			return err
		}
		m.TransferRuns = append(m.TransferRuns, time.Since(start).Seconds())
	}
	return nil
}
