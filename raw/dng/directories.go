package dng

import (
	"fmt"
	"io"

	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// Directory is an image of a file, as its directory describes it.
type Directory struct {
	Kind        string `json:"kind"` // "full size", "reduced size", ...
	Content     string `json:"content"`
	Width       uint64 `json:"width"`
	Height      uint64 `json:"height"`
	Bits        uint64 `json:"bits"`
	Compression string `json:"compression"`
	// Opcodes are the names of the operations that the image asks for, list by list.
	Opcodes []string `json:"opcodes,omitempty"`
}

// Directories lists the images of the TIFF-structured file in the first size bytes
// of r, whether they can be read or not: previews too. Tags that are damaged count
// as absent.
func Directories(r io.ReaderAt, size int64) ([]Directory, error) {
	f, err := tiff.Parse(r, size)
	if err != nil {
		return nil, err
	}
	dirs, err := f.Walk()
	if err != nil {
		return nil, err
	}
	var out []Directory
	for _, d := range dirs {
		if !d.Has(tagImageWidth) {
			continue
		}
		get := func(tag uint16, def uint64) uint64 {
			v, err := d.Uint(tag, def)
			if err != nil {
				return def
			}
			return v
		}
		out = append(out, Directory{
			Kind:        named(kindNames, get(tagNewSubfileType, 0), "subfile type"),
			Content:     named(contentNames, get(tagPhotometric, photoBlackIsZero), "photometric interpretation"),
			Width:       get(tagImageWidth, 0),
			Height:      get(tagImageLength, 0),
			Bits:        get(tagBitsPerSample, 1),
			Compression: named(compressionNames, get(tagCompression, compNone), "compression"),
			Opcodes:     opcodeNames(d),
		})
	}
	return out, nil
}

// opcodeNames are those of the lists that can be parsed.
func opcodeNames(d *tiff.IFD) (names []string) {
	for i, tag := range opcodeTags {
		e, ok := d.Find(tag)
		if !ok {
			continue
		}
		b, err := d.Data(e)
		if err != nil {
			continue
		}
		list, err := opcode.Parse(b, "")
		if err != nil {
			continue
		}
		for _, op := range list {
			names = append(names, fmt.Sprintf("%v (list %d)", op.ID, i+1))
		}
	}
	return names
}

func named(names map[uint64]string, v uint64, what string) string {
	if n, ok := names[v]; ok {
		return n
	}
	return fmt.Sprintf("%s %d", what, v)
}

var kindNames = map[uint64]string{
	0: "full size", 1: "reduced size", 4: "transparency mask", 8: "depth map", 16: "enhanced image", 65537: "alternate reduced size",
	65540: "semantic mask",
}

var contentNames = map[uint64]string{
	photoWhiteIsZero: "gray", photoBlackIsZero: "gray", 2: "RGB", 6: "YCbCr", photoCFA: "mosaic", photoLinearRaw: "linear (demosaiced)",
	51177: "depth", 52527: "mask",
}

var compressionNames = map[uint64]string{
	compNone: "uncompressed", compLZW: "LZW", 6: "JPEG (old style)", compLosslessJPEG: "JPEG", compDeflate: "deflate",
	compDeflateOld: "deflate", compVC5: "VC-5 (GoPro)", compLossyJPEG: "lossy JPEG", compJPEGXL: "JPEG XL",
}
