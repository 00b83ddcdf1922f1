package pipeline

import (
	"encoding/binary"
	"regexp"
	"runtime/debug"

	"enhance/internal/metadata"
	"enhance/raw/tiff"
)

// Software is the program's name and version as files say what made them. Builds that are no
// release have no version there, so that their files do not differ.
func Software() string {
	info, ok := debug.ReadBuildInfo()
	if ok && release.MatchString(info.Main.Version) {
		return "enhance " + info.Main.Version
	}
	return "enhance development"
}

var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// exifDirectories are the photo's Exif data; empty, in a byte order, if it has none.
func (r *run) exifDirectories(order tiff.Order) *metadata.Directories {
	if order == nil {
		order = binary.LittleEndian
	}
	if len(r.meta.Exif) == 0 {
		return metadata.NoExif(order)
	}
	d, err := metadata.ParseExif(r.meta.Exif)
	if err != nil {
		r.report.Warn("the photo's EXIF data is left out: %v", err)
		return metadata.NoExif(order)
	}
	return d
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
