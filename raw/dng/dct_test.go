package dng

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// smooth are samples that DCT JPEG keeps: slopes, and little noise of other frequencies.
func smooth(w, h, planes, bits int) []uint16 {
	r := rand.New(rand.NewPCG(uint64(w), uint64(bits)))
	top := float64(uint(1)<<bits - 1)
	out := make([]uint16, w*h*planes)
	for i := range out {
		y, x := i/planes/w, i/planes%w
		v := 0.1 + 0.4*float64(x)/float64(w) + 0.3*float64(y)/float64(h) + 0.05*float64(i%planes) + 0.01*r.Float64()
		out[i] = uint16(v * top)
	}
	return out
}

// TestTwelveBitDCT reads mosaics as Blackmagic's cameras write them: one component as wide
// as the chunk, or twice as wide and half as high, or two components.
func TestTwelveBitDCT(t *testing.T) {
	for _, bits := range []int{8, 12} {
		for name, j := range map[string]JPEG{
			"plain": {}, "folded": {Fold: 2}, "two components": {Components: 2}, "two folded": {Components: 2, Fold: 2}, "restarts": {Fold: 2, RestartRows: 1},
		} {
			for _, compression := range []uint16{compLosslessJPEG, compLossyJPEG} {
				s := Spec{Width: 70, Height: 46, Bits: bits, TileWidth: 32, TileHeight: 24, Meta: mosaic.Meta{CFA: mosaic.RGGB}}
				s.Samples = smooth(s.Width, s.Height, 1, bits)
				j.Quantiser, s.Compression = 1, compression
				s.JPEG = &j
				im, err := openBytes(write(t, s))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if want := "JPEG " + map[int]string{8: "8-bit", 12: "12-bit"}[bits]; !strings.Contains(im.Meta.Format, want) || im.Meta.BitDepth != bits || im.Meta.White[1] != float32(uint(1)<<bits-1) {
					t.Errorf("%s: %q, %d bits, white %g", name, im.Meta.Format, im.Meta.BitDepth, im.Meta.White[1])
				}
				got, err := readAll(im)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, v := range got {
					if d := int(v) - int(s.Samples[i]); d < -2 || d > 2 {
						t.Fatalf("%s: sample %d is %d, want %d", name, i, v, s.Samples[i])
					}
				}
				checkRows(t, im, got) // in any order, the same
			}
		}
	}
}

// TestTwelveBitLinear reads three components: as they are, and as luma and colour
// differences.
func TestTwelveBitLinear(t *testing.T) {
	for _, ycbcr := range []bool{false, true} {
		s := Spec{Width: 50, Height: 41, Bits: 12, Linear: true, RowsPerStrip: 16, Compression: compLossyJPEG,
			JPEG: &JPEG{Components: 3, Quantiser: 1, YCbCr: ycbcr}}
		s.Samples = smooth(s.Width, s.Height, 3, 12)
		im, err := openBytes(write(t, s))
		if err != nil {
			t.Fatal(err)
		}
		checkLinear(t, im, func(i int) float64 {
			p := s.Samples[i-i%3:]
			v := [3]float64{float64(p[0]), float64(p[1]), float64(p[2])}
			if ycbcr { // ITU-T T.871, 7
				cb, cr := v[1]-2048, v[2]-2048
				v = [3]float64{v[0] + 1.402*cr, v[0] - 0.344136*cb - 0.714136*cr, v[0] + 1.772*cb}
			}
			return math.Min(math.Max(v[i%3], 0), 4095) / 4095
		}, 5.0/4095)
	}
}

// TestDCTRefused: what is not read is named.
func TestDCTRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(frame []byte) // from the marker's second byte on
		want string
	}{
		{"progressive", func(f []byte) { f[0] = 0xC2 }, "progressive lossy JPEG of 12 bits"},
		{"depth", func(f []byte) { f[3] = 10 }, "lossy JPEG of 10 bits"},
		{"arithmetic", func(f []byte) { f[0] = 0xC9 }, "JPEG of process 9"},
		{"three components", func(f []byte) { f[8] = 3 }, "of 3 components for 1 samples a pixel"},
	} {
		s := Spec{Width: 32, Height: 16, Bits: 12, Meta: mosaic.Meta{CFA: mosaic.RGGB}, JPEG: &JPEG{Quantiser: 1}}
		s.Samples = smooth(s.Width, s.Height, 1, 12)
		b := write(t, s)
		c.edit(b[bytes.Index(b, []byte{0xFF, 0xC1, 0, 11})+1:])
		var ue *rawerr.UnsupportedError
		if _, err := openBytes(b); !errors.As(err, &ue) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
