package raw

import (
	"errors"
	"fmt"
	"io"
	"os"

	"enhance/raw/dng"
	"enhance/raw/libraw"
)

// canonCRW is the name of the format that checkCIFF knows.
const canonCRW = "Canon CRW"

const (
	installAdvice = "install LibRaw (libraw20 on Debian 12 and Ubuntu 22.04, libraw23t64 on Debian 13 and Ubuntu 24.04, LibRaw on Fedora, libraw in Homebrew)"
	convertAdvice = "convert it to DNG first, for example with Adobe DNG Converter or dnglab"
)

// openMakers reads a format that is known by name through LibRaw.
func (p *Photo) openMakers(r io.ReaderAt, size int64, name string, command []string) error {
	if command == nil {
		return &UnsupportedError{Feature: name, Advice: convertAdvice}
	}
	err := p.openApart(r, size, name, command)
	var unusable *libraw.UnusableError
	var unknown *libraw.UnknownError
	switch {
	case errors.As(err, &unusable):
		return &UnsupportedError{Feature: name, Advice: fmt.Sprintf("%s: %s, or %s", unusable.Why, installAdvice, convertAdvice)}
	case errors.As(err, &unknown):
		if name == canonCRW {
			if damage := checkCIFF(r, size); damage != nil {
				return damage
			}
		}
		return &UnsupportedError{Feature: name, Advice: fmt.Sprintf("%s: a newer LibRaw may read it, or %s", unknown.Version, convertAdvice)}
	}
	return err
}

// openMakersTIFF reads through LibRaw what package dng refused, with the error own,
// if it is a camera maker's format inside TIFF. A DNG file is not: LibRaw ignores most
// of what such a file asks for.
func (p *Photo) openMakersTIFF(r io.ReaderAt, size int64, command []string, own error) error {
	var format *FormatError
	var unsupported *UnsupportedError
	damaged := errors.As(own, &format)
	if command == nil || !damaged && !errors.As(own, &unsupported) {
		return own
	}
	maker, err := dng.Maker(r, size)
	if err != nil || maker == "" {
		return own
	}
	err = p.openApart(r, size, "RAW of "+maker, command)
	var unusable *libraw.UnusableError
	switch {
	case errors.As(err, &unusable) && !damaged:
		return &UnsupportedError{Feature: unsupported.Feature,
			Advice: fmt.Sprintf("%s; if it is a camera's RAW, %s (%s)", unsupported.Advice, installAdvice, unusable.Why)}
	case errors.As(err, &unusable), errors.As(err, new(*libraw.UnknownError)):
		return own
	case err != nil:
		return err
	}
	exif, dateTime, warnings, err := dng.Exif(r, size)
	if err != nil {
		return err
	}
	if dateTime != "" {
		p.meta.DateTime = dateTime
	}
	p.meta.Warnings = append(p.meta.Warnings, warnings...)
	p.meta.XMP = dng.XMP(r, size)
	p.meta.Exif = p.apart.CompleteExif(exif)
	return nil
}

// openApart has a process read the photo.
func (p *Photo) openApart(r io.ReaderAt, size int64, name string, command []string) error {
	f, done, err := descriptor(r, size)
	if err != nil {
		return err
	}
	im, err := libraw.Open(f, command)
	if err != nil {
		return errors.Join(err, done())
	}
	p.apart, p.rows, p.meta = im, im, im.Meta
	p.meta.Format = name + " " + p.meta.Format
	return done()
}

// descriptor is an open file with the first size bytes of r, which is a file as a rule;
// else they are copied to a file without a name.
func descriptor(r io.ReaderAt, size int64) (f *os.File, done func() error, err error) {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Size() == size {
			return f, func() error { return nil }, nil
		}
	}
	if f, err = os.CreateTemp("", "photo-"); err != nil {
		return nil, nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = io.Copy(f, io.NewSectionReader(r, 0, size))
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, f.Close, nil
}
