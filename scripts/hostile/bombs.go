package main

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// bombKinds are small files that claim much.
var bombKinds = []kind{{name: "bomb", weight: 2, make: func(c *campaign, a *attempt) error {
	b := bombs[a.IntN(len(bombs))]
	if err := b(c, a); err != nil {
		return err
	}
	return nil
}}}

var bombs = []func(*campaign, *attempt) error{
	photoPNG, referencePNG, claimedDNG, deflatedDNG, sparseRaw, safetensorsHeader, safetensorsDepth, zipDict, longJSON, manyDirectories, sparseTuning, sparseAny, sparseAny, sparseValues,
}

// zeros are n deflated zero bytes.
func zeros(n int64) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	block := make([]byte, 1<<16)
	for ; n > 0; n -= int64(len(block)) {
		z.Write(block[:min(n, int64(len(block)))])
	}
	z.Close()
	return b.Bytes()
}

// pngOf is one of deflated rows.
func pngOf(w, h int, depth, colour byte, data []byte) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(append(append(out, kind...), data...), 0, 0, 0, 0)
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	chunk("IHDR", append(head, depth, colour, 0, 0, 0))
	chunk("IDAT", data)
	chunk("IEND", nil)
	return fixPNG(out)
}

// side is a large one.
func (a *attempt) side() int { return 2000 + a.IntN(8000) }

func photoPNG(c *campaign, a *attempt) error {
	w, h := a.side(), a.side()
	a.develop(a.file("bomb.png", pngOf(w, h, 16, 0, zeros(int64(1+2*w)*int64(h)))), "--cfa", "RGGB")
	if a.IntN(2) == 0 { // with a budget, and without one the plan says no
		a.args = append(a.args, "--dry-run", "--exposure", "auto")
	}
	return nil
}

func referencePNG(c *campaign, a *attempt) error {
	w, h := a.side(), a.side()
	a.develop(a.headerless(c)...)
	a.args = append(a.args, "--reference", a.file("bomb.png", pngOf(w, h, 8, 0, zeros(int64(1+w)*int64(h)))))
	return nil
}

// claimedDNG has a header of impossible sides.
func claimedDNG(c *campaign, a *attempt) error {
	var b bytes.Buffer
	s := dng.Spec{Width: photoW, Height: photoH, Samples: samples(photoW * photoH), Meta: mosaic.Meta{CFA: mosaic.RGGB}, JPEG: &dng.JPEG{Components: 1, Predictor: 1}}
	if err := dng.Write(&b, s); err != nil {
		return err
	}
	raw := b.Bytes()
	side := binary.LittleEndian.AppendUint32(nil, uint32(1<<(12+a.IntN(18))))
	for _, tag := range []byte{0, 1} { // ImageWidth, ImageLength
		if at := bytes.Index(raw, []byte{tag, 1, 4, 0, 1, 0, 0, 0}); at >= 0 {
			copy(raw[at+8:], side)
		} else if at := bytes.Index(raw, []byte{tag, 1, 3, 0, 1, 0, 0, 0}); at >= 0 {
			copy(raw[at+8:], []byte{255, 255})
		}
	}
	a.develop(a.file("claims.dng", raw))
	a.maybe("--dry-run")
	return nil
}

// deflatedDNG has samples that compress a thousandfold.
func deflatedDNG(c *campaign, a *attempt) error {
	w, h := 2000+2*a.IntN(1000), 2000+2*a.IntN(1000)
	s := dng.Spec{Width: w, Height: h, Samples: make([]uint16, w*h), Meta: mosaic.Meta{CFA: mosaic.RGGB}, Compression: 8, Encode: deflate}
	if a.IntN(2) == 0 {
		s.TileWidth, s.TileHeight = w/2, h
	}
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		return err
	}
	a.develop(a.file("bomb.dng", b.Bytes()))
	a.args = append(a.args, "--dry-run", "--exposure", "auto")
	return nil
}

// sparseRaw is a photo of a gigapixel and more that takes no room on the disk; its budget
// is hopeless, which must be found without reading it.
func sparseRaw(c *campaign, a *attempt) error {
	side := 32000 + 2*a.IntN(6000)
	path := a.file("sparse.raw", nil)
	if err := os.Truncate(path, 2*int64(side)*int64(side)); err != nil {
		return err
	}
	a.develop(path, "--raw-size", fmt.Sprintf("%dx%d", side, side), "--cfa", "RGGB", "--exposure", "auto", "--wb", "auto")
	a.maybe("--mem", "1M")
	a.maybe("--dry-run")
	return nil
}

// sparseAny is a good file with a hole behind it, up to terabytes.
func sparseAny(c *campaign, a *attempt) error {
	kinds := [][]seed{c.files.photos, c.files.samples, c.files.references, c.files.weights, c.files.profiles}
	k := a.IntN(len(kinds))
	s := kinds[k][a.IntN(len(kinds[k]))]
	path := a.file(s.name, s.data)
	switch k {
	case 0, 1:
		a.args = []string{"-g", "host", path, "--dry-run", "-o", filepath.Join(a.dir, "out.png")}
		a.extra = 256 << 20
		a.maybe("--exposure", "auto")
		if !strings.HasSuffix(s.name, ".dng") {
			a.args = append(a.args, "--cfa", "RGGB")
		}
	case 2:
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "--reference", path)
	case 3:
		a.info(path)
	default:
		a.args = append(a.headerless(c), "--dry-run", "--device-profile", path)
	}
	return os.Truncate(path, 1<<(28+a.IntN(14)))
}

// sparseValues are weights of zeros that take no room on the disk, as many as the header says.
func sparseValues(c *campaign, a *attempt) error {
	n := int64(1) << []int{22, 23, 24, 30, 31, 35, 40}[a.IntN(7)] // up to a memory that every machine has, and too many
	header := fmt.Sprintf(`{"skip.weight":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}`, n, 4*n)
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	path := a.file("sparse.safetensors", b)
	a.info(path)
	a.extra = 4 * (4 << 24)
	return os.Truncate(path, int64(len(b))+4*n)
}

func (a *attempt) info(path string) { a.args = []string{"model", "info", path} }

func safetensorsHeader(c *campaign, a *attempt) error {
	n := 1 << (10 + a.IntN(14))
	b := binary.LittleEndian.AppendUint64(nil, []uint64{1 << 62, uint64(n), 99_999_999, 1<<64 - 1}[a.IntN(4)])
	a.info(a.file("bomb.safetensors", append(b, bytes.Repeat([]byte{' '}, n)...)))
	return nil
}

func safetensorsDepth(c *campaign, a *attempt) error {
	n := 1 << (10 + a.IntN(12))
	header := []string{strings.Repeat("[", n), strings.Repeat(`{"a":`, n), `{"a":{"dtype":"F32","shape":[` + strings.Repeat("1,", n) + `1],"data_offsets":[0,4]}}`, `{"__metadata__":{"a":"` + strings.Repeat("\\u0000", n) + `"}}`}[a.IntN(4)]
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	a.info(a.file("bomb.safetensors", append(b, header...)))
	return nil
}

// zipDict is a state dict whose pickle, or a storage, is deflated zeros.
func zipDict(c *campaign, a *attempt) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"net/data.pkl", "net/data/0", "net/version"} {
		w, err := z.Create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, 1<<(20+a.IntN(6)))); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	a.info(a.file("bomb.pth", b.Bytes()))
	return nil
}

func longJSON(c *campaign, a *attempt) error {
	n := 1 << (10 + a.IntN(12))
	text := []string{strings.Repeat("[", n), strings.Repeat(`{"name":`, n), `{"name":"` + strings.Repeat("x", n) + `"}`, strings.Repeat(" ", n)}[a.IntN(4)]
	a.args = append(a.headerless(c), "--dry-run", "--device-profile", a.file("bomb.json", []byte(text)))
	return nil
}

// manyDirectories is a TIFF whose directories overlap in a chain.
func manyDirectories(c *campaign, a *attempt) error {
	b := []byte("II*\x00\x08\x00\x00\x00")
	for i := range 1 << (4 + a.IntN(12)) {
		b = append(b, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(8+6*(i+1)))
	}
	a.args = []string{"inspect", a.file("chain.dng", b)}
	return nil
}

// sparseTuning is a file of tuning results of several gigabytes.
func sparseTuning(c *campaign, a *attempt) error {
	dir := filepath.Join(a.dir, "cache", "tuning")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, "x.txt")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(name, 8<<30); err != nil {
		return err
	}
	a.develop(a.headerless(c)...)
	return nil
}
