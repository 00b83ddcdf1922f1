package planar

import (
	"encoding/binary"
	"math"
	"testing"

	"enhance/internal/fuse"
	"enhance/model"
)

// eachWay runs a test with the processor's conversions, if it has them, and
// without.
func eachWay(t *testing.T, do func(t *testing.T)) {
	has := converts
	defer func() { converts = has }()
	for _, converts = range []bool{false, has} {
		do(t)
	}
	if !has {
		t.Log("this processor does not convert binary16: only the loops were tried")
	}
}

// TestPutHalves: what Put stores is Half of every sample. All exponents and signs are
// tried with the mantissas about which rounding turns.
func TestPutHalves(t *testing.T) {
	var line []float32
	for e := range uint32(512) { // sign and exponent
		for _, m := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x3001, 0x400000, 0x7fe000, 0x7fefff, 0x7ff000, 0x7fffff} {
			line = append(line, math.Float32frombits(e<<23|m))
		}
	}
	r := Rows{C: 2, W: len(line), Precision: FP16}
	eachWay(t, func(t *testing.T) {
		row := make([]byte, RowBytes(fuse.Tensor{Shape: model.Shape{C: 2, H: 1, W: len(line)}}, FP16))
		r.Put(row, 1, line)
		at := Pitch(r.W) + Pad
		for x, v := range line {
			if got := binary.LittleEndian.Uint16(row[2*(at+x):]); got != Half(v) {
				t.Errorf("%x (%g): %04x, want %04x", math.Float32bits(v), v, got, Half(v))
			}
		}
		for b := 1; b <= Rim; b++ {
			if got := binary.LittleEndian.Uint16(row[2*(at-b):]); got != Half(line[b]) {
				t.Errorf("rim: %04x, want %04x", got, Half(line[b]))
			}
		}
	})
}

// TestGetHalves: what Get reads is Float of every binary16, bit by bit.
func TestGetHalves(t *testing.T) {
	all := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	eachWay(t, func(t *testing.T) {
		line := make([]float32, 1<<16)
		getHalves(line, all)
		for i, v := range line {
			if want := Float(uint16(i)); math.Float32bits(v) != math.Float32bits(want) {
				t.Errorf("%04x: %08x, want %08x", i, math.Float32bits(v), math.Float32bits(want))
			}
		}
	})
}

// TestLengths: lines of any length are converted whole, and nothing beside them.
func TestLengths(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		for n := range 70 {
			line := make([]float32, n)
			for i := range line {
				line[i] = float32(i) + 0.5
			}
			raw := make([]byte, 2*n+2)
			raw[2*n], raw[2*n+1] = 0xa5, 0x5a
			putHalves(raw[:2*n], line)
			back := make([]float32, n+1)
			back[n] = -7
			getHalves(back[:n], raw[:2*n])
			for i := range line {
				if back[i] != line[i] {
					t.Errorf("%d samples: number %d came back as %g", n, i, back[i])
				}
			}
			if back[n] != -7 || raw[2*n] != 0xa5 || raw[2*n+1] != 0x5a {
				t.Errorf("%d samples: what is behind them changed", n)
			}
		}
	})
}

// BenchmarkHalves converts rows of 3968 samples both ways, in samples per second.
func BenchmarkHalves(b *testing.B) {
	line, raw := make([]float32, 3968), make([]byte, 2*3968)
	for i := range line {
		line[i] = float32(i) / 3968
	}
	has := converts
	defer func() { converts = has }()
	for name, way := range map[string]bool{"processor": has, "loops": false} {
		converts = way
		rate := func(name string, do func()) {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					do()
				}
				b.ReportMetric(float64(b.N*len(line))/b.Elapsed().Seconds()/1e6, "Msamples/s")
			})
		}
		rate("put/"+name, func() { putHalves(raw, line) })
		rate("get/"+name, func() { getHalves(line, raw) })
	}
}
