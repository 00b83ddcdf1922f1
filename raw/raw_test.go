package raw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

func openBytes(b []byte, opt Options) (*Photo, error) {
	return OpenReader(bytes.NewReader(b), int64(len(b)), "photo", opt)
}

func dngBytes(t testing.TB, s dng.Spec) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func smallSpec() dng.Spec {
	s := dng.Spec{Width: 6, Height: 4, Bits: 12, Samples: make([]uint16, 24), Meta: Meta{CFA: mosaic.RGGB}}
	for i := range s.Samples {
		s.Samples[i] = uint16(100 * i)
	}
	return s
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.dng")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "none.dng"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("directory: %v", err)
	}
	var fe *FormatError
	if _, err := Open(empty, Options{}); !errors.As(err, &fe) || !strings.Contains(err.Error(), "empty") {
		t.Errorf("empty file: %v", err)
	}
	if _, err := Open(os.DevNull, Options{}); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("device: %v", err)
	}
}

func TestRefusedByName(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{"\x00\x00\x00\x18ftypcrx \x00", "Canon CR3: convert it to DNG first"},
		{"II*\x00\x10\x00\x00\x00CR\x02\x00", "Canon CR2: convert"},
		{"FUJIFILMCCD-RAW 0201", "Fujifilm RAF: convert"},
		{"IIRO\x08\x00\x00\x00", "Olympus ORF: convert"},
		{"IIU\x00\x18\x00\x00\x00", "Panasonic RW2: convert"},
		{"\xff\xd8\xff\xe1", "JPEG picture"},
		{"\x00\x00\x00\x1cftypheic", "HEIF"},
		{"GIF89a", "GIF picture"},
		{"hello, world", "unknown kind"},
		{"x", "unknown kind"},
	} {
		_, err := openBytes([]byte(c.head), Options{})
		var ue *UnsupportedError
		if !errors.As(err, &ue) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.head, err, c.want)
		}
	}
	// TIFF-based camera formats: a mosaic without a DNGVersion.
	s := smallSpec()
	s.Meta.Make = "NIKON CORPORATION"
	b := dngBytes(t, s)
	at := bytes.Index(b, []byte{0x12, 0xC6, 1, 0, 4, 0, 0, 0})
	copy(b[at:], []byte{0xFF, 0xFE}) // some private tag in place of DNGVersion
	_, err := openBytes(b, Options{})
	var ue *UnsupportedError
	if !errors.As(err, &ue) || !strings.Contains(err.Error(), "NIKON CORPORATION") || !strings.Contains(err.Error(), "DNG Converter") {
		t.Errorf("NEF: %v", err)
	}
}

func TestHeaderlessSize(t *testing.T) {
	b := make([]byte, 2*24*16)
	cfa := pattern(t, "RGGB")
	if _, err := openBytes(b, Options{Width: 24, Height: 16, CFA: cfa}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		n, w, h int
		want    string
	}{
		{len(b), 16, 16, "24x16"},
		{len(b), 1 << 40, 1 << 40, "has 768"},
		{len(b) - 1, 24, 16, "odd number"},
		{len(b), -1, 16, "at least 1"},
		{len(b), 24, 0, "at least 1"},
		{2 * 7919, 24, 16, "no photo-like size"},
	} {
		big := make([]byte, max(c.n, len(b)))
		_, err := openBytes(big[:c.n], Options{Width: c.w, Height: c.h, CFA: cfa})
		var oe *OptionError
		if !errors.As(err, &oe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%dx%d: %v, want %q", c.w, c.h, err, c.want)
		}
	}
	var oe *OptionError
	if _, err := openBytes(b, Options{Width: 24, Height: 16}); !errors.As(err, &oe) || oe.Option != "cfa" {
		t.Errorf("without CFA: %v", err)
	}
}

func TestOverrides(t *testing.T) {
	s := smallSpec()
	s.Meta.AsShot = &[3]float64{1, 1, 1}
	s.Meta.BlackRows, s.Meta.BlackCols, s.Meta.Black = 1, 1, []float32{64}
	p, err := openBytes(dngBytes(t, s), Options{CFA: pattern(t, "GBRG"), Black: ptr(10.0), White: ptr(510.0), WB: &[3]float64{2, 1, 4}})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Meta()
	if m.CFA != mosaic.GBRG || m.BlackAt(0, 0) != 10 || m.White[2] != 510 || *m.AsShot != [3]float64{0.5, 1, 0.25} {
		t.Errorf("%v %g %v %v", m.CFA, m.BlackAt(0, 0), m.White, *m.AsShot)
	}
	dst := make([]float32, 3)
	p.Normalise(0, 0, []uint16{10, 510, 0}, dst)
	if !slices.Equal(dst, []float32{0, 1, -0.02}) {
		t.Errorf("normalised %v", dst)
	}
	for _, opt := range []Options{{White: ptr(64.0)}, {Black: ptr(5000.0)}, {WB: &[3]float64{1, 0, 1}}, {CFA: &Pattern{}}} {
		var oe *OptionError
		if _, err := openBytes(dngBytes(t, s), opt); !errors.As(err, &oe) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	other := mosaic.XTrans.Shift(1, 2)
	for _, c := range []struct{ file, given Pattern }{{mosaic.RGGB, mosaic.XTrans}, {mosaic.XTrans, mosaic.RGGB}, {mosaic.XTrans, *pattern(t, "quad-RGGB")},
		{mosaic.RGGB, *pattern(t, "2x4:RGGRGBBG")}} {
		s := s
		s.Meta.CFA = c.file
		var oe *OptionError
		if _, err := openBytes(dngBytes(t, s), Options{CFA: &c.given}); !errors.As(err, &oe) || oe.Option != "cfa" || !strings.Contains(err.Error(), c.file.Kind()) {
			t.Errorf("%v for %v: %v", c.given, c.file, err)
		}
	}
	for _, given := range []Pattern{other, mosaic.Mono} {
		s := s
		s.Meta.CFA = mosaic.XTrans
		if p, err := openBytes(dngBytes(t, s), Options{CFA: &given}); err != nil || p.Meta().CFA != given || len(p.Meta().Warnings) == 0 {
			t.Errorf("%v for X-Trans: %v", given, err)
		}
	}
	s.Meta.SetWhite(64)
	var fe *FormatError
	if _, err := openBytes(dngBytes(t, s), Options{}); !errors.As(err, &fe) || !strings.Contains(err.Error(), "white level 64 is not above black level 64") {
		t.Errorf("white at black: %v", err)
	}
}

func TestReadRowsRange(t *testing.T) {
	p, err := openBytes(dngBytes(t, smallSpec()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]uint16, 24)
	for _, r := range [][2]int{{-1, 1}, {0, 5}, {4, 1}, {0, -1}, {1 << 62, 1 << 62}} {
		if err := p.ReadRows(r[0], r[1], dst); err == nil {
			t.Errorf("rows from %d, %d of them: no error", r[0], r[1])
		}
	}
	if err := p.ReadRows(0, 4, dst[:23]); err == nil {
		t.Error("too small a destination: no error")
	}
	if err := p.ReadRows(4, 0, nil); err != nil {
		t.Error(err)
	}
}

func gray16(t testing.TB, w, h int) []byte {
	t.Helper()
	img := image.NewGray16(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.SetGray16(i%w, i/w, color.Gray16{Y: uint16(i * 257)})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPNG(t *testing.T) {
	cfa := Options{CFA: pattern(t, "GRBG")}
	for _, size := range [][2]int{{1, 1}, {5, 3}, {8, 8}} {
		p, err := openBytes(gray16(t, size[0], size[1]), cfa)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range readAll(t, p) {
			if v != uint16(i*257) {
				t.Fatalf("%v: sample %d is %d", size, i, v)
			}
		}
	}
	good := gray16(t, 5, 3)
	for n := 8; n < len(good); n++ {
		_, err := openBytes(good[:n], cfa)
		var fe *FormatError
		// The end chunk holds no samples, but a file without it was cut.
		if !errors.As(err, &fe) {
			t.Fatalf("cut at %d of %d: %v", n, len(good), err)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	var ue *UnsupportedError
	if _, err := openBytes(b.Bytes(), cfa); !errors.As(err, &ue) {
		t.Errorf("8-bit PNG: %v", err)
	}
	var oe *OptionError
	if _, err := openBytes(good, Options{}); !errors.As(err, &oe) {
		t.Errorf("PNG without CFA: %v", err)
	}
}

// TestPNGBomb gives headers that claim far more samples than the file can hold.
func TestPNGBomb(t *testing.T) {
	for _, side := range []uint32{60000, 1<<31 - 1, 2000} {
		b := gray16(t, 4, 4)
		binary.BigEndian.PutUint32(b[16:], side)
		binary.BigEndian.PutUint32(b[20:], side)
		binary.BigEndian.PutUint32(b[29:], crc(b[12:29]))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := openBytes(b, Options{CFA: pattern(t, "RGGB")})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%dx%d: no error", side, side)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%dx%d: %d bytes allocated", side, side, used)
		}
	}
}

// grayTIFF is a little-endian 16-bit gray TIFF in one strip.
func grayTIFF(w, h int, edit func(d *tiff.Dir)) []byte {
	d := tiff.NewDir(binary.LittleEndian, false)
	d.Longs(256, uint32(w))
	d.Longs(257, uint32(h))
	d.Shorts(258, 16)
	d.Shorts(259, 1)
	d.Shorts(262, 1)
	d.Longs(273, 0)
	d.Longs(279, uint32(2*w*h))
	if edit != nil {
		edit(d)
	}
	d.Longs(273, uint32(len(d.EncodeFile())))
	b := d.EncodeFile()
	for i := range w * h {
		b = binary.LittleEndian.AppendUint16(b, uint16(i*31))
	}
	return b
}

func TestTIFFMosaic(t *testing.T) {
	p, err := openBytes(grayTIFF(7, 5, nil), Options{CFA: pattern(t, "BGGR")})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range readAll(t, p) {
		if v != uint16(i*31) {
			t.Fatalf("sample %d is %d", i, v)
		}
	}
	if m := p.Meta(); m.CFA != mosaic.BGGR || m.White[0] != 65535 || m.Format != "TIFF mosaic, uncompressed 16-bit" {
		t.Errorf("%+v", m)
	}
	var oe *OptionError
	if _, err := openBytes(grayTIFF(7, 5, nil), Options{}); !errors.As(err, &oe) {
		t.Errorf("without CFA: %v", err)
	}
	for name, edit := range map[string]func(d *tiff.Dir){
		"RGB":       func(d *tiff.Dir) { d.Shorts(262, 2); d.Shorts(277, 3) },
		"LZW":       func(d *tiff.Dir) { d.Shorts(259, 5) },
		"JPEG":      func(d *tiff.Dir) { d.Shorts(259, 7) },
		"8-bit":     func(d *tiff.Dir) { d.Shorts(258, 8) },
		"WhiteZero": func(d *tiff.Dir) { d.Shorts(262, 0) },
	} {
		var ue *UnsupportedError
		if _, err := openBytes(grayTIFF(7, 5, edit), Options{CFA: pattern(t, "RGGB")}); !errors.As(err, &ue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
