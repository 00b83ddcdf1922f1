package pipeline

import (
	"context"
	"runtime"
	"testing"
	"time"

	"enhance/internal/colour"
	"enhance/internal/planar"
	"enhance/internal/usage"
	"enhance/internal/workers"
	"enhance/model"
	"enhance/raw"
)

// BenchmarkHostStages measures what the host does to a photo apart from encoding
// it, by processor time, so that other programs disturb little.
func BenchmarkHostStages(b *testing.B) {
	p, err := raw.Open("../testdata/raw/colorchart.dng", raw.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	m, err := model.Load("pynet-s")
	if err != nil {
		b.Fatal(err)
	}
	g := layout(p.Meta(), &m.Convention)
	mp := float64(g.out.Width()*g.out.Height()) / 1e6
	measure := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			cpu := usage.CPUSeconds()
			for b.Loop() {
				do()
			}
			b.ReportMetric(mp*float64(b.N)/(usage.CPUSeconds()-cpu), "MP/cpu-s")
		})
	}
	stored := make([]uint16, blockRows*p.Meta().Width)
	measure("decode", func() {
		for y := 0; y+blockRows <= p.Meta().Height; y += blockRows {
			if err := p.ReadRows(y, blockRows, stored); err != nil {
				b.Fatal(err)
			}
		}
	})
	a := newReadAhead(context.Background(), p, g.region, blocksOf(g.region), nil, nil)
	defer a.close()
	bal := &balance{gains: [3]float64{2, 1, 1.5}, matrix: colour.Identity(), headroom: 1, output: colour.SRGBEncoding}
	src := newSource(a, g, &m.Convention, newLevels(p.Meta(), &m.Convention, bal.gains, nil, nil))
	for _, prec := range []planar.Precision{planar.FP32, planar.FP16} {
		rows := planar.Rows{C: 4, W: g.w, Precision: prec}
		buf := make([]byte, rows.Bytes(64))
		planes := make([][][]float32, runtime.GOMAXPROCS(0)) // by worker
		for k := range planes {
			planes[k] = [][]float32{make([]float32, g.w), make([]float32, g.w), make([]float32, g.w), make([]float32, g.w)}
		}
		measure("pack "+prec.String(), func() {
			for y := 0; y < g.h; y += 64 {
				last := min(y+64, g.h)
				made, err := src.Rows(y, last)
				if err != nil {
					b.Fatal(err)
				}
				workers.Each(workers.Count(last-y, time.Duration(16*g.w)), last-y, func(worker, i int) {
					made.Row(y+i, planes[worker])
					for c, line := range planes[worker] {
						rows.Put(buf[rows.Bytes(i):], c, line)
					}
				})
				if err := made.End(); err != nil {
					b.Fatal(err)
				}
			}
		})
		out := planar.Rows{C: 3, W: 2 * g.w, Precision: prec}
		made := make([]byte, out.Bytes(64))
		for c := range 3 {
			line := make([]float32, 2*g.w)
			for x := range line {
				line[x] = float32(x%997) / 997
			}
			for y := range 64 {
				out.Put(made[out.Bytes(y):], c, line)
			}
		}
		measure("unpack and develop "+prec.String(), func() {
			d := newDeveloper(g, newRendering(g, &m.Convention, bal, nil), nowhere{}, outBatches, nil, nil)
			for y := 0; y < 2*g.h; y += 64 {
				end := min(y+64, 2*g.h)
				taken, err := d.Rows(y, end)
				if err != nil {
					b.Fatal(err)
				}
				workers.Each(workers.Count(end-y, time.Duration(40*g.w)), end-y, func(_, i int) {
					planes := [][]float32{make([]float32, 2*g.w), make([]float32, 2*g.w), make([]float32, 2*g.w)}
					for c, line := range planes {
						out.Get(made[out.Bytes(i):], c, line)
					}
					taken.Row(y+i, planes)
				})
				if err := taken.End(); err != nil {
					b.Fatal(err)
				}
			}
			if err := d.finish(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

type nowhere struct{}

func (nowhere) WriteRow([]uint16) error { return nil }
func (nowhere) Close() error            { return nil }
