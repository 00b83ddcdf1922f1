package pipeline

import (
	"context"
	"testing"

	"enhance/internal/usage"
	"enhance/pipeline/facts"
	"enhance/raw/mosaic"
)

// BenchmarkMaskedPlanes measures the packing of masked planes, with noise, by processor time.
func BenchmarkMaskedPlanes(b *testing.B) {
	conv, gains := &maskedConvention, [3]float64{2, 1, 1.5}
	told := &facts.Noise{Levels: noiseLevels(1e-3, 1e-5)}
	for name, p := range map[string]mosaic.Pattern{"X-Trans": mosaic.XTrans, "demosaiced": {}} {
		b.Run(name, func(b *testing.B) {
			photo := opened(b, p, 2000, 600, mosaic.Rect{})
			m := photo.Meta()
			g := layout(m, conv)
			var src photoSource
			if m.Linear {
				src = newLinearSource(photo, g, &levels{meta: m, conv: conv, gains: gains, noise: told})
			} else {
				a := newReadAhead(context.Background(), photo, g.region, blocksOf(g.region), nil, nil)
				defer a.close()
				src = newSource(a, g, conv, newLevels(m, conv, gains, told, nil))
			}
			planes := make([][]float32, 24)
			for k := range planes {
				planes[k] = make([]float32, g.w)
			}
			cpu := usage.CPUSeconds()
			for b.Loop() {
				for y := 0; y < g.h; y += 8 {
					rows, err := src.Rows(y, min(y+8, g.h))
					if err != nil {
						b.Fatal(err)
					}
					for k := y; k < min(y+8, g.h); k++ {
						rows.Row(k, planes)
					}
					if err := rows.End(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(1.2*float64(b.N)/(usage.CPUSeconds()-cpu), "MP/cpu-s")
		})
	}
}
