package raw

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"enhance/internal/regularfile"
	"enhance/raw/dng"
	"enhance/raw/tiff"
)

// extensions are what names of RAW photos end in, in small letters.
var extensions = strings.Fields(`.3fr .ari .arw .bay .cap .cr2 .cr3 .crw .dcr .dcs .dng .drf .erf .fff .gpr .iiq
	.k25 .kc2 .kdc .mdc .mef .mos .mrw .nef .nrw .orf .pef .ptx .raf .raw .rw2 .rwl .rwz .sr2 .srf .srw .x3f`)

// NamedRaw reports whether a file's name ends as those of RAW photos do.
func NamedRaw(name string) bool {
	return slices.Contains(extensions, strings.ToLower(filepath.Ext(name)))
}

// Recognise tells whether the named file is meant to be a RAW photo, for picking the
// photos out of a folder: by its name, so that a damaged photo is one too, or by its
// content. PNG and TIFF mosaics are photos if opt.CFA is given, without which they cannot
// be read; other pictures are none. With opt.Width headerless files of that size are
// photos, and no other content is.
func Recognise(path string, opt Options) bool {
	if NamedRaw(path) {
		return true
	}
	f, size, err := regularfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if opt.Width > 0 {
		return float64(size) == 2*float64(opt.Width)*float64(opt.Height)
	}
	head := make([]byte, min(size, 32))
	if tiff.ReadFull(f, head, 0) != nil {
		return false
	}
	switch {
	case isMakers(head):
		return true
	case bytes.HasPrefix(head, []byte(pngMagic)):
		_, _, err := readIHDR(f, size)
		return opt.CFA != nil && err == nil
	case !tiff.Sniff(head):
		return false
	case dng.Recognise(f, size):
		return true
	}
	_, err = dng.Open(f, size) // a plain TIFF: its samples stay in the file
	return opt.CFA != nil && err == nil
}

// Plausible reports whether a file that begins with head, its first 32 bytes if it has
// them, may be a photo that is read without its size being given.
func Plausible(head []byte) bool {
	return isMakers(head) || tiff.Sniff(head) || bytes.HasPrefix(head, []byte(pngMagic))
}

func isMakers(head []byte) bool {
	return slices.ContainsFunc(makers, func(s signature) bool { return s.of(head) })
}

// kindOf names the format that a file begins like, "" for none.
func kindOf(r io.ReaderAt, size int64) string {
	head := make([]byte, min(size, 32))
	if tiff.ReadFull(r, head, 0) != nil {
		return ""
	}
	for _, s := range makers {
		if s.of(head) {
			return s.name + " file"
		}
	}
	switch {
	case dng.Recognise(r, size):
		return "DNG file"
	case tiff.Sniff(head):
		return "TIFF file"
	case bytes.HasPrefix(head, []byte(pngMagic)):
		return "PNG picture"
	}
	return ""
}
