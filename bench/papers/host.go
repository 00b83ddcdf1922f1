package papers

import (
	"context"
	"time"

	"enhance/bench"
	"enhance/conv"
)

// hostClock says that seconds are the host's.
const hostClock = "host"

// measureHost fills m for im2col on the host's cores with the product on the
// device. Its input comes from the host's memory, so its time is the host's, from
// there to the result on the device; with transfers, to the result on the host.
func (p *place) measureHost(ctx context.Context, m *Measurement) error {
	before := p.cl.Live()
	h, err := conv.NewHostIm2col(p.cl, p.q, p.c.Shape(), p.o.Precision, p.weightValues, p.biasValues, 0)
	if err != nil {
		return err
	}
	defer h.Close()
	m.Weights = 4 * int64(h.PackedLen())
	m.Scratch = p.cl.Live() - before - m.Weights
	src := make([]float32, p.c.C*p.c.H*p.c.W)
	each(p.c.C, func(c int) {
		for i := range p.c.H * p.c.W {
			src[c*p.c.H*p.c.W+i] = p.values.input(c, i/p.c.W, i%p.c.W)
		}
	})
	run := func() error { return h.Run(src, &conv.Args{Dst: p.dst}) }
	if err := run(); err != nil {
		return err
	}
	out := make([]byte, p.dst.Buf.Size())
	var whole []float64
	for begin := time.Now(); len(m.Runs) < p.o.Repeat; {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		if err := run(); err != nil {
			return err
		}
		m.Runs = append(m.Runs, time.Since(start).Seconds())
		if err := p.q.Read(p.dst.Buf, 0, out); err != nil {
			return err
		}
		whole = append(whole, time.Since(start).Seconds())
		if time.Since(begin) > p.o.Limit {
			break
		}
	}
	m.Clock, m.Rows, m.LaunchRows = hostClock, p.c.H, p.c.H
	m.Seconds = bench.Median(m.Runs)
	m.GFLOPs = float64(p.c.FLOPs(p.c.H)) / m.Seconds / 1e9
	if p.o.Transfers {
		m.TransferSeconds = bench.Median(whole)
		m.TransferGFLOPs = float64(p.c.FLOPs(p.c.H)) / m.TransferSeconds / 1e9
	}
	return p.check(p.c.H, run, m)
}
