package gemm_test

import (
	"fmt"
	"os"
	"testing"

	"enhance/bench/gemm"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// TestVariantsOclgrind runs every kernel once on a small product, for
// scripts/oclgrind.sh to watch.
func TestVariantsOclgrind(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("SKIPPED: only of use in oclgrind, by scripts/oclgrind.sh")
	}
	d := convtest.Device(t)
	cpu := conv.Caps{CPU: true, Vector: 8, LocalMem: 32 << 10, MaxWorkGroup: 64}
	small := conv.Caps{Vector: 1, LocalMem: 32 << 10, MaxWorkGroup: 256}
	for _, caps := range []conv.Caps{cpu, small} {
		for _, v := range gemm.Variants(caps) {
			t.Run(v.Name, func(t *testing.T) {
				b := convtest.Open(t, d, planar.FP32, 1)
				p := v.Open(b.Ctx)
				defer p.Close()
				multiply(b, p, 13, 19, 21, true)
			})
		}
	}
	for i := range gemm.LocalTiles {
		t.Run(fmt.Sprintf("tile %d", i), func(t *testing.T) {
			defer gemm.OnlyLocalTile(i)()
			for _, v := range gemm.Variants(small) {
				if v.Name == "row-major-local" {
					b := convtest.Open(t, d, planar.FP32, 2)
					p := v.Open(b.Ctx)
					defer p.Close()
					multiply(b, p, 33, 70, 19, false)
				}
			}
		})
	}
}
