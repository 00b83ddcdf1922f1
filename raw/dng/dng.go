// Package dng reads the colour filter array image of a DNG file (Adobe DNG
// specification 1.7 and earlier) and of plain 16-bit gray TIFF files that hold
// a mosaic, or the linear camera RGB of a DNG file that has been demosaiced, and
// writes DNG files.
//
// Open finds the main image among the directories, checks that all its samples
// can be in the file, and collects the facts about the camera (mosaic.Meta).
// ReadRows then decodes only the rows asked for:
//
//	tiff container -> select -> layout -> packed | jpegrows | stream -> OpcodeList1 -> linearise -> crop
//
// and ReadLinear those of a linear image.
//
// Write is the reverse for tests and for tools that make DNG files.
package dng

import (
	"errors"
	"fmt"
	"io"

	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/rawerr"
	"enhance/raw/rawjpeg"
	"enhance/raw/tiff"
)

// Image is an open DNG or TIFF mosaic. It is not safe for concurrent use.
type Image struct {
	Meta   mosaic.Meta
	rows   rowReader
	active mosaic.Rect // in the stored image
	table  []uint16    // LinearizationTable, or nil

	linearRows   linearReader // of a linear image, which has no rows
	linearLevels linearLevels

	// Carried is what a linear DNG file made of the image repeats.
	Carried Carried

	// Sequential says that reading a few rows of every part of the image decodes most of it.
	Sequential bool

	// Opcodes are the file's opcode lists 1 to 3. ReadRows has applied the first.
	Opcodes [3][]opcode.Operation
}

// rowReader decodes rectangles of the stored image: rows y0 to y0+n-1, columns
// x0 to x1-1, into dst row by row. The rectangle lies within the image.
type rowReader interface {
	readRows(y0, n, x0, x1 int, dst []uint16) error
}

// Open reads the directories of the file in the first size bytes of r. Samples
// stay in the file. Meta.CFA is not valid for a plain TIFF, which does not say.
func Open(r io.ReaderAt, size int64) (*Image, error) {
	src, dirs, err := parse(r, size)
	if err != nil {
		return nil, err
	}
	if err := src.choose(dirs); err != nil {
		return nil, err
	}
	return src.open()
}

// parse reads the directories of a TIFF-structured file.
func parse(r io.ReaderAt, size int64) (*source, []*tiff.IFD, error) {
	f, err := tiff.Parse(r, size)
	if err != nil {
		return nil, nil, err
	}
	dirs, err := f.Walk()
	if err != nil {
		return nil, nil, err
	}
	if len(dirs) == 0 {
		return nil, nil, rawerr.Formatf("tiff", "no directory: the file is cut short or damaged")
	}
	return &source{file: f, first: dirs[0]}, dirs, nil
}

// source is a file whose image is being opened.
type source struct {
	file    *tiff.File
	first   *tiff.IFD // camera and colour facts
	raw     *tiff.IFD // the mosaic
	linear  bool      // raw is demosaiced
	mono    bool      // raw has one sample a pixel and no filters
	version [4]byte   // DNGVersion; zero for plain TIFF

	warnings []string
}

// maxWarnings bounds what a damaged file with thousands of bad tags can say.
const maxWarnings = 16

func (s *source) warn(format string, args ...any) {
	if len(s.warnings) < maxWarnings {
		s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
	}
}

func (s *source) isDNG() bool { return s.version[0] != 0 }

func (s *source) open() (*Image, error) {
	if err := s.refuse(); err != nil {
		return nil, err
	}
	l, err := s.layout()
	if err != nil {
		return nil, err
	}
	im := &Image{}
	codec, err := s.codec(l, im)
	if err != nil {
		return nil, err
	}
	im.Meta.Format = s.name() + ", " + codec
	im.Meta.BitDepth = l.bits
	im.Sequential = l.sequential()
	for _, step := range []func(*Image, *layout) error{
		s.cfa, s.area, s.opcodes, s.linearization, s.levels, s.maskedBlack, s.camera, s.colour, s.exif, s.xmp, s.carry,
	} {
		if err := step(im, l); err != nil {
			return nil, err
		}
	}
	im.Meta.Warnings = append(im.Meta.Warnings, s.warnings...)
	return im, nil
}

// samplesPerPixel is how many an image that is read has.
func (s *source) samplesPerPixel() uint64 {
	if s.linear {
		return linearPlanes
	}
	return 1
}

// codec sets the row reader for the image's compression and names it.
func (s *source) codec(l *layout, im *Image) (name string, err error) {
	name = fmt.Sprintf("uncompressed %d-bit", l.bits)
	var stream *streamRows
	switch {
	case l.dct:
		if stream, name, err = s.dct(l, l.jpeg); err != nil {
			return "", err
		}
	case l.compression == compLosslessJPEG:
		h, err := rawjpeg.ReadHeader(s.file.ReaderAt(), l.chunks[0].off, l.chunks[0].size)
		if err != nil {
			return "", fmt.Errorf("%s 0: %w", l.unit, err)
		}
		l.bits = h.Precision
		name = fmt.Sprintf("lossless JPEG %d-bit", h.Precision)
		if l.spp == 1 {
			early := s.version[0] == 1 && s.version[1] == 0
			im.rows = newJPEGRows(s.file.ReaderAt(), l, early)
			return name, nil
		}
		stream = newStreamRows(s.file.ReaderAt(), l, (*streamRows).openLossless)
	case l.compression == compNone && l.spp == 1 && !l.float:
		im.rows = &packedRows{layout: l, file: s.file}
		return name, nil
	default:
		if l.compression != compNone {
			name = fmt.Sprintf("deflated %d-bit", l.bits)
		}
		if l.float {
			name += " floating-point"
		}
		stream = newStreamRows(s.file.ReaderAt(), l, func(r *streamRows, i int) (rowStream, error) { return r.openBytes(i, s.file.Order()) })
	}
	switch {
	case s.linear:
		im.linearRows = stream
		name = "linear (demosaiced), " + name
	case l.float:
		im.rows = &floatRows{streamRows: stream}
	default:
		im.rows = stream
	}
	return name, nil
}

// name is the container in words: "DNG 1.4", "DNG 1.4 (BigTIFF)", "TIFF mosaic".
func (s *source) name() string {
	n := "TIFF mosaic"
	if s.isDNG() {
		n = fmt.Sprintf("DNG %d.%d", s.version[0], s.version[1])
	}
	if s.file.Big() {
		n += " (BigTIFF)"
	}
	return n
}

// linearReader decodes rectangles like rowReader: each row's planes one after the other,
// integers as whole numbers.
type linearReader interface {
	readFloats(y0, n, x0, x1 int, dst []float32) error
}

// ReadRows reads rows y0 to y0+n-1 of the active area into dst, Meta.Width
// samples a row, after LinearizationTable. Rows may be asked for in any order;
// downwards is fast, and going back a little costs little.
func (im *Image) ReadRows(y0, n int, dst []uint16) error {
	if im.rows == nil {
		return errors.New("dng: the image is linear: it has no mosaic")
	}
	a := im.active
	if err := im.rows.readRows(a.Y0+y0, n, a.X0, a.X1, dst); err != nil {
		return fmt.Errorf("dng: %w", err)
	}
	im.linearise(dst[:n*a.Width()])
	return nil
}

// linearise applies LinearizationTable in place.
func (im *Image) linearise(samples []uint16) {
	if im.table == nil {
		return
	}
	last := len(im.table) - 1
	for i, v := range samples {
		samples[i] = im.table[min(int(v), last)]
	}
}
