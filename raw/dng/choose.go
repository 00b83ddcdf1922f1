package dng

import (
	"fmt"
	"slices"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

const convertAdvice = "convert it to DNG first, for example with Adobe DNG Converter or dnglab"

// choose picks the directory of the mosaic and sets s.raw and s.version.
func (s *source) choose(dirs []*tiff.IFD) error {
	if !s.first.Has(tagDNGVersion) {
		return s.choosePlain(dirs)
	}
	v, err := s.first.Uints(tagDNGVersion, 4)
	if err != nil {
		return err
	}
	for i := range v {
		s.version[i] = byte(v[i])
	}
	if err := s.checkVersion(); err != nil {
		return err
	}
	// Preferred is the largest mosaic or monochrome image among the full-resolution
	// images (NewSubFileType 0), then the largest linear image; failing both, some
	// main image, to say what it is.
	var best, linear, other *tiff.IFD
	var bestArea, linearArea uint64
	for _, d := range dirs {
		kind, err := d.Uint(tagNewSubfileType, 0)
		if err != nil {
			return err
		}
		if kind != 0 || !d.Has(tagImageWidth) {
			continue
		}
		photo, area, err := photoAndArea(d)
		if err != nil {
			return err
		}
		mono, err := isMono(d, photo)
		if err != nil {
			return err
		}
		if (photo == photoCFA || mono) && (best == nil || area > bestArea) {
			best, bestArea, s.mono = d, area, mono
		}
		switch {
		case photo == photoLinearRaw && !mono && area > linearArea:
			linear, linearArea = d, area
		case other == nil:
			other = d
		}
	}
	switch {
	case best != nil:
		s.raw = best
		return nil
	case linear != nil:
		s.raw, s.linear = linear, true
		return nil
	}
	return s.noMosaic(other)
}

// isMono reports whether an image has one linear sample a pixel: that of a sensor
// without filters. Some writers call it gray.
func isMono(d *tiff.IFD, photo uint64) (bool, error) {
	if photo != photoLinearRaw && photo != photoBlackIsZero {
		return false, nil
	}
	spp, err := d.Uint(tagSamplesPerPixel, 1)
	if err != nil || spp != 1 {
		return false, err
	}
	bits, err := d.Uint(tagBitsPerSample, 1)
	return photo == photoLinearRaw || bits > 8, err // a gray preview has 8
}

func photoAndArea(d *tiff.IFD) (photo, area uint64, err error) {
	var v [3]uint64
	for i, tag := range []uint16{tagPhotometric, tagImageWidth, tagImageLength} {
		if v[i], err = d.Uint(tag, 0); err != nil {
			return 0, 0, err
		}
	}
	return v[0], min(v[1], 1<<31) * min(v[2], 1<<31), nil
}

// checkVersion refuses files that need a reader newer than DNG 1.7.
func (s *source) checkVersion() error {
	if s.version[0] == 0 {
		return rawerr.Formatf("dng", "DNGVersion is 0")
	}
	needs := []uint64{uint64(s.version[0]), 0}
	if s.first.Has(tagDNGBackwardVersion) {
		v, err := s.first.Uints(tagDNGBackwardVersion, 4)
		if err != nil {
			return err
		}
		needs = append(v, 0)
	}
	if slices.Compare(needs[:2], []uint64{1, 7}) > 0 {
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG that needs a reader of version %d.%d", needs[0], needs[1]),
			Advice: "convert it to DNG 1.7 or earlier"}
	}
	return nil
}

// noMosaic says what a DNG without a CFA image is.
func (s *source) noMosaic(d *tiff.IFD) error {
	if d == nil {
		return rawerr.Formatf("dng", "no full-resolution image (NewSubFileType 0) in the file")
	}
	photo, err := d.Uint(tagPhotometric, 0)
	if err != nil {
		return err
	}
	s.raw = d
	if err := s.refuseCoding(); err != nil {
		return err
	}
	return &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG whose main image is not a mosaic (photometric interpretation %d)", photo),
		Advice: "take the camera's original RAW"}
}

// choosePlain accepts a TIFF whose first image is gray, and names the camera
// makers' formats that are TIFF inside.
func (s *source) choosePlain(dirs []*tiff.IFD) error {
	maker, err := s.first.Text(tagMake)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		photo, _, err := photoAndArea(d)
		if err != nil {
			return err
		}
		if photo == photoCFA || photo == photoLinearRaw {
			if maker != "" {
				maker = " of " + maker
			}
			return &rawerr.UnsupportedError{Feature: "camera maker's RAW" + maker + " (TIFF-based: NEF, ARW, PEF, SRW, ...)", Advice: convertAdvice}
		}
	}
	s.raw = s.first
	photo, spp := uint64(0), uint64(0)
	if photo, err = s.raw.Uint(tagPhotometric, photoBlackIsZero); err != nil {
		return err
	}
	if spp, err = s.raw.Uint(tagSamplesPerPixel, 1); err != nil {
		return err
	}
	if photo != photoBlackIsZero || spp != 1 {
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("TIFF with photometric interpretation %d and %d samples a pixel", photo, spp),
			Advice: "a mosaic must be gray, black is zero, one sample a pixel"}
	}
	return nil
}

// refuse names everything about the chosen image that is not decoded.
func (s *source) refuse() error {
	if err := s.refuseCoding(); err != nil {
		return err
	}
	if planar, err := s.raw.Uint(tagPlanarConfiguration, 1); err != nil {
		return err
	} else if s.linear && planar != 1 {
		return &rawerr.UnsupportedError{Feature: "linear DNG with a plane for each colour (PlanarConfiguration 2)", Advice: "convert it with Adobe DNG Converter"}
	}
	for _, c := range []struct {
		tag     uint16
		def, ok uint64
		feature string
	}{
		{tagSamplesPerPixel, 1, s.samplesPerPixel(), fmt.Sprintf("image without %d samples a pixel", s.samplesPerPixel())},
		{tagFillOrder, 1, 1, "TIFF with reversed bit order (FillOrder 2)"},
		{tagCFALayout, 1, 1, "sensor with staggered rows or columns (CFALayout)"},
		{tagRowInterleave, 1, 1, "DNG with interleaved rows"},
		{tagColumnInterleave, 1, 1, "DNG with interleaved columns"},
		{tagSubTileBlockSize, 1, 1, "DNG with sub-tile blocks"},
	} {
		v, err := s.raw.Uint(c.tag, c.def)
		if err != nil {
			return err
		}
		if v != c.ok {
			return &rawerr.UnsupportedError{Feature: c.feature, Advice: "convert it with Adobe DNG Converter"}
		}
	}
	return nil
}

// refuseCoding refuses compressions and sample formats by name.
func (s *source) refuseCoding() error {
	format, err := s.raw.Uint(tagSampleFormat, 1)
	if err != nil {
		return err
	}
	if format != 1 && (format != 3 || !s.isDNG()) {
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("sample format %d", format), Advice: "samples must be unsigned integers, or in a DNG floating-point numbers"}
	}
	c, err := s.raw.Uint(tagCompression, compNone)
	if err != nil {
		return err
	}
	advice := "convert it to an uncompressed or losslessly compressed DNG"
	switch c {
	case compNone:
		return nil
	case compLosslessJPEG, compLossyJPEG:
		if s.isDNG() {
			return nil
		}
		return &rawerr.UnsupportedError{Feature: "JPEG-compressed TIFF", Advice: "save it uncompressed"}
	case compDeflate, compDeflateOld:
		if s.isDNG() {
			return nil
		}
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("deflate-compressed TIFF (compression %d)", c), Advice: "save it uncompressed"}
	case compJPEGXL:
		return &rawerr.UnsupportedError{Feature: "JPEG XL DNG (compression 52546)", Advice: advice}
	case compVC5:
		return &rawerr.UnsupportedError{Feature: "GoPro's GPR (VC-5, compression 9)", Advice: "convert it to an uncompressed DNG, for example with gpr_tools"}
	case compLZW:
		return &rawerr.UnsupportedError{Feature: "LZW-compressed TIFF (compression 5)", Advice: "save it uncompressed"}
	}
	return &rawerr.UnsupportedError{Feature: fmt.Sprintf("TIFF compression %d", c), Advice: advice}
}
