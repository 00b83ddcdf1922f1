// Package peak measures what a device can do at most: multiply-adds a second out
// of registers and bytes copied a second. Benchmarks print their results as
// fractions of these.
package peak

import (
	_ "embed"
	"errors"
	"fmt"

	"enhance/clrt"
	"enhance/internal/kerneltext"
)

//go:embed peak.cl.tmpl
var text string

var kernels = kerneltext.NewTemplate("peak", text, kerneltext.Funcs)

const (
	// enough is how long a measured launch takes at least, in ns: long against
	// the timer's steps and the start of a kernel, short against a time slice of
	// an operating system that shares a CPU device with other programs.
	enough = 3e6
	// tries is how many launches the best is taken of, for the same reason.
	tries = 40
)

// FMA returns the float32 multiply-adds out of registers, in 10^9 floating-point
// operations a second, two each. It is measured by the device's own clock.
func FMA(ctx *clrt.Context) (gflops float64, err error) {
	m, err := open(ctx, "peak_fma")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	info := ctx.Device().Info()
	// Work enough for every unit several times over, in groups that every device
	// allows.
	items, local := 4*max(info.ComputeUnits, 1), 1
	if info.Type != clrt.CPU {
		local = min(256, max(info.MaxWorkGroup, 1))
		items = 32 * max(info.ComputeUnits, 1) * local
	}
	out, err := m.buffer(int64(items) * 4)
	if err != nil {
		return 0, err
	}
	for turns := 1 << 8; ; turns *= 2 {
		// x < 1 and y keep every chain finite.
		if err := m.kernel.SetArgs(out, int32(turns), float32(0.75), float32(0.5)); err != nil {
			return 0, err
		}
		ns, err := m.best([]int{items}, []int{local})
		if err != nil {
			return 0, err
		}
		if ns >= enough || turns >= 1<<29 {
			return 2 * float64(items) * float64(turns) * float64(m.chains*m.vector) / ns, nil
		}
	}
}

// Copy returns the bytes that a kernel reads and writes a second, in 10^9, copying
// a buffer too large for caches: 256 MiB, or a quarter of the largest allocation.
func Copy(ctx *clrt.Context) (gbytes float64, err error) {
	m, err := open(ctx, "peak_copy")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	width := int64(m.copied) * 4
	n := min(256<<20, ctx.Device().Info().MaxAlloc/4) / (width * 64) * (width * 64)
	if n <= 0 {
		return 0, fmt.Errorf("peak: the device allocates at most %d bytes, too few to measure a copy", ctx.Device().Info().MaxAlloc)
	}
	src, err := m.buffer(n)
	if err != nil {
		return 0, err
	}
	dst, err := m.buffer(n)
	if err != nil {
		return 0, err
	}
	if err := m.q.Fill(src, 0, n, []byte{1, 0, 0, 0}); err != nil {
		return 0, err
	}
	if err := m.kernel.SetArgs(src, dst); err != nil {
		return 0, err
	}
	ns, err := m.best([]int{int(n / width)}, []int{min(64, max(ctx.Device().Info().MaxWorkGroup, 1))})
	if err != nil {
		return 0, err
	}
	return 2 * float64(n) / ns, nil
}

// meter is a kernel and what it needs.
type meter struct {
	q                      *clrt.Queue
	kernel                 *clrt.Kernel
	buffers                []*clrt.Buffer
	ctx                    *clrt.Context
	chains, vector, copied int
}

func open(ctx *clrt.Context, name string) (m *meter, err error) {
	info := ctx.Device().Info()
	// A multiply-add takes about four cycles and two start in one; GPUs hide the
	// rest behind other work-items.
	m = &meter{ctx: ctx, chains: 16, vector: 1, copied: 4}
	vec, lane := "float", "s"
	if info.Type == clrt.CPU {
		m.vector, m.copied, m.chains = 8, 16, 12
		switch {
		case info.NativeVectorFloat >= 16:
			m.vector, m.chains = 16, 20
		case info.NativeVectorFloat > 0 && info.NativeVectorFloat < 8:
			m.vector = 4
		}
		vec, lane = fmt.Sprintf("float%d", m.vector), "dot(s.lo, s.hi)"
		if m.vector == 4 {
			lane = "dot(s, s)"
		} else if m.vector == 16 {
			lane = "dot(s.lo.lo, s.lo.hi) + dot(s.hi.lo, s.hi.hi)"
		}
	}
	src := kernels.Fill(struct {
		Vec, Lane    string
		Chains, Copy int
	}{vec, lane, m.chains, m.copied})
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	prog, err := ctx.Build(src, "-cl-std=CL1.2")
	if err != nil {
		return nil, err
	}
	if m.kernel, err = prog.Kernel(name); err != nil {
		prog.Close()
		return nil, err
	}
	if err = prog.Close(); err != nil {
		return nil, err
	}
	m.q, err = ctx.NewQueue()
	return m, err
}

func (m *meter) buffer(n int64) (*clrt.Buffer, error) {
	b, err := m.ctx.NewBuffer(n, "peak")
	if err == nil {
		m.buffers = append(m.buffers, b)
	}
	return b, err
}

// best is the shortest of some launches in ns, after one that warms up.
func (m *meter) best(global, local []int) (float64, error) {
	best := 0.0
	for i := range tries + 1 {
		ev, err := m.q.Launch(m.kernel, global, local)
		if err != nil {
			return 0, err
		}
		_, _, start, end, err := ev.Times()
		if cerr := ev.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return 0, err
		}
		if ns := float64(end - start); i > 0 && (best == 0 || ns < best) {
			best = max(ns, 1)
		}
	}
	return best, nil
}

func (m *meter) close() error {
	var errs []error
	if m.q != nil {
		errs = append(errs, m.q.Close())
	}
	if m.kernel != nil {
		errs = append(errs, m.kernel.Close())
	}
	for _, b := range m.buffers {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
