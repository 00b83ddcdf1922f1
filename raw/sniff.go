package raw

import (
	"bytes"
	"io"

	"enhance/raw/dng"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// makers are the openings of camera makers' own formats, which LibRaw reads. They are
// tried before TIFF: some of these begin like TIFF.
var makers = []signature{
	{4, "ftypcrx ", "Canon CR3"},
	{8, "CR\x02", "Canon CR2"},
	{6, "HEAPCCDR", canonCRW},
	{0, "FUJIFILMCCD-RAW", "Fujifilm RAF"},
	{0, "IIRO", "Olympus ORF"},
	{0, "IIRS", "Olympus ORF"},
	{0, "MMOR", "Olympus ORF"},
	{0, "IIU\x00", "Panasonic RW2"},
	{0, "\x00MRM", "Minolta MRW"},
	{0, "IIII", "Phase One IIQ"},
	{0, "MMMM", "Phase One IIQ"},
}

// others are the openings of files that are refused by name.
var others = []struct {
	signature
	advice string
}{
	{signature{0, "FOVb", "Sigma X3F"}, "its sensor has no colour filter array and cannot be read"},
	{signature{0, "\xff\xd8\xff", "JPEG picture"}, onlyRAW},
	{signature{0, "\xff\x0a", "JPEG XL picture"}, onlyRAW},
	{signature{0, "\x00\x00\x00\x0cJXL ", "JPEG XL picture"}, onlyRAW},
	{signature{4, "ftyp", "HEIF, AVIF or video file"}, onlyRAW},
	{signature{0, "GIF8", "GIF picture"}, onlyRAW},
	{signature{0, "BM", "BMP picture"}, onlyRAW},
	{signature{8, "WEBP", "WebP picture"}, onlyRAW},
}

const onlyRAW = "only RAW photos are read"

// signature is what files of a format have at an offset.
type signature struct {
	off   int
	magic string
	name  string
}

func (s *signature) of(head []byte) bool {
	return len(head) >= s.off && bytes.HasPrefix(head[s.off:], []byte(s.magic))
}

// sniff opens the file by what it begins with.
func (p *Photo) sniff(r io.ReaderAt, size int64, command []string) error {
	head := make([]byte, min(size, 32))
	if err := tiff.ReadFull(r, head, 0); err != nil {
		return err
	}
	for _, s := range makers {
		if s.of(head) {
			return p.openMakers(r, size, s.name, command)
		}
	}
	for _, s := range others {
		if s.of(head) {
			return &UnsupportedError{Feature: s.name, Advice: s.advice}
		}
	}
	switch {
	case tiff.Sniff(head):
		im, err := dng.Open(r, size)
		if err != nil {
			return p.openMakersTIFF(r, size, command, err)
		}
		p.meta, p.opcodes, p.carried, p.sequential = im.Meta, im.Opcodes, im.Carried, im.Sequential
		if im.Meta.Linear {
			p.linear = opcode.NewChain(im.Meta.Width, im.Meta.Height, 3, im.ReadLinear)
		} else {
			p.rows = im
		}
		return nil
	case bytes.HasPrefix(head, []byte(pngMagic)):
		return p.openPNG(r, size)
	}
	return &UnsupportedError{Feature: "file of unknown kind",
		Advice: "DNG, camera makers' formats and 16-bit gray PNG or TIFF mosaics are read; a headerless dump of 16-bit samples needs --raw-size and --cfa, such as --raw-size 4032x3024 --cfa RGGB"}
}
