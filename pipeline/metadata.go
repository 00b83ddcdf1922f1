package pipeline

import (
	"encoding/binary"
	"regexp"
	"runtime/debug"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/internal/metadata"
	"enhance/raw/tiff"
)

// software is the program's name and version as files say what made them. Builds that are no
// release have no version there, so that their files do not differ.
func software() string {
	info, ok := debug.ReadBuildInfo()
	if ok && release.MatchString(info.Main.Version) {
		return "enhance " + info.Main.Version
	}
	return "enhance development"
}

var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// header describes a finished picture of that size and says what its file says of the photo.
func (r *run) header(w, h int) imgio.Header {
	o := &r.job.Output
	head := imgio.Header{Width: w, Height: h, Bits: o.Bits, Encoding: o.Profile.encoding()}
	if o.Strip {
		return head
	}
	p := metadata.Picture{Width: w, Height: h, SRGB: head.Encoding == colour.SRGBEncoding, YCbCr: o.Format == JPEG, Software: software()}
	if o.Format == TIFF {
		p.Width, p.Height = 0, 0
	}
	head.Exif = metadata.Exif(r.exifDirectories(), p)
	if head.XMP = r.xmp(true); o.Format == JPEG && len(head.XMP) > imgio.MaxJPEGXMP {
		r.report.Warn("the photo's XMP data is left out: a JPEG holds %d bytes of it, and it has %d", imgio.MaxJPEGXMP, len(head.XMP))
		head.XMP = nil
	}
	return head
}

// exifDirectories are the photo's Exif data, empty if it has none.
func (r *run) exifDirectories() *metadata.Directories {
	if len(r.meta.Exif) == 0 {
		return metadata.NoExif(r.byteOrder())
	}
	d, err := metadata.ParseExif(r.meta.Exif)
	if err != nil {
		r.report.Warn("the photo's EXIF data is left out: %v", err)
		return metadata.NoExif(r.byteOrder())
	}
	return d
}

// byteOrder is that of what the photo's file says, little-endian if it says nothing.
func (r *run) byteOrder() tiff.Order {
	if order := r.photo.Carried().Order; order != nil {
		return order
	}
	return binary.LittleEndian
}

// xmp is the photo's XMP packet, for a finished picture or not; nil if there is none.
func (r *run) xmp(finished bool) []byte {
	if len(r.meta.XMP) == 0 {
		return nil
	}
	x, err := metadata.XMP(r.meta.XMP, finished)
	if err != nil {
		r.report.Warn("the photo's XMP data is left out: %v", err)
		return nil
	}
	return x
}
