package dng

import (
	"fmt"

	"enhance/raw/rawerr"
)

// maxSide is the largest width or height believed. It keeps products of sizes
// within int64 and is far above any sensor.
const maxSide = 1 << 20

// layout is where the stored image's samples lie: a grid of chunks (strips or
// tiles), each compressed by itself.
type layout struct {
	w, h        int // stored image
	cw, ch      int // chunk; strips are as wide as the image
	across      int // chunks in a row of chunks
	chunks      []chunk
	spp         int // samples a pixel: 1, or 3 of a linear image
	bits        int
	float       bool // samples are floating-point
	predictor   predictor
	compression uint64
	jpeg        jpegKind // of the first chunk
	dct         bool     // chunks are JPEG of a lossy process
	unit        string   // "strip" or "tile"
}

type chunk struct{ off, size int64 }

// rowsIn is how many rows chunk row k must hold: tiles are padded to full
// height, the last strip is not.
func (l *layout) rowsIn(k int) int {
	if l.unit == "tile" {
		return l.ch
	}
	return min(l.ch, l.h-k*l.ch)
}

// rowBytes is the size of an uncompressed row of a chunk, which starts on a
// byte boundary.
func (l *layout) rowBytes() int64 { return (int64(l.cw)*int64(l.spp)*int64(l.bits) + 7) / 8 }

// sequential reports whether chunks are compressed and so high that a sample of a few dozen
// rows, spread over the image, touches nearly all of them.
func (l *layout) sequential() bool {
	const parts = 24
	j := jpegRows{layout: l}
	cached := l.compression == compLosslessJPEG && l.spp == 1 && !l.dct && j.fitsCache() && (l.h+l.ch-1)/l.ch <= slots
	return l.compression != compNone && l.ch >= l.h/parts && !cached
}

// layout reads and checks the grid. Nothing larger than the file's own tables
// is allocated.
func (s *source) layout() (*layout, error) {
	l := &layout{}
	var err error
	if l.compression, err = s.raw.Uint(tagCompression, compNone); err != nil {
		return nil, err
	}
	if l.w, err = s.side(tagImageWidth, "width"); err != nil {
		return nil, err
	}
	if l.h, err = s.side(tagImageLength, "height"); err != nil {
		return nil, err
	}
	if err := s.samples(l); err != nil {
		return nil, err
	}
	if err := s.grid(l); err != nil {
		return nil, err
	}
	if err := s.sniffCoding(l); err != nil {
		return nil, err
	}
	return l, s.checkChunks(l)
}

// samples reads what a sample is.
func (s *source) samples(l *layout) error {
	l.spp = int(s.samplesPerPixel())
	format, err := s.raw.Uint(tagSampleFormat, 1)
	if err != nil {
		return err
	}
	l.float = format == 3
	bits := []uint64{1}
	if s.raw.Has(tagBitsPerSample) {
		if bits, err = s.raw.Uints(tagBitsPerSample, 1<<12); err != nil {
			return err
		}
	}
	for _, b := range bits[:min(l.spp, len(bits))] {
		if b != bits[0] {
			return &rawerr.UnsupportedError{Feature: fmt.Sprintf("samples of unequal size (%d bits)", bits), Advice: "convert it with Adobe DNG Converter"}
		}
	}
	b := bits[0]
	switch {
	case l.float && b != 16 && b != 24 && b != 32:
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%d-bit floating-point samples", b), Advice: "a floating-point DNG has 16, 24 or 32 bits"}
	case !l.float && (b < 8 || b > 16 || b < 10 && !s.isDNG()):
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%d-bit samples", b), Advice: "a DNG mosaic has 8 to 16 bits, a TIFF mosaic 10 to 16"}
	}
	l.bits = int(b)
	if l.compression == compDeflate || l.compression == compDeflateOld {
		return s.readPredictor(l)
	}
	return nil
}

// sniffCoding finds out which of JPEG's processes the chunks have.
func (s *source) sniffCoding(l *layout) error {
	if l.compression != compLosslessJPEG && l.compression != compLossyJPEG {
		return nil
	}
	var err error
	if l.jpeg, err = s.sniffJPEG(l.chunks[0]); err != nil {
		return err
	}
	l.dct = !l.jpeg.lossless()
	if l.compression == compLossyJPEG && !l.dct {
		return rawerr.Formatf("dng", "lossless JPEG in a file that calls it lossy")
	}
	return nil
}

func (s *source) side(tag uint16, name string) (int, error) {
	v, err := s.raw.Uint(tag, 0)
	if err != nil {
		return 0, err
	}
	if v < 1 || v > maxSide {
		return 0, rawerr.Formatf("dng", "image %s %d, want 1 to %d", name, v, maxSide)
	}
	return int(v), nil
}

// grid reads chunk size, offsets and byte counts.
func (s *source) grid(l *layout) error {
	l.unit, l.cw = "strip", l.w
	offsets, counts := uint16(tagStripOffsets), uint16(tagStripByteCounts)
	if s.raw.Has(tagTileWidth) || s.raw.Has(tagTileOffsets) {
		l.unit, offsets, counts = "tile", tagTileOffsets, tagTileByteCounts
		var err error
		if l.cw, err = s.side(tagTileWidth, "tile width"); err != nil {
			return err
		}
		if l.ch, err = s.side(tagTileLength, "tile height"); err != nil {
			return err
		}
	} else {
		rows, err := s.raw.Uint(tagRowsPerStrip, uint64(l.h))
		if err != nil {
			return err
		}
		if rows == 0 {
			return rawerr.Formatf("dng", "RowsPerStrip is 0")
		}
		l.ch = int(min(rows, uint64(l.h)))
	}
	l.across = (l.w + l.cw - 1) / l.cw
	n := int64(l.across) * int64((l.h+l.ch-1)/l.ch)
	off, err := s.raw.Uints(offsets, n)
	if err != nil {
		return err
	}
	size, err := s.raw.Uints(counts, n)
	if err != nil {
		return err
	}
	if int64(len(off)) != n || int64(len(size)) != n {
		return rawerr.Formatf("dng", "%d offsets and %d byte counts for %d %ss", len(off), len(size), n, l.unit)
	}
	l.chunks = make([]chunk, n)
	for i := range l.chunks {
		fileSize := uint64(s.file.Size())
		if off[i] > fileSize || size[i] > fileSize-off[i] {
			return rawerr.Formatf("dng", "%s %d (%d bytes at offset %d) lies outside the file of %d bytes: it is cut short or damaged",
				l.unit, i, size[i], off[i], fileSize)
		}
		l.chunks[i] = chunk{int64(off[i]), int64(size[i])}
	}
	return nil
}

// maxDeflate is the best that deflate can do.
const maxDeflate = 1032

// leastBytes is how many bytes a chunk of so many rows has at least. The last tiles
// of JPEG may hold only the rows that the image has.
func (l *layout) leastBytes(rows, inImage int64) int64 {
	perRow := int64(l.cw) * int64(l.spp)
	switch {
	case l.dct:
		return (inImage*perRow + maxDCT - 1) / maxDCT
	case l.compression == compLosslessJPEG: // a Huffman code is at least a bit
		return (inImage*perRow + 7) / 8
	case l.compression != compNone:
		return (rows*l.rowBytes() + maxDeflate - 1) / maxDeflate
	}
	return rows * l.rowBytes()
}

// checkChunks verifies that every chunk is large enough for its samples, and
// the file for all of them (chunks may overlap in a hostile file): whatever is
// allocated for samples later is bounded by the file's size.
func (s *source) checkChunks(l *layout) error {
	var total, claimed int64
	for i, c := range l.chunks {
		rows := int64(l.rowsIn(i / l.across))
		need := l.leastBytes(rows, min(rows, int64(l.h-i/l.across*l.ch)))
		if c.size < need {
			return rawerr.Formatf("dng", "%s %d has %d bytes, its samples need at least %d", l.unit, i, c.size, need)
		}
		total += need
		claimed += c.size
	}
	// Compressed chunks that overlap would let a small file open many large streams.
	if l.compression != compNone && claimed > s.file.Size() {
		return rawerr.Formatf("dng", "%ss of %d bytes together in a file of %d bytes", l.unit, claimed, s.file.Size())
	}
	if total > s.file.Size() {
		return rawerr.Formatf("dng", "%dx%d samples need at least %d bytes, the file has %d", l.w, l.h, total, s.file.Size())
	}
	return nil
}
