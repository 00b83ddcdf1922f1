package dng

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

func linearSpec(w, h, bits int) Spec {
	r := rand.New(rand.NewPCG(uint64(bits), rand.Uint64()))
	s := Spec{Width: w, Height: h, Bits: bits, Linear: true, Samples: make([]uint16, 3*w*h)}
	for i := range s.Samples {
		s.Samples[i] = uint16(r.IntN(1 << bits))
	}
	return s
}

// checkLinear reads a linear image in several ways; want has its interleaved samples.
func checkLinear(t *testing.T, im *Image, want func(i int) float64, tolerance float64) {
	t.Helper()
	w, h := im.Meta.Width, im.Meta.Height
	for _, n := range []int{h, 1, 3} {
		dst := make([]float32, 3*w*n)
		for y := 0; y+n <= h; y += n {
			if err := im.ReadLinear(y, n, dst); err != nil {
				t.Fatal(err)
			}
			for i, v := range dst {
				r, p, x := i/(3*w), i/w%3, i%w
				if k := want(((y+r)*w+x)*3 + p); math.Abs(float64(v)-k) > tolerance {
					t.Fatalf("%d rows at a time: row %d, column %d, plane %d is %g, want %g", n, y+r, x, p, v, k)
				}
			}
		}
	}
	last := make([]float32, 3*w)
	for y := h - 1; y >= 0; y -= 5 { // upwards
		if err := im.ReadLinear(y, 1, last); err != nil {
			t.Fatal(err)
		}
		if k := want(y * w * 3); math.Abs(float64(last[0])-k) > tolerance {
			t.Fatalf("row %d read alone is %g, want %g", y, last[0], k)
		}
	}
}

// TestLinearIntegers reads every coding of integers.
func TestLinearIntegers(t *testing.T) {
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		for _, bits := range []int{8, 12, 16} {
			for _, coding := range []string{"none", "jpeg", "deflate", "deflate 2", "deflate x2", "deflate x4"} {
				for _, tile := range []int{0, 16} {
					s := linearSpec(37, 29, bits)
					s.Order, s.TileWidth, s.TileHeight, s.RowsPerStrip = order, tile, tile, 7
					p := map[string]predictor{"deflate 2": {predictHorizontal, 1}, "deflate x2": {predictHorizontal, 2}, "deflate x4": {predictHorizontal, 4}}[coding]
					if p.kind != predictNone && bits == 12 {
						continue
					}
					switch {
					case coding == "jpeg":
						s.JPEG = &JPEG{Components: 3}
					case coding != "none":
						s.Compression, s.Encode = compDeflate, deflate(order, bits, 3, p)
					}
					s.Edit = func(_, raw *tiff.Dir) {
						if p.kind != predictNone {
							raw.Shorts(tagPredictor, map[int]uint16{1: 2, 2: 34892, 4: 34893}[p.apart])
						}
					}
					t.Run(fmt.Sprintf("%v %d-bit %s tile %d", order, bits, coding, tile), func(t *testing.T) {
						im, err := openBytes(write(t, s))
						if err != nil {
							t.Fatal(err)
						}
						top := float64(uint(1)<<bits - 1)
						checkLinear(t, im, func(i int) float64 { return float64(s.Samples[i]) / top }, 1e-6)
						if !im.Meta.Linear || !strings.Contains(im.Meta.Format, "linear") {
							t.Errorf("%q", im.Meta.Format)
						}
						if err := im.ReadRows(0, 1, make([]uint16, 999)); err == nil {
							t.Error("a linear image gives mosaic rows")
						}
					})
				}
			}
		}
	}
}

// TestLinearFloats reads floats of 16, 24 and 32 bits.
func TestLinearFloats(t *testing.T) {
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		for _, bits := range []int{16, 24, 32} {
			for name, p := range map[string]predictor{"uncompressed": {}, "deflate": {}, "predictor 3": {predictFloat, 1}, "predictor 34894": {predictFloat, 2}, "predictor 34895": {predictFloat, 4}} {
				s := linearSpec(21, 17, 12)
				s.Order, s.TileWidth, s.TileHeight = order, 16, 16
				s.Encode = floatChunk(order, bits, 3, p, name != "uncompressed")
				s.Compression = compDeflate
				if name == "uncompressed" {
					s.Compression = compNone
				}
				s.Edit = func(_, raw *tiff.Dir) {
					raw.Shorts(tagBitsPerSample, uint16(bits), uint16(bits), uint16(bits))
					raw.Shorts(tagSampleFormat, 3, 3, 3)
					if p.kind != predictNone {
						raw.Shorts(tagPredictor, map[int]uint16{1: 3, 2: 34894, 4: 34895}[p.apart])
					}
				}
				t.Run(fmt.Sprintf("%v %d-bit %s", order, bits, name), func(t *testing.T) {
					im, err := openBytes(write(t, s))
					if err != nil {
						t.Fatal(err)
					}
					tolerance := map[int]float64{16: 4.1 / 1024, 24: 4.1 / 65536, 32: 1e-6}[bits]
					checkLinear(t, im, func(i int) float64 { return float64(s.Samples[i]) / 1000 }, tolerance)
				})
			}
		}
	}
}

// TestLinearLevels gives black by cell, row and column, white by colour, a table
// and an active area.
func TestLinearLevels(t *testing.T) {
	s := linearSpec(12, 9, 8)
	s.ActiveArea = mosaic.Rect{X0: 2, Y0: 1, X1: 11, Y1: 8}
	for i := range 256 {
		s.Linearization = append(s.Linearization, uint16(i*200))
	}
	black := make([]float64, 2*2*3)
	for i := range black {
		black[i] = float64(100 * i)
	}
	rows, columns := make([]float64, 7), make([]float64, 9)
	for i := range columns {
		columns[i] = float64(i)
		rows[min(i, 6)] = float64(-i)
	}
	white := []uint32{40000, 50000, 60000}
	s.Edit = func(_, raw *tiff.Dir) {
		raw.Shorts(tagBlackLevelRepeatDim, 2, 2)
		raw.URationals(tagBlackLevel, black...)
		raw.Rationals(tagBlackLevelDeltaH, columns...)
		raw.Rationals(tagBlackLevelDeltaV, rows...)
		raw.Longs(tagWhiteLevel, white...)
	}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	checkLinear(t, im, func(i int) float64 {
		y, x, p := i/(3*9), i/3%9, i%3
		v := 200 * float64(s.Samples[((y+1)*12+x+2)*3+p])
		b := black[(y%2*2+x%2)*3+p] + rows[y] + columns[x]
		return (v - b) / (float64(white[p]) - b)
	}, 1e-5)
}

// TestLinearFirstList applies list 1 to the stored samples of an active area, and skips
// or refuses it where they are floats.
func TestLinearFirstList(t *testing.T) {
	s := linearSpec(12, 9, 16)
	s.ActiveArea = mosaic.Rect{X0: 2, Y0: 1, X1: 11, Y1: 8}
	half := make([]uint16, 1<<16)
	for i := range half {
		half[i] = uint16(i / 2)
	}
	table := opcode.Operation{ID: opcode.MapTableID, Params: &opcode.MapTable{Area: opcode.Area{Top: 3, Bottom: 9, Left: 4, Right: 12, Plane: 1, Planes: 1, RowPitch: 1, ColPitch: 1}, Table: half}}
	s.Opcodes[0] = []opcode.Operation{table}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	checkLinear(t, im, func(i int) float64 {
		y, x, p := i/(3*9)+1, i/3%9+2, i%3
		v := s.Samples[(y*12+x)*3+p]
		if p == 1 && y >= 3 && x >= 4 {
			v /= 2
		}
		return float64(v) / 65535
	}, 1.1/65535)
	for _, optional := range []bool{true, false} {
		s.Opcodes[0][0].Optional = optional
		s.Encode, s.Compression = floatChunk(binary.LittleEndian, 32, 3, predictor{predictFloat, 1}, true), compDeflate
		s.Edit = func(_, raw *tiff.Dir) {
			raw.Shorts(tagBitsPerSample, 32, 32, 32)
			raw.Shorts(tagSampleFormat, 3, 3, 3)
			raw.Shorts(tagPredictor, 3)
		}
		im, err := openBytes(write(t, s))
		var unsupported *rawerr.UnsupportedError
		if optional && (err != nil || !strings.Contains(im.Opcodes[0][0].Problem, "floating-point")) || !optional && !errors.As(err, &unsupported) {
			t.Errorf("optional %v: error %v", optional, err)
		}
	}
}
