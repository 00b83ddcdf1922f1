package octets

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// TestPackCodes sums packed weights times codes as products of 32 bytes take them (PTX ISA, "Shared Memory Matrix Layout" of
// wgmma), and compares that with the sums of the plain weights.
func TestPackCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		p := packing{k: 1 + 2*rng.IntN(2), channels: 1 + rng.IntN(90), outs: productOctets[rng.IntN(6)]}
		outs, taps := p.outs*octetWide-rng.IntN(octetWide), p.k*p.k
		w := &conv.IntegerWeights{Zero: rng.IntN(256), Factors: make([]float32, outs), Bias: make([]float32, outs)}
		for range outs * p.channels * taps {
			w.Weights = append(w.Weights, float32(rng.IntN(256)-128))
		}
		codes := make([]int32, groupsOf(p.channels)*groupWide*taps) // [channel][tap], those of absent channels too
		for i := range codes {
			codes[i] = int32(rng.IntN(256))
		}
		size := weightBytes(p.k, groupsOf(p.channels), p.outs)
		image := make([]byte, size+p.outs*paramBytes)
		p.pack(image, w, 0, outs)
		for o := range outs {
			want := int32(0)
			for i := range p.channels * taps {
				want += (codes[i] - int32(w.Zero)) * int32(w.Weights[o*p.channels*taps+i])
			}
			got := int32(binary.LittleEndian.Uint32(image[size+4*o:]))
			if got += p.sum(image, codes, outputPlace(o, p.outs)); got != want {
				t.Fatalf("%+v: output %d is %d, want %d", p, o, got, want)
			}
		}
	}
}

// sum is what products give output n of theirs.
func (p packing) sum(image []byte, codes []int32, n int) (sum int32) {
	groups, taps := groupsOf(p.channels), p.k*p.k
	for ky := range p.k {
		for step := range steps(p.k, groups) {
			for half := range 2 {
				group, kx := step/p.k*2+half, step%p.k
				if odd := step - groups/2*p.k; odd >= 0 {
					group, kx = groups-1, 2*odd+half
				}
				for i := range groupWide {
					weight := int32(int8(image[((ky*steps(p.k, groups)+step)*2+half)*p.outs*octetWide*groupWide+n*groupWide+i]))
					if kx < p.k {
						sum += weight * codes[(group*groupWide+i)*taps+ky*p.k+kx]
					} else if weight != 0 {
						return math.MaxInt32 // a weight for a column that is not there
					}
				}
			}
		}
	}
	return sum
}

// TestOutputPlace checks that lane t of four gets channels 4t to 4t+3 of whole groups: of two octets, those that
// a product gives it.
func TestOutputPlace(t *testing.T) {
	for _, octets := range productOctets {
		seen := map[int]bool{}
		for o := range octets * octetWide {
			n := outputPlace(o, octets)
			if seen[n] || n/groupWide != o/groupWide {
				t.Fatalf("%d octets: output %d is at %d", octets, o, n)
			}
			seen[n] = true
			if lane := n % octetWide / 2; o/groupWide < octets/2 && lane != o%groupWide/4 {
				t.Errorf("%d octets: output %d is of lane %d", octets, o, lane)
			}
		}
	}
}

// TestChooseCodes checks that shapes of networks fit, and that strips cover the rows without being much longer
// than they must.
func TestChooseCodes(t *testing.T) {
	caps := conv.Caps{Units: conv.Units{Warpgroup: true}, MaxWorkGroup: 1024, Cores: 132}
	for _, block := range []bool{false, true} {
		for _, k := range []int{1, 3} {
			for _, in := range []int{1, 8, 24, 40, 64, 96, 128} {
				for _, outs := range []int{1, 3, 16, 24, 48, 64} {
					s := conv.Shape{K: k, SrcC: []int{in}, OutC: outs, H: 1504, W: 2000, Codes: true, Octets: true, OctetsOut: true}
					if block {
						s.Inner = &conv.Inner{K: k, OutC: outs}
					}
					made, err := Codes().New(caps, s, planar.FP16)
					if err != nil {
						t.Errorf("%v: %v", s, err)
						continue
					}
					m := made.(*codesImpl)
					if m.localBytes() > localMem || m.groups()*m.variant.outs*octetWide < outs {
						t.Errorf("%v: %v takes %d bytes", s, m.variant, m.localBytes())
					}
					for _, rows := range []int{1, 7, 214, 1504} {
						if n := m.stripRows(rows, 132*m.variant.teams); n < 1 || n > rows {
							t.Errorf("%v: strips of %d rows of %d", s, n, rows)
						}
					}
				}
			}
		}
	}
}

// TestCodesRefuse says what the algorithm does not take.
func TestCodesRefuse(t *testing.T) {
	caps := conv.Caps{MaxWorkGroup: 1024, Units: conv.Units{Warpgroup: true}}
	good := conv.Shape{K: 3, SrcC: []int{16}, OutC: 16, H: 8, W: 8, Codes: true, Octets: true, OctetsOut: true}
	for _, c := range []struct {
		name   string
		change func(*conv.Caps, *conv.Shape)
		p      planar.Precision
	}{
		{"no matrix units", func(c *conv.Caps, _ *conv.Shape) { c.Warpgroup = false }, planar.FP16},
		{"fp32 storage", func(*conv.Caps, *conv.Shape) {}, planar.FP32},
		{"codes in memory", func(_ *conv.Caps, s *conv.Shape) { s.Octets = false }, planar.FP16},
		{"codes to memory", func(_ *conv.Caps, s *conv.Shape) { s.Store = true }, planar.FP16},
		{"to planes", func(_ *conv.Caps, s *conv.Shape) { s.OctetsOut = false }, planar.FP16},
		{"samples", func(_ *conv.Caps, s *conv.Shape) { s.Codes = false }, planar.FP16},
		{"two sources", func(_ *conv.Caps, s *conv.Shape) { s.SrcC = []int{8, 8} }, planar.FP16},
		{"large kernel", func(_ *conv.Caps, s *conv.Shape) { s.K = 5 }, planar.FP16},
		{"slopes of channels", func(_ *conv.Caps, s *conv.Shape) { s.Act = fuse.PReLU }, planar.FP16},
		{"narrow plane", func(_ *conv.Caps, s *conv.Shape) { s.W = 4 }, planar.FP16},
		{"small groups", func(c *conv.Caps, _ *conv.Shape) { c.MaxWorkGroup = 64 }, planar.FP16},
		{"a large inner kernel", func(_ *conv.Caps, s *conv.Shape) { s.Inner = &conv.Inner{K: 5, OutC: 16} }, planar.FP16},
		{"a sigmoid between", func(_ *conv.Caps, s *conv.Shape) { s.Inner = &conv.Inner{K: 3, OutC: 16, Act: fuse.Sigmoid} }, planar.FP16},
		{"edges repeated between", func(_ *conv.Caps, s *conv.Shape) { s.Inner, s.Pad = &conv.Inner{K: 3, OutC: 16}, model.PadEdge }, planar.FP16},
		{"a block of many channels", func(_ *conv.Caps, s *conv.Shape) { s.Inner = &conv.Inner{K: 3, OutC: 128} }, planar.FP16},
	} {
		caps, s := caps, good
		c.change(&caps, &s)
		if _, err := Codes().New(caps, s, c.p); err == nil {
			t.Errorf("%s: not refused", c.name)
		}
	}
	if _, err := Codes().New(caps, good, planar.FP16); err != nil {
		t.Error(err)
	}
}
