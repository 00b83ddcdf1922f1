package imgio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/image/tiff"

	"enhance/internal/boundtest"
)

func encodePNG(t testing.TB, im image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadKinds reads what other encoders write, in every pixel type.
func TestReadKinds(t *testing.T) {
	r := image.Rect(0, 0, 2, 1)
	colours := []color.NRGBA64{{0x1234, 0x5678, 0x9abc, 0xffff}, {0xffff, 0, 0x8000, 0xffff}}
	fill := func(im interface {
		image.Image
		Set(x, y int, c color.Color)
	}) image.Image {
		for x, c := range colours {
			im.Set(x, 0, c)
		}
		return im
	}
	deep := []uint16{0x1234, 0x5678, 0x9abc, 0xffff, 0, 0x8000}
	shallow := []uint16{0x1212, 0x5656, 0x9a9a, 0xffff, 0, 0x8080}
	grey := func(v ...uint16) []uint16 { return []uint16{v[0], v[0], v[0], v[1], v[1], v[1]} }
	palette := color.Palette{color.RGBA{0x12, 0x56, 0x9a, 0xff}, color.RGBA{0xff, 0, 0x80, 0xff}}
	tests := []struct {
		name string
		im   image.Image
		bits int
		want []uint16
	}{
		{"NRGBA", fill(image.NewNRGBA(r)), 8, shallow},
		{"RGBA", fill(image.NewRGBA(r)), 8, shallow},
		{"NRGBA64", fill(image.NewNRGBA64(r)), 16, deep},
		{"RGBA64", fill(image.NewRGBA64(r)), 16, deep},
		{"Gray", &image.Gray{Pix: []byte{7, 255}, Stride: 2, Rect: r}, 8, grey(7*257, 65535)},
		{"Gray16", &image.Gray16{Pix: []byte{1, 2, 0xff, 0xfe}, Stride: 4, Rect: r}, 16, grey(0x0102, 0xfffe)},
		{"Paletted", &image.Paletted{Pix: []byte{0, 1}, Stride: 2, Rect: r, Palette: palette}, 8, shallow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := &RGB16{Width: 2, Height: 1, Bits: tt.bits, Pix: tt.want}
			wantSame(t, decode(t, encodePNG(t, tt.im)), want)
			for _, c := range []tiff.CompressionType{tiff.Uncompressed, tiff.Deflate} {
				var b bytes.Buffer
				if err := tiff.Encode(&b, tt.im, &tiff.Options{Compression: c}); err != nil {
					t.Fatal(err)
				}
				wantSame(t, decode(t, b.Bytes()), want)
			}
		})
	}
	sub, err := toRGB16(fill(image.NewNRGBA(image.Rect(0, 0, 5, 4))).(*image.NRGBA).SubImage(image.Rect(1, 0, 2, 1)))
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, sub, &RGB16{Width: 1, Height: 1, Bits: 8, Pix: shallow[3:]})
}

// hugePNG claims w×h pixels in a few bytes.
func hugePNG(w, h uint32) []byte {
	body := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
	body = append(body, 8, 2, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(body))
}

func TestReadErrors(t *testing.T) {
	transparent := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	transparent.Set(0, 0, color.NRGBA{1, 2, 3, 255})
	good := encodePNG(t, image.NewGray(image.Rect(0, 0, 50, 50)))
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"Empty", nil, ErrFormat},
		{"Text", []byte("hello, world"), ErrFormat},
		{"Truncated", good[:len(good)/2], ErrCorrupt},
		{"HeaderOnly", good[:20], ErrCorrupt},
		{"JPEGStart", []byte("\xff\xd8"), ErrCorrupt},
		{"TIFFStart", []byte("II*\x00"), ErrCorrupt},
		{"TIFFNoIFD", []byte("II*\x00\x08\x00\x00\x00\x00\x00"), ErrCorrupt},
		{"Bomb", hugePNG(16384, 16384), ErrCorrupt},
		{"Huge", hugePNG(1<<20, 1<<20), ErrTooLarge},
		{"Overflow", hugePNG(1<<31-1, 1<<31-1), ErrUnsupported},
		{"Transparent", encodePNG(t, transparent), ErrUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "picture")
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadRGB16(path)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %v and the path", err, tt.want)
			}
		})
	}
	if _, err := ReadRGB16(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := ReadRGB16(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("directory: %v", err)
	}
}

func FuzzReadRGB16(f *testing.F) {
	m := picture(9, 5)
	for _, w := range writers {
		var out seekBuffer
		rw, err := w.make(&out, Header{Width: 9, Height: 5, Bits: w.bits})
		if err != nil {
			f.Fatal(err)
		}
		writeRows(f, rw, m)
		f.Add(out.data)
	}
	f.Add(encodePNG(f, image.NewGray16(image.Rect(0, 0, 3, 3))))
	f.Add(hugePNG(1<<20, 1<<10))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m *RGB16
		var err error
		boundtest.Run(t, len(data), 8<<20, 20*maxExpansion, func() { m, err = DecodeRGB16(bytes.NewReader(data), int64(len(data))) })
		if err != nil {
			for _, known := range []error{ErrFormat, ErrCorrupt, ErrTooLarge, ErrUnsupported} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("untyped error: %v", err)
		}
		if len(m.Pix) != 3*m.Width*m.Height || (m.Bits != 8 && m.Bits != 16) {
			t.Fatalf("%dx%d of %d bits with %d samples", m.Width, m.Height, m.Bits, len(m.Pix))
		}
	})
}
