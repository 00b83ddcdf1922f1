package raw

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"runtime"
	"testing"
)

// pngOf is a PNG of 16-bit gray whose samples, filter bytes before the rows, are data.
func pngOf(t testing.TB, w, h int, data []byte, perChunk int) []byte {
	t.Helper()
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	out := []byte(pngMagic)
	chunk := func(kind string, data []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, kind...)
		out = append(out, data...)
		out = binary.BigEndian.AppendUint32(out, crc(out[len(out)-len(data)-4:]))
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	chunk("IHDR", append(head, 16, 0, 0, 0, 0))
	for b := z.Bytes(); len(b) > 0; b = b[min(perChunk, len(b)):] {
		chunk("IDAT", b[:min(perChunk, len(b))])
	}
	chunk("IEND", nil)
	return out
}

// TestPNGFilters compares every filter with the standard library's decoder.
func TestPNGFilters(t *testing.T) {
	const w, h = 7, 11
	var data []byte
	for y := range h {
		data = append(data, byte(y%5))
		for x := range 2 * w {
			data = append(data, byte(x*x*31+y*17))
		}
	}
	for _, perChunk := range []int{1, 5, 1000} {
		b := pngOf(t, w, h, data, perChunk)
		im, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		p, err := openBytes(b, Options{CFA: pattern(t, "GRBG")})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it begins again
			for i, v := range readAll(t, p) {
				if want := im.(*image.Gray16).Gray16At(i%w, i/w); want != (color.Gray16{Y: v}) {
					t.Fatalf("%d bytes a chunk: sample %d is %d, want %d", perChunk, i, v, want.Y)
				}
			}
		}
	}
}

// TestPNGMemory: a small file of many samples takes memory for a few rows.
func TestPNGMemory(t *testing.T) {
	const w, h = 8000, 5000
	b := pngOf(t, w, h, make([]byte, (1+2*w)*h), 1<<15)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := openBytes(b, Options{CFA: pattern(t, "GRBG")})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ReadRows(h-1, 1, make([]uint16, w)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes for a file of %d", n, len(b))
	}
}

func TestPNGDamage(t *testing.T) {
	rows := func(n int) []byte { return make([]byte, n*9) }
	bad := rows(3)
	bad[9] = 5
	flipped := pngOf(t, 4, 3, rows(3), 1000)
	flipped[50] ^= 1
	for name, b := range map[string][]byte{
		"too few rows": pngOf(t, 4, 3, rows(2), 1000), "too many": pngOf(t, 4, 3, rows(4), 1000),
		"filter": pngOf(t, 4, 3, bad, 1000), "checksum": flipped,
	} {
		p, err := openBytes(b, Options{CFA: pattern(t, "GRBG")})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = p.ReadRows(0, 3, make([]uint16, 12))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		checkKind(t, err)
	}
}
