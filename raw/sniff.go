package raw

import (
	"bytes"
	"io"

	"enhance/raw/dng"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

const convertAdvice = "convert it to DNG first, for example with Adobe DNG Converter or dnglab"

// signatures are the openings of files that are refused by name. They are tried
// in order, before TIFF: some of these begin like TIFF.
var signatures = []struct {
	off    int
	magic  string
	name   string
	advice string
}{
	{4, "ftypcrx ", "Canon CR3", convertAdvice},
	{8, "CR\x02", "Canon CR2", convertAdvice},
	{6, "HEAPCCDR", "Canon CRW", convertAdvice},
	{0, "FUJIFILMCCD-RAW", "Fujifilm RAF", convertAdvice},
	{0, "IIRO", "Olympus ORF", convertAdvice},
	{0, "IIRS", "Olympus ORF", convertAdvice},
	{0, "MMOR", "Olympus ORF", convertAdvice},
	{0, "IIU\x00", "Panasonic RW2", convertAdvice},
	{0, "FOVb", "Sigma X3F", "its sensor has no colour filter array and cannot be read"},
	{0, "\x00MRM", "Minolta MRW", convertAdvice},
	{0, "IIII", "Phase One IIQ", convertAdvice},
	{0, "\xff\xd8\xff", "JPEG picture", "only RAW photos are read"},
	{0, "\xff\x0a", "JPEG XL picture", "only RAW photos are read"},
	{0, "\x00\x00\x00\x0cJXL ", "JPEG XL picture", "only RAW photos are read"},
	{4, "ftyp", "HEIF, AVIF or video file", "only RAW photos are read"},
	{0, "GIF8", "GIF picture", "only RAW photos are read"},
	{0, "BM", "BMP picture", "only RAW photos are read"},
	{8, "WEBP", "WebP picture", "only RAW photos are read"},
}

// sniff opens the file by what it begins with.
func (p *Photo) sniff(r io.ReaderAt, size int64) error {
	head := make([]byte, min(size, 32))
	if err := tiff.ReadFull(r, head, 0); err != nil {
		return err
	}
	for _, s := range signatures {
		if len(head) >= s.off && bytes.HasPrefix(head[s.off:], []byte(s.magic)) {
			return &UnsupportedError{Feature: s.name, Advice: s.advice}
		}
	}
	switch {
	case tiff.Sniff(head):
		im, err := dng.Open(r, size)
		if err != nil {
			return err
		}
		p.meta, p.opcodes = im.Meta, im.Opcodes
		if im.Meta.Linear {
			p.linear = opcode.NewChain(im.Meta.Width, im.Meta.Height, 3, im.ReadLinear)
		} else {
			p.rows = im
		}
		return nil
	case bytes.HasPrefix(head, []byte(pngMagic)):
		return p.openPNG(r, size)
	}
	return &UnsupportedError{Feature: "file of unknown kind", Advice: "DNG, and 16-bit gray PNG or TIFF mosaics are read; for a headerless dump of 16-bit samples give --raw-size and --cfa"}
}
