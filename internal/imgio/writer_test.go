package imgio

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math"
	"runtime"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	sizes := [][2]int{{1, 1}, {1, 7}, {7, 1}, {2, 3}, {64, 48}, {333, 517}, {100000, 2}}
	for _, w := range writers {
		for _, size := range sizes {
			if !w.lossless && size[0] > maxJPEGSide {
				continue
			}
			t.Run(fmt.Sprintf("%s/%dx%d", w.name, size[0], size[1]), func(t *testing.T) {
				m := picture(size[0], size[1])
				var out seekBuffer
				rw, err := w.make(&out, Header{Width: m.Width, Height: m.Height, Bits: w.bits, Exif: testExif(), Description: "test"})
				if err != nil {
					t.Fatal(err)
				}
				writeRows(t, rw, m)
				want := m
				if w.bits == 8 {
					want = reduced(m)
				}
				if got := decode(t, out.data); w.lossless {
					wantSame(t, got, want)
				} else if got.Width != m.Width || got.Height != m.Height {
					t.Errorf("got %dx%d", got.Width, got.Height)
				}
			})
		}
	}
}

// TestWriteBytes: rows of bytes make the files that their samples make, turned or not, and so
// through a writer that takes samples alone.
func TestWriteBytes(t *testing.T) {
	for _, w := range writers {
		if w.bits != 8 {
			continue
		}
		for _, orientation := range []int{1, 2, 3, 6} {
			m := picture(211, 93)
			uw, uh := OrientedSize(m.Width, m.Height, orientation)
			var files [3]seekBuffer
			for i := range files {
				rw, err := w.make(&files[i], Header{Width: uw, Height: uh, Bits: 8})
				if err == nil {
					rw, err = Oriented(rw, Header{Width: m.Width, Height: m.Height, Bits: 8}, orientation)
				}
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					writeRows(t, rw, m)
					continue
				}
				if i == 1 {
					rw = struct{ RowWriter }{rw}
				}
				to, row := TakeBytes(rw), make([]byte, 3*m.Width)
				if _, own := rw.(ByteWriter); own != (i == 2 && orientation != 2) {
					t.Errorf("%s, orientation %d: takes bytes: %v", w.name, orientation, own)
				}
				for y := range m.Height {
					for k, v := range m.Row(y) {
						row[k] = to8(v)
					}
					if err := to.WriteBytes(row); err != nil {
						t.Fatal(err)
					}
				}
				if err := to.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(files[1].data, files[0].data) || !bytes.Equal(files[2].data, files[0].data) {
				t.Errorf("%s, orientation %d: bytes make another file than samples", w.name, orientation)
			}
		}
	}
}

// TestWriteBytesRefuses: bytes for a picture of 16 bits, and too many of them.
func TestWriteBytesRefuses(t *testing.T) {
	for _, w := range writers {
		rw, err := w.make(&seekBuffer{}, Header{Width: 5, Height: 2, Bits: w.bits})
		if err != nil {
			t.Fatal(err)
		}
		n := 15
		if w.bits == 8 {
			n = 16
		}
		if err := TakeBytes(rw).WriteBytes(make([]byte, n)); !errors.Is(err, ErrRows) {
			t.Errorf("%s of %d bits takes %d bytes: %v", w.name, w.bits, n, err)
		}
		if err := rw.Close(); !errors.Is(err, ErrRows) {
			t.Errorf("%s: closed after an error: %v", w.name, err)
		}
	}
	rw, err := NewPNG(io.Discard, Header{Width: 5, Height: 3, Bits: 8})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rw.WriteRow(make([]uint16, 15)), rw.(ByteWriter).WriteBytes(make([]byte, 15))); !errors.Is(err, ErrRows) {
		t.Errorf("a PNG of samples and bytes: %v", err)
	}
}

// TestJPEGIsClose uses a picture without fine colour detail, which 4:2:0 loses.
func TestJPEGIsClose(t *testing.T) {
	m := &RGB16{Width: 200, Height: 120, Bits: 8, Pix: make([]uint16, 3*200*120)}
	for y := range 120 {
		for x := range 200 {
			copy(m.Row(y)[3*x:], []uint16{uint16(x) * 257, uint16(2*y) * 257, uint16(x+y/2) / 2 * 257})
		}
	}
	var out bytes.Buffer
	w, err := NewJPEG(&out, Header{Width: 200, Height: 120, Bits: 8}, 95, SubsamplingDefault)
	if err != nil {
		t.Fatal(err)
	}
	writeRows(t, w, m)
	got, sum := decode(t, out.Bytes()), 0.0
	for i := range m.Pix {
		d := float64(got.Pix[i])/257 - float64(m.Pix[i])/257
		sum += d * d
	}
	if rms := math.Sqrt(sum / float64(len(m.Pix))); rms > 1.5 {
		t.Errorf("rms error %.2f of 255", rms)
	}
}

// TestJPEGBands: a picture of many bands is decoded to what one that is encoded as a
// whole is decoded to, whatever its sides, and is the same bytes for any number of
// cores.
func TestJPEGBands(t *testing.T) {
	for _, size := range [][2]int{{11000, 165}, {4000, 1031}, {700, 16}, {700, 500}, {21, 17000}} {
		m := picture(size[0], size[1])
		for i := range m.Pix { // smooth, with some noise
			m.Pix[i] = m.Pix[i]/8 + uint16(i/3%size[0]*50000/size[0])
		}
		var files [][]byte
		for _, cores := range []int{1, 7} {
			before := runtime.GOMAXPROCS(cores)
			var out bytes.Buffer
			w, err := NewJPEG(&out, Header{Width: size[0], Height: size[1], Bits: 8}, 90, Subsampling420)
			if err != nil {
				t.Fatal(err)
			}
			writeRows(t, w, m)
			runtime.GOMAXPROCS(before)
			files = append(files, out.Bytes())
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Errorf("%v: the bytes depend on the number of cores", size)
		}
		var plain bytes.Buffer
		whole, err := NewJPEG(&plain, Header{Width: size[0], Height: size[1], Bits: 8}, 90, Subsampling420)
		if err != nil {
			t.Fatal(err)
		}
		whole.(*jpegWriter).perBand = (size[1] + jpegUnit - 1) / jpegUnit * jpegUnit
		writeRows(t, whole, m)
		got, err := jpeg.Decode(bytes.NewReader(files[0]))
		if err != nil {
			t.Fatalf("%v: %v", size, err)
		}
		want, err := jpeg.Decode(&plain)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := got.(*image.YCbCr), want.(*image.YCbCr); g.Rect != w.Rect || !bytes.Equal(g.Y, w.Y) || !bytes.Equal(g.Cb, w.Cb) || !bytes.Equal(g.Cr, w.Cr) {
			t.Errorf("%v: another picture than as one band", size)
		}
		bands := (size[1] + JPEGBandRows(size[0]) - 1) / JPEGBandRows(size[0])
		if n := bytes.Count(files[0], []byte{0xff, 0xdd, 0, 4}); (n > 0) != (bands > 1) {
			t.Errorf("%v: %d bands, restart intervals given: %d", size, bands, n)
		}
	}
}

func TestReductionIsNearest(t *testing.T) {
	for v := range 65536 {
		want := math.Round(float64(v) * 255 / 65535)
		if got := to8(uint16(v)); float64(got) != want {
			t.Fatalf("%d: got %d, want %g", v, got, want)
		}
	}
	all, got := make([]uint16, 65536+15), make([]byte, 65536+16)
	for v := range all {
		all[v] = uint16(v)
	}
	for _, n := range []int{0, 1, 15, 16, 17, 100, len(all)} {
		got[n] = 0xa5
		reduce(got[:n], all[:n])
		for v := range n {
			if got[v] != to8(uint16(v)) {
				t.Fatalf("%d in a line of %d: %d, want %d", uint16(v), n, got[v], to8(uint16(v)))
			}
		}
		if got[n] != 0xa5 {
			t.Errorf("%d samples: the byte behind them changed", n)
		}
	}
	for k := range 256 {
		if got := to8(uint16(k * 257)); int(got) != k {
			t.Fatalf("%d·257 gives %d", k, got)
		}
	}
}

func TestBytesDoNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	m := picture(700, 900)
	for _, w := range writers {
		var first []byte
		for _, cores := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(cores)
			var out seekBuffer
			rw, err := w.make(&out, Header{Width: m.Width, Height: m.Height, Bits: w.bits})
			if err != nil {
				t.Fatal(err)
			}
			writeRows(t, rw, m)
			if first == nil {
				first = out.data
			} else if !bytes.Equal(first, out.data) {
				t.Errorf("%s: other bytes on %d cores", w.name, cores)
			}
		}
	}
}

func TestContract(t *testing.T) {
	m := picture(5, 3)
	for _, w := range writers {
		start := func() RowWriter {
			rw, err := w.make(new(seekBuffer), Header{Width: 5, Height: 3, Bits: w.bits})
			if err != nil {
				t.Fatal(err)
			}
			return rw
		}
		for _, o := range []int{1, 2, 3} {
			wrap := func() RowWriter {
				rw, err := Oriented(start(), Header{Width: 5, Height: 3, Bits: w.bits}, o)
				if err != nil {
					t.Fatal(err)
				}
				return rw
			}
			name := fmt.Sprintf("%s orientation %d", w.name, o)
			rw := wrap()
			rw.WriteRow(m.Row(0))
			if err := rw.Close(); !errors.Is(err, ErrRows) {
				t.Errorf("%s: early Close: %v", name, err)
			}
			rw = wrap()
			if err := rw.WriteRow(m.Row(0)[:14]); !errors.Is(err, ErrRows) {
				t.Errorf("%s: short row: %v", name, err)
			}
			if err := rw.WriteRow(m.Row(0)); !errors.Is(err, ErrRows) {
				t.Errorf("%s: the error does not stick: %v", name, err)
			}
			rw = wrap()
			for y := range 3 {
				if err := rw.WriteRow(m.Row(y)); err != nil {
					t.Errorf("%s: row %d: %v", name, y, err)
				}
			}
			if err := rw.WriteRow(m.Row(0)); !errors.Is(err, ErrRows) {
				t.Errorf("%s: extra row: %v", name, err)
			}
			rw = wrap()
			writeRows(t, rw, m)
			if err := rw.Close(); !errors.Is(err, ErrRows) {
				t.Errorf("%s: second Close: %v", name, err)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	tests := []struct {
		name string
		h    Header
		want error
	}{
		{"Zero", Header{Width: 0, Height: 1, Bits: 8}, ErrHeader},
		{"Negative", Header{Width: 1, Height: -1, Bits: 8}, ErrHeader},
		{"Bits", Header{Width: 1, Height: 1, Bits: 12}, ErrHeader},
		{"Wide", Header{Width: maxSide, Height: 1, Bits: 8}, ErrTooLarge},
		{"Exif", Header{Width: 1, Height: 1, Bits: 8, Exif: []byte("Exif\x00\x00II*\x00")}, ErrExif},
	}
	for _, w := range writers {
		for _, tt := range tests {
			if rw, err := w.make(new(seekBuffer), tt.h); !errors.Is(err, tt.want) || rw != nil {
				t.Errorf("%s, %s: %v, want %v", w.name, tt.name, err, tt.want)
			}
		}
	}
	jpegs := []struct {
		h       Header
		quality int
		want    error
	}{
		{Header{Width: 65536, Height: 1, Bits: 8}, 90, ErrTooLarge},
		{Header{Width: 1, Height: 65536, Bits: 8}, 90, ErrTooLarge},
		{Header{Width: 1, Height: 1, Bits: 16}, 90, ErrUnsupported},
		{Header{Width: 1, Height: 1, Bits: 8}, 0, ErrHeader},
		{Header{Width: 1, Height: 1, Bits: 8}, 101, ErrHeader},
		{Header{Width: 1, Height: 1, Bits: 8, Description: string(make([]byte, 65534))}, 90, ErrTooLarge},
	}
	for _, tt := range jpegs {
		if _, err := NewJPEG(io.Discard, tt.h, tt.quality, SubsamplingDefault); !errors.Is(err, tt.want) {
			t.Errorf("JPEG %dx%d/%d quality %d: %v, want %v", tt.h.Width, tt.h.Height, tt.h.Bits, tt.quality, err, tt.want)
		}
	}
	// 4 GiB: 37837 squared by 3 bytes is just above, 37836 by 37837 just below,
	// but the directory does not fit any more.
	for _, h := range []Header{{Width: 37838, Height: 37838, Bits: 8}, {Width: 26755, Height: 26755, Bits: 16}, {Width: 37837, Height: 37837, Bits: 8}} {
		if _, err := NewTIFF(io.Discard, h, TIFFNone); !errors.Is(err, ErrTooLarge) {
			t.Errorf("TIFF %dx%d/%d: %v, want ErrTooLarge", h.Width, h.Height, h.Bits, err)
		}
	}
	if _, err := NewTIFF(io.Discard, Header{Width: 37830, Height: 37830, Bits: 8}, TIFFNone); err != nil {
		t.Errorf("TIFF just under 4 GiB: %v", err)
	}
	if _, err := NewTIFF(io.Discard, Header{Width: 1, Height: 1, Bits: 8}, TIFFDeflate); !errors.Is(err, ErrUnsupported) {
		t.Errorf("deflate without a seeker: %v, want ErrUnsupported", err)
	}
	if _, err := NewTIFF(io.Discard, Header{Width: 1, Height: 1, Bits: 8}, 5); !errors.Is(err, ErrUnsupported) {
		t.Errorf("compression 5: %v, want ErrUnsupported", err)
	}
}

// limited fails once room bytes are written.
type limited struct {
	seekBuffer
	room int
}

var errDiskFull = errors.New("disk full")

func (l *limited) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, errDiskFull
	}
	return l.seekBuffer.Write(p)
}

func TestWriteErrors(t *testing.T) {
	m := picture(600, 800)
	formats := map[string]func(w io.Writer, h Header) (RowWriter, error){
		"PNG":     NewPNG,
		"TIFF":    func(w io.Writer, h Header) (RowWriter, error) { return NewTIFF(w, h, TIFFNone) },
		"Deflate": func(w io.Writer, h Header) (RowWriter, error) { return NewTIFF(w, h, TIFFDeflate) },
		"JPEG":    func(w io.Writer, h Header) (RowWriter, error) { return NewJPEG(w, h, 90, SubsamplingDefault) },
	}
	for name, open := range formats {
		whole := &limited{room: math.MaxInt}
		h := Header{Width: m.Width, Height: m.Height, Bits: 8}
		rw, err := open(whole, h)
		if err != nil {
			t.Fatal(err)
		}
		writeRows(t, rw, m)
		size := math.MaxInt - whole.room
		for _, room := range []int{0, 10, 100, size / 2, size - 1} {
			rw, err := open(&limited{room: room}, h)
			for y := 0; y < m.Height && err == nil; y++ {
				err = rw.WriteRow(m.Row(y))
			}
			if err == nil {
				err = rw.Close()
			}
			if !errors.Is(err, errDiskFull) {
				t.Errorf("%s with room for %d of %d bytes: %v", name, room, size, err)
			}
		}
	}
}
