package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"enhance/raw/tiff"
)

// Tags of TIFF 6.0 and Exif 2.32 that are written here.
const (
	tagOrientation   = 274
	tagXResolution   = 282
	tagYResolution   = 283
	tagResolution    = 296
	tagSoftware      = 305
	tagYCbCrPosition = 531
	tagExifVersion   = 36864
	tagComponents    = 37121
	tagMakerNote     = 37500
	tagFlashpix      = 40960
	tagColourSpace   = 40961
	tagPixelWidth    = 40962
	tagPixelHeight   = 40963
	tagInterop       = 40965
)

// ErrMalformed is wrapped by the error of what cannot be read.
var ErrMalformed = errors.New("malformed")

// Picture is what an EXIF block says of the picture that it goes into.
type Picture struct {
	Width, Height int  // upright; 0 where the file has tags of its own for them, as TIFF has
	SRGB          bool // its samples are sRGB; otherwise only its ICC profile tells
	YCbCr         bool // a JPEG
	Software      string
}

// Directories are those of an EXIF block, to be changed and written.
type Directories struct {
	Order            tiff.Order
	First, Exif, GPS *tiff.Dir // never nil; empty if the block has none
}

// ParseExif reads a block: a TIFF structure from its byte order mark on. An empty one is
// little-endian and has empty directories. MakerNote, thumbnails and texts without a
// character are left out.
func ParseExif(block []byte) (*Directories, error) {
	d := NoExif(binary.LittleEndian)
	if len(block) > 0 {
		f, err := tiff.Parse(bytes.NewReader(block), int64(len(block)))
		if err != nil {
			return nil, fmt.Errorf("%w EXIF block: %w", ErrMalformed, err)
		}
		d = NoExif(f.Order())
		dirs, err := f.Walk()
		if err == nil && (len(dirs) == 0 || f.Big()) {
			err = errors.New("it is no classic TIFF structure with a directory")
		}
		if err == nil {
			err = d.read(dirs[0])
		}
		if err != nil {
			return nil, fmt.Errorf("%w EXIF block: %w", ErrMalformed, err)
		}
	}
	return d, nil
}

// NoExif are empty directories.
func NoExif(order tiff.Order) *Directories {
	return &Directories{Order: order, First: tiff.NewDir(order, false), Exif: tiff.NewDir(order, false), GPS: tiff.NewDir(order, false)}
}

// read copies the directories.
func (d *Directories) read(first *tiff.IFD) (err error) {
	if d.First, err = d.copy(first); err != nil {
		return err
	}
	for _, sub := range []struct {
		tag uint16
		dst **tiff.Dir
	}{{tiff.TagExifIFD, &d.Exif}, {tiff.TagGPSIFD, &d.GPS}} {
		if !first.Has(sub.tag) {
			continue
		}
		dir, err := first.Sub(sub.tag)
		if err != nil {
			return err
		}
		if *sub.dst, err = d.copy(dir); err != nil {
			return err
		}
	}
	return nil
}

// copy copies a directory's values, but for those that point elsewhere.
func (d *Directories) copy(src *tiff.IFD) (*tiff.Dir, error) {
	dst := tiff.NewDir(d.Order, false)
	for _, e := range src.Entries {
		switch e.Tag {
		case tiff.TagExifIFD, tiff.TagGPSIFD, tiff.TagSubIFDs, tagInterop, tagMakerNote:
			continue
		}
		b, err := src.Data(e)
		if err != nil {
			return nil, err
		}
		if e.Count < 1 || dst.Has(e.Tag) || e.Type == tiff.ASCII && Blank(b) {
			continue
		}
		dst.Raw(e.Tag, e.Type, int(e.Count), b)
	}
	return dst, nil
}

// Blank reports whether a text of a file says nothing: NULs and spaces alone.
func Blank(text []byte) bool { return strings.Trim(string(text), "\x00 \t\r\n") == "" }

// Exif makes the block of a picture out of the photo's directories: upright, with the
// picture's size, colour space and program. What directories hold of the photo is up to
// the reader who made them.
func Exif(d *Directories, p Picture) []byte {
	first, exif := d.First, d.Exif
	first.Shorts(tagOrientation, 1)
	first.URationals(tagXResolution, 72) // required; means nothing
	first.URationals(tagYResolution, 72)
	first.Shorts(tagResolution, 2)
	if p.Software != "" {
		first.Text(tagSoftware, p.Software)
	}
	exif.Shorts(tagColourSpace, 0xffff) // uncalibrated
	d.SetVersion()
	if p.YCbCr {
		first.Shorts(tagYCbCrPosition, 1)
		exif.Raw(tagComponents, tiff.Undefined, 4, []byte{1, 2, 3, 0})
	}
	exif.Raw(tagFlashpix, tiff.Undefined, 4, []byte("0100"))
	if p.SRGB {
		exif.Shorts(tagColourSpace, 1)
	}
	if p.Width > 0 {
		exif.Longs(tagPixelWidth, uint32(p.Width))
		exif.Longs(tagPixelHeight, uint32(p.Height))
	}
	return d.Encode()
}

// SetVersion puts the version of Exif into its directory, if there is one: 2.32, which has all
// that readers of photos keep.
func (d *Directories) SetVersion() {
	if d.Exif.Len() > 0 {
		d.Exif.Raw(tagExifVersion, tiff.Undefined, 4, []byte("0232"))
	}
}

// Encode returns the directories as a block.
func (d *Directories) Encode() []byte {
	if d.Exif.Len() > 0 {
		d.First.Dirs(tiff.TagExifIFD, d.Exif)
	}
	if d.GPS.Len() > 0 {
		d.First.Dirs(tiff.TagGPSIFD, d.GPS)
	}
	return d.First.EncodeFile()
}
