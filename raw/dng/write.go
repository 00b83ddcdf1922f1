package dng

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/rawjpeg"
	"enhance/raw/tiff"
)

// Spec describes a DNG file to Write. Zero values mean: little-endian, classic
// TIFF, version 1.4, 16 bits, uncompressed, one strip, all of the image active,
// black 0, white the largest sample.
type Spec struct {
	Order   tiff.Order
	Big     bool // BigTIFF
	Version [4]byte

	Width, Height int      // the stored image
	Samples       []uint16 // Height rows of Width
	Bits          int      // 8 to 16

	// Linear makes a demosaiced image of three samples a pixel; Meta.CFA is not used.
	Linear bool

	JPEG *JPEG // compress; nil for uncompressed
	// Encode, if not nil, makes the bytes of a chunk, whose rows have w samples, in
	// another way, which is called Compression.
	Encode      func(samples []uint16, w, h int) ([]byte, error)
	Compression uint16

	RowsPerStrip          int
	TileWidth, TileHeight int // both set: tiles in place of strips

	// Meta gives the facts; Width, Height, Format, BitDepth, Exif and Warnings
	// of it are not used. Crop is written if not empty. ActiveArea, if not
	// empty, is in the stored image; everything in Meta counts from its corner.
	Meta          mosaic.Meta
	ActiveArea    mosaic.Rect
	Linearization []uint16
	Opcodes       [3][]opcode.Operation // lists 1 to 3; empty ones are not written

	// InSubIFD puts the mosaic into a SubIFD and a gray preview of one pixel
	// into the first directory.
	InSubIFD bool

	// Edit, if not nil, may change the directories before they are written; it
	// is called twice, before and after the samples have their offsets:
	// first has the camera's facts, raw the mosaic (the same unless InSubIFD).
	Edit func(first, raw *tiff.Dir)
}

// JPEG is how to compress chunks. Zero values mean one component, predictor 1.
type JPEG struct {
	Components     int // must divide the chunk's width
	Predictor      int
	PointTransform int
	RestartRows    int // JPEG rows between restart markers; of DCT rows of blocks
	Fold           int // chunk rows in one JPEG row; must divide the chunk's height

	// Quantiser above 0 makes it DCT JPEG (extended sequential), whose coefficients that
	// number divides; YCbCr says that the samples are luma and colour differences.
	Quantiser int
	YCbCr     bool
}

// Write writes a DNG file.
func Write(w io.Writer, s Spec) error {
	if err := s.defaults(); err != nil {
		return err
	}
	chunks, err := s.chunks()
	if err != nil {
		return err
	}
	first, raw := tiff.NewDir(s.Order, s.Big), tiff.NewDir(s.Order, s.Big)
	if s.InSubIFD {
		s.preview(first)
		first.Dirs(tiff.TagSubIFDs, raw)
	} else {
		raw = first
	}
	s.writeCamera(first)
	s.writeImage(raw)
	s.writeLevels(raw)
	s.writeOpcodes(raw)
	s.writeChunks(raw, 0, chunks)
	if s.Edit != nil {
		s.Edit(first, raw)
	}
	// Offsets do not change the directories' size: lay out, then fill them in.
	start := len(first.EncodeFile())
	start += start & 1
	if !s.Big && int64(start)+total(chunks) > math.MaxUint32 {
		return fmt.Errorf("dng: %d bytes of samples do not fit into a classic TIFF: set Big", total(chunks))
	}
	s.writeChunks(raw, start, chunks)
	if s.Edit != nil {
		s.Edit(first, raw)
	}
	head := first.EncodeFile()
	if _, err := w.Write(append(head, make([]byte, start-len(head))...)); err != nil {
		return err
	}
	for _, c := range chunks {
		if _, err := w.Write(c); err != nil {
			return err
		}
	}
	return nil
}

func total(chunks [][]byte) int64 {
	var n int64
	for _, c := range chunks {
		n += int64(len(c))
	}
	return n
}

func (s *Spec) defaults() error {
	if s.Order == nil {
		s.Order = binary.LittleEndian
	}
	if s.Version == [4]byte{} {
		s.Version = [4]byte{1, 4, 0, 0}
	}
	if s.Bits == 0 {
		s.Bits = 16
	}
	if s.RowsPerStrip == 0 {
		s.RowsPerStrip = s.Height
	}
	switch {
	case s.Width < 1 || s.Height < 1 || len(s.Samples) != s.Width*s.Height*s.planes():
		return fmt.Errorf("dng: %d samples for an image of %dx%d", len(s.Samples), s.Width, s.Height)
	case s.Bits < 8 || s.Bits > 16:
		return fmt.Errorf("dng: %d-bit samples, want 8 to 16", s.Bits)
	case s.RowsPerStrip < 1 || s.TileWidth < 0 || s.TileHeight < 0 || (s.TileWidth == 0) != (s.TileHeight == 0):
		return fmt.Errorf("dng: strips of %d rows, tiles of %dx%d", s.RowsPerStrip, s.TileWidth, s.TileHeight)
	case !s.Linear && !s.Meta.CFA.Valid():
		return fmt.Errorf("dng: CFA pattern %v", s.Meta.CFA)
	}
	for i, v := range s.Samples {
		if v>>s.Bits != 0 {
			return fmt.Errorf("dng: sample %d is %d, more than %d bits", i, v, s.Bits)
		}
	}
	return nil
}

// planes is how many samples a pixel has.
func (s *Spec) planes() int {
	if s.Linear {
		return linearPlanes
	}
	return 1
}

// chunks encodes every strip or tile. Tiles are filled up with the image's last
// column and row.
func (s *Spec) chunks() ([][]byte, error) {
	cw, ch := s.Width, min(s.RowsPerStrip, s.Height)
	if s.TileWidth > 0 {
		cw, ch = s.TileWidth, s.TileHeight
	}
	var out [][]byte
	for y0 := 0; y0 < s.Height; y0 += ch {
		for x0 := 0; x0 < s.Width; x0 += cw {
			rows := ch
			if s.TileWidth == 0 {
				rows = min(ch, s.Height-y0)
			}
			n := s.planes()
			c := make([]uint16, 0, cw*rows*n)
			for y := range rows {
				for x := range cw {
					at := min(y0+y, s.Height-1)*s.Width + min(x0+x, s.Width-1)
					c = append(c, s.Samples[at*n:][:n]...)
				}
			}
			b, err := s.encode(c, cw*n, rows)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	return out, nil
}

func (s *Spec) encode(c []uint16, w, h int) ([]byte, error) {
	if s.Encode != nil {
		return s.Encode(c, w, h)
	}
	if s.JPEG == nil {
		var out []byte
		for y := range h {
			out = pack(out, c[y*w:][:w], s.Bits, s.Order)
		}
		return out, nil
	}
	j := *s.JPEG
	j.Components, j.Fold = max(j.Components, 1), max(j.Fold, 1)
	if w*j.Fold%j.Components != 0 || h%j.Fold != 0 {
		return nil, fmt.Errorf("dng: chunk of %dx%d samples for %d components, %d rows in one", w, h, j.Components, j.Fold)
	}
	head := rawjpeg.Header{Width: w * j.Fold / j.Components, Height: h / j.Fold, Components: j.Components,
		Precision: s.Bits, Predictor: j.Predictor, PointTransform: j.PointTransform}
	if j.Quantiser > 0 {
		head.RestartInterval = j.RestartRows * ((head.Width + 7) / 8)
		return rawjpeg.EncodeDCT(head, j.Quantiser, j.YCbCr, c)
	}
	head.RestartInterval = j.RestartRows * head.Width
	return rawjpeg.Encode(head, c)
}

// pack is the inverse of unpack: it appends a row that fills whole bytes.
func pack(out []byte, row []uint16, bits int, order tiff.Order) []byte {
	if bits == 16 {
		for _, v := range row {
			out = order.AppendUint16(out, v)
		}
		return out
	}
	acc, have := uint32(0), 0
	for _, v := range row {
		acc = acc<<bits | uint32(v)
		have += bits
		for ; have >= 8; have -= 8 {
			out = append(out, byte(acc>>(have-8)))
		}
		acc &= 1<<have - 1
	}
	if have > 0 {
		out = append(out, byte(acc<<(8-have)))
	}
	return out
}
