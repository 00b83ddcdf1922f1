package imgio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"testing"

	"enhance/internal/usage"
)

// chunks splits a PNG into its chunks' types and data.
func chunks(t *testing.T, data []byte) (kinds []string, bodies [][]byte) {
	t.Helper()
	data = data[8:]
	for len(data) > 0 {
		n := binary.BigEndian.Uint32(data)
		kinds = append(kinds, string(data[4:8]))
		bodies = append(bodies, data[8:8+n])
		data = data[12+n:]
	}
	return kinds, bodies
}

func TestPNGChunks(t *testing.T) {
	m := picture(300, 600) // two blocks of 8-bit rows and a rest
	var out bytes.Buffer
	w, err := NewPNG(&out, Header{Width: 300, Height: 600, Bits: 8, Exif: testExif(), Description: "Schnee und Eis"})
	if err != nil {
		t.Fatal(err)
	}
	writeRows(t, w, m)
	kinds, bodies := chunks(t, out.Bytes())
	want := "[IHDR sRGB gAMA cHRM eXIf iTXt IDAT IDAT IDAT IEND]"
	if got := fmt.Sprint(kinds); got != want {
		t.Errorf("chunks %s, want %s", got, want)
	}
	if !bytes.Equal(bodies[4], testExif()) {
		t.Error("the EXIF block is not in eXIf")
	}
	if got := string(bodies[5]); got != "Description\x00\x00\x00\x00\x00Schnee und Eis" {
		t.Errorf("iTXt holds %q", got)
	}
}

// TestFiltersAreUndone holds each filter against the standard library's decoder
// by a picture on which it must be chosen.
func TestFiltersAreUndone(t *testing.T) {
	used := map[byte]int{}
	rows := []func(x, c int, up byte) byte{
		func(x, c int, up byte) byte { return byte(x & 1) },
		func(x, c int, up byte) byte { return byte(x*37 + c) },
		func(x, c int, up byte) byte { return byte(x*x*31 + x*7919>>3 + c*80) },
		func(x, c int, up byte) byte { return up + 1 },
		func(x, c int, up byte) byte { return byte((int(up) + x*3) / 2) },
		func(x, c int, up byte) byte { return up + byte(x*5) },
	}
	const w = 211
	raw := make([]byte, 3*w)
	for range 4 {
		for _, f := range rows {
			prev := raw[len(raw)-3*w:]
			for i := range 3 * w {
				raw = append(raw, f(i/3, i%3, prev[i]))
			}
		}
	}
	out := filterBlock(nil, raw, 3*w, 3)
	for y := 0; y < len(out); y += 3*w + 1 {
		used[out[y]]++
	}
	if len(used) < 3 {
		t.Errorf("filters used: %v; the picture is too plain to test them", used)
	}
	m := &RGB16{Width: w, Height: len(raw)/(3*w) - 1, Bits: 8}
	for _, v := range raw[3*w:] {
		m.Pix = append(m.Pix, uint16(v)*257)
	}
	var file bytes.Buffer
	pw, err := NewPNG(&file, Header{Width: w, Height: m.Height, Bits: 8})
	if err != nil {
		t.Fatal(err)
	}
	writeRows(t, pw, m)
	wantSame(t, decode(t, file.Bytes()), m)
}

// TestFiltersAgainstDefinition compares every filter, at all lengths about those of
// its loops, with the specification's formulas (PNG specification, section 9.2).
func TestFiltersAgainstDefinition(t *testing.T) {
	at := func(row []byte, i int) int {
		if i < 0 {
			return 0
		}
		return int(row[i])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		cur, prev, got := make([]byte, n), make([]byte, n), make([]byte, n)
		for i := range n {
			cur[i], prev[i] = byte(rng.Uint32()), byte(rng.Uint32())
			if rng.IntN(4) == 0 {
				cur[i], prev[i] = byte(rng.IntN(2)*255), byte(rng.IntN(2)*255)
			}
		}
		for _, bpp := range []int{3, 6} {
			for kind := range 5 {
				applyFilter(kind, got, cur, prev, bpp)
				for i := range n {
					a, b, c := at(cur, i-bpp), int(prev[i]), at(prev, i-bpp)
					want := cur[i] - [5]byte{0, byte(a), byte(b), byte((a + b) / 2), paethPredict(a, b, c)}[kind]
					if got[i] != want {
						t.Fatalf("filter %d of %d bytes, %d a pixel: byte %d is %d, want %d", kind, n, bpp, i, got[i], want)
					}
				}
			}
		}
	}
}

// TestPlainAreas: what repeats itself becomes small, though photographs are not
// searched for repetitions.
func TestPlainAreas(t *testing.T) {
	for _, bits := range []int{8, 16} {
		m := &RGB16{Width: 1000, Height: 700, Bits: bits, Pix: make([]uint16, 3*1000*700)}
		for i := range m.Pix {
			m.Pix[i] = 257 * uint16(255*(i/3000%100/99))
		}
		var file bytes.Buffer
		pw, err := NewPNG(&file, Header{Width: m.Width, Height: m.Height, Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		writeRows(t, pw, m)
		wantSame(t, decode(t, file.Bytes()), m)
		if n := file.Len(); n > 3*1000*700*bits/8/100 {
			t.Errorf("%d bits: %d bytes", bits, n)
		}
	}
}

func TestPaethAgainstDefinition(t *testing.T) {
	dist := func(p, v int) int { return max(p-v, v-p) }
	for a := 0; a < 256; a += 5 {
		for b := 0; b < 256; b += 3 {
			for c := 0; c < 256; c += 7 {
				p, want := a+b-c, c
				if pa := dist(p, a); pa <= dist(p, b) && pa <= dist(p, c) {
					want = a
				} else if dist(p, b) <= dist(p, c) {
					want = b
				}
				if got := paethPredict(a, b, c); int(got) != want {
					t.Fatalf("paeth(%d,%d,%d) = %d, want %d", a, b, c, got, want)
				}
			}
		}
	}
}

func TestAdlerCombine(t *testing.T) {
	data := bytes.Repeat([]byte{255, 254, 0, 17}, 50000)
	for _, cut := range []int{0, 1, 5551, 65521, 65522, 131042, len(data) - 1, len(data)} {
		got := adlerCombine(adler32.Checksum(data[:cut]), adler32.Checksum(data[cut:]), len(data)-cut)
		if want := adler32.Checksum(data); got != want {
			t.Errorf("cut at %d: %08x, want %08x", cut, got, want)
		}
	}
}

// TestAdler: many bytes at a time are summed as by the standard library.
func TestAdler(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	full := bytes.Repeat([]byte{255}, 2*adlerMost+77)
	noise := make([]byte, 70000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for _, data := range [][]byte{full, noise} {
		for n := 0; n <= len(data); n += 1 + n/3 {
			if got, want := adlerOf(data[:n]), adler32.Checksum(data[:n]); got != want {
				t.Errorf("%d bytes: %08x, want %08x", n, got, want)
			}
		}
		if got, want := adlerOf(data), adler32.Checksum(data); got != want {
			t.Errorf("%d bytes: %08x, want %08x", len(data), got, want)
		}
	}
}

// TestFilterUnits: each filter leaves what its definition says, of rows of any length.
func TestFilterUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := 1; n < 150; n++ {
		cur, prev, got := make([]byte, n), make([]byte, n), make([]byte, n+1)
		for i := range cur {
			cur[i], prev[i] = byte(rng.Uint32()), byte(rng.Uint32())
		}
		for _, bpp := range []int{3, 6} {
			for kind := filterNone; kind <= filterPaeth; kind++ {
				got[n] = 0xa5
				applyFilter(kind, got[:n], cur, prev, bpp)
				for i, v := range cur {
					a, b, c := 0, int(prev[i]), 0
					if i >= bpp {
						a, c = int(cur[i-bpp]), int(prev[i-bpp])
					}
					want := v - [5]byte{0, byte(a), byte(b), byte((a + b) / 2), paethPredict(a, b, c)}[kind]
					if got[i] != want {
						t.Fatalf("filter %d, pixels of %d bytes, byte %d of %d: %d, want %d", kind, bpp, i, n, got[i], want)
					}
				}
				if got[n] != 0xa5 {
					t.Fatalf("filter %d of %d bytes: the one behind them changed", kind, n)
				}
			}
		}
	}
}

// TestPaethUnits: many bytes at a time are predicted as one by one, for every left,
// above and above left, and lines of any length.
func TestPaethUnits(t *testing.T) {
	left, x, got := make([]byte, 256), make([]byte, 256), make([]byte, 256)
	for i := range left {
		left[i], x[i] = byte(i), byte(37*i)
	}
	up, corner := make([]byte, 256), make([]byte, 256)
	for b := range 256 {
		for c := range 256 {
			for i := range up {
				up[i], corner[i] = byte(b), byte(c)
			}
			n := 256 - (b+c)%9
			paeth(got, x[:n], left, up, corner)
			for i := range n {
				if want := x[i] - paethPredict(i, b, c); got[i] != want {
					t.Fatalf("left %d, above %d, above left %d: %d, want %d", i, b, c, got[i], want)
				}
			}
		}
	}
	for n := range 40 {
		got[n] = 0xa5
		paeth(got, x[:n], left, up, corner)
		if got[n] != 0xa5 {
			t.Errorf("%d bytes: the one behind them changed", n)
		}
	}
}

// TestCostUnits: what filters leave is judged many bytes at a time as by the definition, for
// lines of any length.
func TestCostUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 100 {
		var lines [4][]byte
		for i := range lines {
			lines[i] = make([]byte, n)
			for k := range lines[i] {
				lines[i][k] = byte(rng.IntN(256)) | byte(rng.IntN(2)*0x80)
			}
		}
		got := [5]int{1, 2, 3, 4, 5}
		want := got
		addCosts(&got, lines[0], lines[1], lines[2], lines[3])
		for i, v := range lines[0] {
			a, b, c := int(lines[1][i]), int(lines[2][i]), int(lines[3][i])
			for kind, p := range [5]int{0, a, b, (a + b) / 2, int(paethPredict(a, b, c))} {
				left := int(int8(v - byte(p)))
				want[kind] += max(left, -left)
			}
		}
		if got != want {
			t.Fatalf("%d bytes: %v, want %v", n, got, want)
		}
	}
}

func benchmarkWriter(b *testing.B, w, h int, open func(io.Writer, Header) (RowWriter, error), bits int, bytes bool) {
	// Smooth shading and noise of 1 %, as in a photograph.
	m := picture(w, 64)
	for i := range m.Pix {
		m.Pix[i] = m.Pix[i]/64 + uint16((i/3%w)*60000/w)
	}
	small := make([]byte, len(m.Pix))
	reduce(small, m.Pix)
	var size int64
	cpu := usage.CPUSeconds()
	for b.Loop() {
		out := new(countingSeeker)
		rw, err := open(out, Header{Width: w, Height: h, Bits: bits})
		if err != nil {
			b.Fatal(err)
		}
		for y := range h {
			if bytes {
				err = rw.(ByteWriter).WriteBytes(small[y%64*3*w:][:3*w])
			} else {
				err = rw.WriteRow(m.Row(y % 64))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := rw.Close(); err != nil {
			b.Fatal(err)
		}
		size = out.n
	}
	mp := float64(b.N) * float64(w*h) / 1e6
	b.ReportMetric(mp/b.Elapsed().Seconds(), "MP/s")
	b.ReportMetric(mp/(usage.CPUSeconds()-cpu), "MP/cpu-s")
	b.ReportMetric(8*float64(size)/float64(w*h), "bits/pixel")
	b.ReportMetric(0, "ns/op")
}

// countingSeeker counts what is written and keeps nothing.
type countingSeeker struct{ n int64 }

func (c *countingSeeker) Write(p []byte) (int, error)    { c.n += int64(len(p)); return len(p), nil }
func (c *countingSeeker) Seek(int64, int) (int64, error) { return 0, nil }

// BenchmarkWriters writes 12 megapixels.
func BenchmarkWriters(b *testing.B) {
	tiff := func(c TIFFCompression) func(io.Writer, Header) (RowWriter, error) {
		return func(w io.Writer, h Header) (RowWriter, error) { return NewTIFF(w, h, c) }
	}
	jpeg := func(w io.Writer, h Header) (RowWriter, error) { return NewJPEG(w, h, 95, SubsamplingDefault) }
	for _, bb := range []struct {
		name  string
		open  func(io.Writer, Header) (RowWriter, error)
		bits  int
		bytes bool // rows come as they are stored
	}{
		{"PNG8", NewPNG, 8, false}, {"PNG8Bytes", NewPNG, 8, true}, {"PNG16", NewPNG, 16, false},
		{"TIFF8", tiff(TIFFNone), 8, false}, {"TIFF16", tiff(TIFFNone), 16, false},
		{"TIFFDeflate8", tiff(TIFFDeflate), 8, false}, {"TIFFDeflate16", tiff(TIFFDeflate), 16, false},
		{"JPEG95", jpeg, 8, false}, {"JPEG90", func(w io.Writer, h Header) (RowWriter, error) { return NewJPEG(w, h, 90, SubsamplingDefault) }, 8, false},
	} {
		b.Run(bb.name, func(b *testing.B) { benchmarkWriter(b, 4000, 3000, bb.open, bb.bits, bb.bytes) })
	}
}

// BenchmarkStandardPNG is the standard library on a like picture, to compare.
func BenchmarkStandardPNG(b *testing.B) {
	im := image.NewNRGBA(image.Rect(0, 0, 4000, 3000))
	m := picture(4000, 64)
	for i := range m.Pix {
		v := m.Pix[i]/64 + uint16((i/3%4000)*60000/4000)
		for y := i / 12000; y < 3000; y += 64 {
			im.Pix[y*im.Stride+i/3%4000*4+i%3], im.Pix[y*im.Stride+i/3%4000*4+3] = to8(v), 255
		}
	}
	var out countingSeeker
	for b.Loop() {
		out.n = 0
		if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, im); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*12/b.Elapsed().Seconds(), "MP/s")
	b.ReportMetric(8*float64(out.n)/12e6, "bits/pixel")
}
