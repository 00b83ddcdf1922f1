// Package raw opens camera RAW photos and yields their mosaics: the sensor's
// samples behind the colour filter array, with everything needed to interpret
// them (black and white levels, filter phase, white balance, colour matrices,
// crop, orientation, Exif). Photos that are demosaiced already give linear camera RGB
// (Options.Linear, ReadLinear).
//
// Start at Open. It reads DNG files, 16-bit gray TIFF and PNG files that hold a
// mosaic, headerless dumps when Options gives their size, and camera makers' formats
// through LibRaw when Options says how to start its process; it tells them apart by
// content, never by name. Formats it does not read are refused by name with what to
// do; an embedded preview is never taken in their place.
//
//	rawerr               the kinds of error
//	mosaic               pattern, levels, camera facts; no files
//	tiff, rawjpeg        container and codecs
//	dng                  the DNG (and gray TIFF) reader and writer
//	opcode, warp         corrections that a DNG file asks for
//	libraw               camera makers' formats, in a process of their own
//	raw                  this: sniffing, PNG, headerless dumps, overrides
package raw

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"enhance/internal/regularfile"
	"enhance/raw/dng"
	"enhance/raw/libraw"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/rawerr"
)

// The facts about a photo are defined in package mosaic.
type (
	Colour  = mosaic.Colour
	Pattern = mosaic.Pattern
	Rect    = mosaic.Rect
	Meta    = mosaic.Meta
)

// Filter colours and Bayer phases.
const (
	Red   = mosaic.Red
	Green = mosaic.Green
	Blue  = mosaic.Blue
)

// ParsePattern reads "RGGB", "BGGR", "GBRG" or "GRBG".
func ParsePattern(s string) (Pattern, error) { return mosaic.ParsePattern(s) }

// The kinds of error that opening or reading can end in besides I/O errors.
// Use errors.As to tell them apart.
type (
	FormatError      = rawerr.FormatError      // the file is damaged
	UnsupportedError = rawerr.UnsupportedError // the file is of a kind that is not read
	OptionError      = rawerr.OptionError      // an option is missing or contradicts the file
)

// Options say what the file does not, or override what it says. The zero value
// takes everything from the file.
type Options struct {
	// Width and Height, both or neither, make the file a headerless dump of
	// little-endian 16-bit samples, whatever its content looks like.
	Width, Height int

	// CFA is the filter pattern at the first sample. Needed for headerless
	// dumps, PNG and plain TIFF.
	CFA *Pattern

	// Black and White replace the file's levels by one value for all samples.
	Black, White *float64

	// Linear accepts DNG files that are demosaiced. Of such a photo Meta().Linear is
	// true and ReadLinear gives the rows; without it they are refused.
	Linear bool

	// LibRaw is the command that starts a process for LibRaw, see [libraw.Open]; without
	// it camera makers' formats are refused by name.
	LibRaw []string

	// WB replaces the camera's white balance: gains for red, green and blue,
	// any scale.
	WB *[3]float64
}

// Photo is an open RAW photo. It is not safe for concurrent use.
type Photo struct {
	meta   Meta
	rows   rowSource     // of a mosaic
	linear *opcode.Chain // of a linear image
	closer io.Closer
	apart  *libraw.Image // nil: all is read in this process

	sequential bool      // a few rows of every part of the photo cost as much as all of it
	kept       *keptRows // nil if not sequential

	opcodes [3][]opcode.Operation
	carried dng.Carried
	lens    *Lens         // what of list 3 waits for demosaicing
	waiting int           // how many operations of it that are
	waitsAt opcode.Frame  // the part of the active area from whose corner they count
	frame   opcode.Frame  // what TrimBounds left of the active area
	gains   *opcode.Chain // what gain maps and their like do to the mosaic; nil: nothing
}

// rowSource yields rows y0 to y0+n-1 of the active area; dst holds n rows of
// Meta.Width samples.
type rowSource interface {
	ReadRows(y0, n int, dst []uint16) error
}

// Open opens the photo in the named file. The caller must Close it. Errors of
// the file system come back as such (fs.ErrNotExist and so on).
func Open(path string, opt Options) (*Photo, error) {
	f, size, err := openFile(path, "name the photos in it, or give -r")
	if err != nil {
		return nil, err
	}
	p, err := OpenReader(f, size, path, opt)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	p.closer = f
	return p, nil
}

// openFile opens a file that may be a photo; folder says what to do about one that is a folder.
func openFile(path, folder string) (*os.File, int64, error) {
	f, size, err := regularfile.Open(path)
	switch {
	case errors.Is(err, syscall.EISDIR):
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: %s", syscall.EISDIR, folder)}
	case errors.Is(err, regularfile.ErrNotRegular):
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: copy the photo to a file first", regularfile.ErrNotRegular)}
	}
	return f, size, err
}

// OpenReader opens the photo in the first size bytes of r. name is used in
// errors only. r must stay usable until the Photo is no longer read. The caller must
// Close the photo, which leaves r open.
func OpenReader(r io.ReaderAt, size int64, name string, opt Options) (*Photo, error) {
	p, err := open(r, size, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func open(r io.ReaderAt, size int64, opt Options) (*Photo, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, rawerr.Formatf("raw", "the file is empty")
	}
	p := &Photo{}
	var err error
	if opt.Width > 0 {
		err = p.openHeaderless(r, size, opt.Width, opt.Height)
	} else {
		err = p.sniff(r, size, opt.LibRaw)
	}
	if err == nil {
		err = p.complete(opt)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// complete puts options over the file's facts and prepares its corrections.
func (p *Photo) complete(opt Options) error {
	if err := opt.apply(&p.meta); err != nil {
		return err
	}
	if p.meta.Linear {
		return p.correctLinear()
	}
	if err := p.correct(); err != nil {
		return err
	}
	if p.sequential {
		p.kept = &keptRows{next: p.rows, width: p.meta.Width, height: p.meta.Height}
		p.rows = p.kept
	}
	return nil
}

// Close releases the file and ends the process that reads it, if there is one.
func (p *Photo) Close() error {
	var err error
	if p.apart != nil {
		err = p.apart.Close()
	}
	if p.closer != nil {
		err = errors.Join(err, p.closer.Close())
	}
	return err
}

// Apart is the most memory that the process may hold which reads the photo, and what it
// held at most so far; zeros if there is none.
func (p *Photo) Apart() (bound, peak int64) {
	if p.apart == nil {
		return 0, 0
	}
	return p.apart.Bytes(), p.apart.Peak()
}

// Meta returns what is known about the photo. The caller must not change it.
func (p *Photo) Meta() *Meta { return &p.meta }

// ReadRows reads rows y0 to y0+n-1 of the active area into dst, Meta().Width
// samples a row: integers as stored, after the file's linearization table and the
// opcode lists that are for the mosaic; Meta's levels are of what comes out. Rows
// may be asked for in any order; downwards, with strips that overlap a little,
// is fast. Only what is needed is read and decoded.
func (p *Photo) ReadRows(y0, n int, dst []uint16) error {
	m := &p.meta
	if y0 < 0 || n < 0 || y0 > m.Height || n > m.Height-y0 {
		return fmt.Errorf("raw: rows %d to %d of a photo of %d rows", y0, y0+n, m.Height)
	}
	if len(dst) < n*m.Width {
		return fmt.Errorf("raw: room for %d samples, %d rows have %d", len(dst), n, n*m.Width)
	}
	if p.rows == nil {
		return errors.New("raw: the photo is linear: it has no mosaic")
	}
	if n == 0 {
		return nil
	}
	return p.rows.ReadRows(y0, n, dst[:n*m.Width])
}

// ReadLinear reads rows y0 to y0+n-1 of the active area of a photo whose
// Meta().Linear is true: each row's red, green and blue one after the other,
// Meta().Width samples each, linear camera RGB with 0 at black and 1 at white, after
// the opcode lists but for Lens. Downwards is fast.
func (p *Photo) ReadLinear(y0, n int, dst []float32) error {
	m := &p.meta
	if y0 < 0 || n < 0 || y0 > m.Height || n > m.Height-y0 {
		return fmt.Errorf("raw: rows %d to %d of a photo of %d rows", y0, y0+n, m.Height)
	}
	if len(dst) < 3*n*m.Width {
		return fmt.Errorf("raw: room for %d samples, %d rows have %d", len(dst), n, 3*n*m.Width)
	}
	if p.linear == nil {
		return errors.New("raw: the photo is a mosaic: it has no linear RGB")
	}
	if n == 0 {
		return nil
	}
	return p.linear.Rows(y0, n, dst[:3*n*m.Width])
}

// Normalise maps the stored samples of row y from column x0 on to linear values:
// dst[i] = (raw[i] - black) / (white - black), with the black level of each
// sample. Nothing is clipped: noise below black stays negative. dst must be at
// least as long as raw.
func (p *Photo) Normalise(y, x0 int, raw []uint16, dst []float32) {
	p.meta.Normalise(y, x0, raw, dst)
}
