package exec

import (
	"errors"
	"fmt"
	"math"
	"time"

	"enhance/clrt"
)

// Rates is what was measured of a device for the prices of plans. A nil Rates is
// that of a device nothing is known of: then rough figures by kind take its place.
type Rates struct {
	Launch float64 // seconds that a launch adds to a busy queue
	Hop    float64 // seconds from the end of one queue's command to the start of another's that waits for it
	Up     float64 // bytes per second from the host
	Down   float64 // and to it
	Both   float64 // in both directions together, at once
	Memory float64 // bytes per second that a kernel reads and writes
}

// String is the form that ParseRates reads.
func (r *Rates) String() string {
	return fmt.Sprintf("launch=%.4g hop=%.4g up=%.4g down=%.4g both=%.4g memory=%.4g", r.Launch, r.Hop, r.Up, r.Down, r.Both, r.Memory)
}

// ParseRates reads what String wrote.
func ParseRates(s string) (*Rates, error) {
	r := &Rates{}
	n, err := fmt.Sscanf(s, "launch=%g hop=%g up=%g down=%g both=%g memory=%g", &r.Launch, &r.Hop, &r.Up, &r.Down, &r.Both, &r.Memory)
	if err != nil || n != 6 {
		return nil, fmt.Errorf("exec: rates %q: want launch, hop, up, down, both and memory", s)
	}
	for _, v := range []float64{r.Launch, r.Hop, r.Up, r.Down, r.Both, r.Memory} {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("exec: rates %q: all must be positive", s)
		}
	}
	return r, nil
}

const ratesSource = `
kernel void rates_nothing(global float4 *a) { if (get_global_id(0) == 1u << 30) a[0] = 0; }
kernel void rates_copy(global const float4 *a, global float4 *b) { b[get_global_id(0)] = a[get_global_id(0)]; }
`

// MeasureRates measures the device of ctx, in about a tenth of a second, holding
// at most budget bytes there. On a device that shares the host's memory all is
// in one queue, as it is in a run.
func MeasureRates(ctx *clrt.Context, shared bool, budget int64) (r *Rates, err error) {
	m := &rateMeter{shared: shared, n: 16 << 20}
	m.n = max(min(m.n, budget/4), 64<<10) / 16 * 16
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	r = &Rates{}
	for _, f := range []func(*Rates) error{m.launches, m.hops, m.memory, m.link} {
		if err := f(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// rateMeter holds what the measurements need: queues, two buffers of n bytes and
// as much of the host's memory.
type rateMeter struct {
	queues
	shared        bool
	n             int64
	dev           [2]*clrt.Buffer
	host          [2][]byte
	pinned        *clrt.HostMemory
	program       *clrt.Program
	nothing, copy *clrt.Kernel
}

func (m *rateMeter) open(ctx *clrt.Context) error {
	var err error
	if m.queues, err = newQueues(m.shared, ctx.NewUntimedQueue); err != nil {
		return err
	}
	q := m.compute
	for i := range m.dev {
		if m.dev[i], err = ctx.NewBuffer(m.n, "measurement of rates"); err != nil {
			return err
		}
		if err := q.Fill(m.dev[i], 0, m.n, []byte{0, 0, 0, 0}); err != nil {
			return err
		}
		m.host[i] = make([]byte, m.n)
	}
	if !m.shared {
		if m.pinned, err = ctx.NewHostMemory(q, 2*m.n, "measurement of rates"); err != nil {
			return err
		}
		m.host[0], m.host[1] = m.pinned.Bytes()[:m.n], m.pinned.Bytes()[m.n:]
	}
	for _, h := range m.host {
		clear(h) // touched
	}
	if m.program, err = ctx.Build(ratesSource, "-cl-std=CL1.2"); err != nil {
		return err
	}
	if m.nothing, err = m.program.Kernel("rates_nothing"); err != nil {
		return err
	}
	if m.copy, err = m.program.Kernel("rates_copy"); err != nil {
		return err
	}
	return errors.Join(m.nothing.SetArgs(m.dev[0]), m.copy.SetArgs(m.dev[0], m.dev[1]), q.Finish())
}

// close releases what open made, as far as it came.
func (m *rateMeter) close() error {
	if m.compute == nil {
		return nil
	}
	err := errors.Join(m.finish(), m.pinned.Close(), m.nothing.Close(), m.copy.Close(), m.program.Close())
	for _, b := range m.dev {
		err = errors.Join(err, b.Close())
	}
	return errors.Join(err, m.queues.close(), m.compute.Close())
}

// best is the least time of three that do takes, all queues being idle before and
// after, of n alike parts.
func (m *rateMeter) best(n int, do func() error) (float64, error) {
	least := math.Inf(1)
	for range 4 {
		start := time.Now()
		for range n {
			if err := do(); err != nil {
				return 0, err
			}
		}
		if err := m.finish(); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start).Seconds())
	}
	return max(least/float64(n), 1e-9), nil
}

func (m *rateMeter) launches(r *Rates) (err error) {
	r.Launch, err = m.best(200, func() error { return m.compute.LaunchQuiet(m.nothing, []int{1024}, []int{64}) })
	return err
}

// hops sends work from queue to queue and back.
func (m *rateMeter) hops(r *Rates) error {
	if m.shared {
		r.Hop = r.Launch
		return nil
	}
	t, err := m.best(50, func() error {
		return errors.Join(m.compute.LaunchQuiet(m.nothing, []int{1024}, []int{64}), m.await(m.upload, m.compute),
			m.upload.LaunchQuiet(m.nothing, []int{1024}, []int{64}), m.await(m.compute, m.upload))
	})
	r.Hop = t / 2
	return err
}

func (m *rateMeter) memory(r *Rates) error {
	t, err := m.best(8, func() error { return m.compute.LaunchQuiet(m.copy, []int{int(m.n / 16)}, nil) })
	r.Memory = float64(2*m.n) / t
	return err
}

func (m *rateMeter) link(r *Rates) error {
	send := func() error {
		ev, err := m.upload.WriteAsync(m.dev[0], 0, m.host[0])
		if err != nil {
			return err
		}
		return errors.Join(ev.Close(), m.upload.Flush())
	}
	fetch := func() error {
		ev, err := m.download.ReadAsync(m.dev[1], 0, m.host[1])
		if err != nil {
			return err
		}
		return errors.Join(ev.Close(), m.download.Flush())
	}
	up, err := m.best(4, send)
	if err != nil {
		return err
	}
	down, err := m.best(4, fetch)
	if err != nil {
		return err
	}
	both, err := m.best(4, func() error { return errors.Join(send(), fetch()) })
	r.Up, r.Down, r.Both = float64(m.n)/up, float64(m.n)/down, float64(2*m.n)/both
	return err
}
