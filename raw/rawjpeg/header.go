// Package rawjpeg decodes and encodes the JPEG processes (ITU-T T.81) that RAW files
// hold and image/jpeg does not read:
//
//   - Decoder is lossless JPEG (process SOF3, annex H), the compression of most DNG
//     files: 1 to 4 interleaved components of 2 to 16 bits, predictors 1 to 7, point
//     transform, restart intervals.
//   - DCTDecoder is sequential DCT JPEG (SOF0 and SOF1, annex F) of 8 or 12 bits, as
//     CinemaDNG files of Blackmagic's cameras hold it: 1 to 4 interleaved components.
//
// Both yield one row at a time and hold a few rows and a small read buffer, whatever
// the size of the image. A Decoder's position can be saved as a Checkpoint and returned
// to, so that a caller can go back a few rows without decoding from the start.
package rawjpeg

import (
	"encoding/binary"
	"fmt"
	"io"

	"enhance/raw/rawerr"
)

// Header is what a stream says of itself.
type Header struct {
	Width, Height   int // samples of one component in a row, and rows
	Components      int // 1 to 4, interleaved sample by sample
	Precision       int // bits of a sample: 2 to 16, before the point transform; of DCT 8 or 12
	Predictor       int // 1 to 7, annex H table H.1; of DCT 0
	PointTransform  int // low bits dropped by the encoder, restored as zeros; of DCT 0
	RestartInterval int // MCUs between restart markers; 0 if there are none
}

const where = "jpeg"

// JPEG marker codes, without the 0xFF before them (T.81 table B.1).
const (
	mSOF0 = 0xC0
	mSOF1 = 0xC1
	mSOF2 = 0xC2
	mSOF3 = 0xC3
	mDHT  = 0xC4
	mRST0 = 0xD0
	mSOI  = 0xD8
	mEOI  = 0xD9
	mSOS  = 0xDA
	mDQT  = 0xDB
	mDRI  = 0xDD
	mAPPE = 0xEE
)

// headerParser collects the segments before the entropy-coded data.
type headerParser struct {
	br     *bitReader
	h      Header
	dct    *dctTables    // nil: the stream must be lossless
	tables [4]*huffTable // by destination identifier: of lossless and of DC coefficients
	ids    [4]byte       // component identifiers, in frame order
	picked [4]*huffTable // by component
}

// parse reads segments up to and including SOS.
func (p *headerParser) parse() error {
	b, err := p.br.bytes(2)
	if err != nil {
		return err
	}
	if b[0] != 0xFF || b[1] != mSOI {
		return rawerr.Formatf(where, "no SOI marker: data begins with % x", b)
	}
	for {
		marker, err := p.nextMarker()
		if err != nil {
			return err
		}
		seg, err := p.segment()
		if err != nil {
			return err
		}
		switch {
		case p.dct == nil && marker == mSOF3, p.dct != nil && (marker == mSOF0 || marker == mSOF1):
			err = p.frame(seg)
		case marker == mDHT:
			err = p.huffman(seg)
		case marker == mDRI:
			if len(seg) != 2 {
				return rawerr.Formatf(where, "DRI segment of %d bytes, want 2", len(seg))
			}
			p.h.RestartInterval = int(binary.BigEndian.Uint16(seg))
		case marker == mDQT && p.dct != nil:
			err = p.dct.quantisers(seg)
		case marker == mAPPE && p.dct != nil:
			p.dct.adobe(seg)
		case marker == mSOS:
			return p.scan(seg)
		case marker >= 0xC0 && marker <= 0xCF && marker != 0xC8 && marker != 0xCC:
			return &rawerr.UnsupportedError{Feature: sofName(marker) + " in place of " + p.wanted(),
				Advice: "convert the photo to a DNG with lossless compression"}
		}
		if err != nil {
			return err
		}
	}
}

func (p *headerParser) wanted() string {
	if p.dct != nil {
		return "sequential DCT JPEG"
	}
	return "lossless JPEG"
}

func sofName(marker byte) string {
	switch marker {
	case mSOF0, mSOF1:
		return "baseline (lossy) JPEG"
	case mSOF2:
		return "progressive (lossy) JPEG"
	case mSOF3:
		return "lossless JPEG"
	case 0xCB:
		return "lossless JPEG with arithmetic coding"
	}
	return fmt.Sprintf("JPEG process SOF%d", marker-0xC0)
}

// nextMarker reads a marker, which fill bytes (0xFF) may precede.
func (p *headerParser) nextMarker() (byte, error) {
	b, err := p.br.bytes(2)
	if err != nil {
		return 0, err
	}
	if b[0] != 0xFF {
		return 0, rawerr.Formatf(where, "byte %#02x where a marker should be", b[0])
	}
	m := b[1]
	for m == 0xFF {
		if b, err = p.br.bytes(1); err != nil {
			return 0, err
		}
		m = b[0]
	}
	if m == 0 || m == mEOI || (m >= mRST0 && m < mEOI) {
		return 0, rawerr.Formatf(where, "marker %#02x before any image data", m)
	}
	return m, nil
}

// segment reads the length-prefixed body of a segment.
func (p *headerParser) segment() ([]byte, error) {
	b, err := p.br.bytes(2)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(b))
	if n < 2 {
		return nil, rawerr.Formatf(where, "segment of length %d", n)
	}
	return p.br.bytes(n - 2)
}

func (p *headerParser) frame(s []byte) error {
	if p.h.Components != 0 {
		return rawerr.Formatf(where, "two frame headers")
	}
	if len(s) < 6 || len(s) != 6+3*int(s[5]) {
		return rawerr.Formatf(where, "frame header of %d bytes", len(s))
	}
	h := &p.h
	h.Precision = int(s[0])
	h.Height, h.Width = int(binary.BigEndian.Uint16(s[1:])), int(binary.BigEndian.Uint16(s[3:]))
	h.Components = int(s[5])
	if h.Components < 1 || h.Components > 4 {
		return rawerr.Formatf(where, "%d components, want 1 to 4", h.Components)
	}
	if p.dct == nil && (h.Precision < 2 || h.Precision > 16) {
		return rawerr.Formatf(where, "%d-bit samples, want 2 to 16", h.Precision)
	}
	if p.dct != nil && h.Precision != 8 && h.Precision != 12 {
		return rawerr.Formatf(where, "%d-bit samples, want 8 or 12", h.Precision)
	}
	if h.Width == 0 {
		return rawerr.Formatf(where, "width 0")
	}
	if h.Height == 0 {
		return &rawerr.UnsupportedError{Feature: "JPEG whose height is given after its data (DNL)"}
	}
	for c := range h.Components {
		p.ids[c] = s[6+3*c]
		// A single component is stored block by block, whatever its factors (T.81 A.2.2).
		if f := s[7+3*c]; f != 0x11 && (p.dct == nil || h.Components > 1) {
			return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%s with subsampled components (%dx%d)", p.wanted(), f>>4, f&15)}
		}
		if p.dct != nil {
			p.dct.quantiser[c] = s[8+3*c]
		}
	}
	return nil
}

func (p *headerParser) huffman(s []byte) error {
	for len(s) > 0 {
		if len(s) < 17 {
			return rawerr.Formatf(where, "Huffman table cut short")
		}
		class, id := s[0]>>4, s[0]&15
		if id > 3 || class != 0 && (class != 1 || p.dct == nil) {
			return rawerr.Formatf(where, "Huffman table of class %d, destination %d", class, id)
		}
		var counts [16]byte
		copy(counts[:], s[1:])
		n := 0
		for _, c := range counts {
			n += int(c)
		}
		if len(s) < 17+n {
			return rawerr.Formatf(where, "Huffman table cut short")
		}
		if class == 0 {
			if err := checkCategories(s[17 : 17+n]); err != nil {
				return err
			}
		}
		t, err := newHuffTable(counts, s[17:17+n])
		if err != nil {
			return err
		}
		if class == 0 {
			p.tables[id] = t
		} else {
			p.dct.ac[id] = t
		}
		s = s[17+n:]
	}
	return nil
}

func (p *headerParser) scan(s []byte) error {
	h := &p.h
	if h.Components == 0 {
		return rawerr.Formatf(where, "scan before the frame header")
	}
	if len(s) < 4 || len(s) != 4+2*int(s[0]) {
		return rawerr.Formatf(where, "scan header of %d bytes", len(s))
	}
	if int(s[0]) != h.Components {
		return &rawerr.UnsupportedError{Feature: p.wanted() + " with a scan for each component"}
	}
	for c := range h.Components {
		id, table := s[1+2*c], s[2+2*c]>>4
		if id != p.ids[c] {
			return rawerr.Formatf(where, "scan names component %d, frame has %d there", id, p.ids[c])
		}
		if table > 3 || p.tables[table] == nil {
			return rawerr.Formatf(where, "component %d uses Huffman table %d, which is not defined", c, table)
		}
		p.picked[c] = p.tables[table]
		if p.dct != nil {
			if err := p.dct.pick(c, s[2+2*c]&15); err != nil {
				return err
			}
		}
	}
	if p.dct != nil {
		return nil
	}
	tail := s[len(s)-3:]
	h.Predictor, h.PointTransform = int(tail[0]), int(tail[2]&15)
	if h.Predictor < 1 || h.Predictor > 7 {
		return rawerr.Formatf(where, "predictor %d, want 1 to 7", h.Predictor)
	}
	if h.PointTransform >= h.Precision {
		return rawerr.Formatf(where, "point transform %d of %d-bit samples", h.PointTransform, h.Precision)
	}
	if h.RestartInterval%h.Width != 0 {
		return rawerr.Formatf(where, "restart interval %d is not a whole number of rows of %d (T.81 H.1.1)", h.RestartInterval, h.Width)
	}
	return nil
}

// ReadHeader reads only the header of the stream in the size bytes of r from
// offset off.
func ReadHeader(r io.ReaderAt, off, size int64) (Header, error) {
	p := headerParser{br: newBitReader(r, off, size)}
	err := p.parse()
	return p.h, err
}
