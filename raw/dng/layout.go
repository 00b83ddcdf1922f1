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
	bits        int
	compression uint64
	unit        string // "strip" or "tile"
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
func (l *layout) rowBytes() int64 { return (int64(l.cw)*int64(l.bits) + 7) / 8 }

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
	bits, err := s.raw.Uint(tagBitsPerSample, 1)
	if err != nil {
		return nil, err
	}
	if bits < 8 || bits > 16 || (bits < 10 && !s.isDNG()) {
		return nil, &rawerr.UnsupportedError{Feature: fmt.Sprintf("%d-bit samples", bits), Advice: "a DNG mosaic has 8 to 16 bits, a TIFF mosaic 10 to 16"}
	}
	l.bits = int(bits)
	if err := s.grid(l); err != nil {
		return nil, err
	}
	return l, s.checkChunks(l)
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

// checkChunks verifies that every chunk is large enough for its samples, and
// the file for all of them (chunks may overlap in a hostile file): whatever is
// allocated for samples later is bounded by the file's size.
func (s *source) checkChunks(l *layout) error {
	var total, claimed int64
	for i, c := range l.chunks {
		rows := int64(l.rowsIn(i / l.across))
		need := rows * l.rowBytes()
		if l.compression == compLosslessJPEG {
			// A Huffman code is at least one bit a sample. The last tiles may
			// hold only the rows that the image has.
			rows = min(rows, int64(l.h-i/l.across*l.ch))
			need = (rows*int64(l.cw) + 7) / 8
		}
		if c.size < need {
			return rawerr.Formatf("dng", "%s %d has %d bytes, its samples need at least %d", l.unit, i, c.size, need)
		}
		total += need
		claimed += c.size
	}
	// Chunks of JPEG that overlap would let a small file open many large streams.
	if l.compression == compLosslessJPEG && claimed > s.file.Size() {
		return rawerr.Formatf("dng", "%ss of %d bytes together in a file of %d bytes", l.unit, claimed, s.file.Size())
	}
	if total > s.file.Size() {
		return rawerr.Formatf("dng", "%dx%d samples need at least %d bytes, the file has %d", l.w, l.h, total, s.file.Size())
	}
	return nil
}
