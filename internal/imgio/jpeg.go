package imgio

import (
	"fmt"
	"io"

	"enhance/internal/buffers"
	"enhance/internal/icc"
	"enhance/internal/workers"
)

// maxJPEGSide is the most that the 16-bit sides of a frame header hold.
const maxJPEGSide = 65535

// maxSegment is the most that one JPEG marker segment carries.
const maxSegment = 65533

// Subsampling says how many of the samples of chroma a JPEG has.
type Subsampling uint8

// The kinds of subsampling; the zero value is Subsampling444 above a quality of 90 and
// Subsampling420 up to it.
const (
	SubsamplingDefault Subsampling = iota
	Subsampling444                 // all
	Subsampling422                 // one for two beside each other
	Subsampling420                 // one for a square of four
)

// unit is how many pixels one sample of chroma stands for, across and down.
func (s Subsampling) unit() (across, down int) {
	switch s {
	case Subsampling422:
		return 2, 1
	case Subsampling420:
		return 2, 2
	}
	return 1, 1
}

// jpegWriter cuts the picture into bands of whole units of 8 or 16 rows. Each becomes one
// restart interval (ISO/IEC 10918-1, F.1.1.5.1 and B.2.1): there the predictions of the
// mean start again, and the bits at a byte.
type jpegWriter struct {
	progress
	w        io.Writer
	across   int // pixels that one sample of chroma stands for
	down     int
	perBand  int // rows, a multiple of jpegUnit
	bands    int // begun
	segments []byte
	luma     jpegPlane
	chroma   jpegPlane
	pix      []byte // the band's rows so far, RGB
	free     buffers.Slices[byte]
	queue    *workers.Ordered[jpegBand]
}

// jpegBand is an encoded band.
type jpegBand struct {
	number  int
	encoder *jpegEncoder // its code is in bits.Out
	pix     []byte       // free again
}

const (
	jpegUnit = 16 // pixels
	// jpegBandBytes is about how much a band has of the picture, 3 bytes a pixel.
	jpegBandBytes = 1 << 20
)

// JPEGBandRows is how many rows of a picture of that width are encoded at a time.
func JPEGBandRows(width int) int {
	return max(jpegUnit, jpegBandBytes/(3*width)/jpegUnit*jpegUnit)
}

// NewJPEG starts a baseline JPEG of the given quality, 1..100. Bands of JPEGBandRows rows are
// encoded on all cores and written in order; memory is about 6 bytes for each pixel of the
// 17 bands in flight at most.
//
// Header.Bits must be 8. Sides over 65535 are refused with ErrTooLarge.
func NewJPEG(w io.Writer, h Header, quality int, sub Subsampling) (RowWriter, error) {
	if err := h.validate("JPEG"); err != nil {
		return nil, err
	}
	if h.Bits != 8 {
		return nil, fmt.Errorf("JPEG of %d bits: %w: JPEG has 8; write PNG or TIFF instead", h.Bits, ErrUnsupported)
	}
	if h.Width > maxJPEGSide || h.Height > maxJPEGSide {
		return nil, fmt.Errorf("JPEG of %dx%d pixels: %w: sides end at %d; write PNG or TIFF instead", h.Width, h.Height, ErrTooLarge, maxJPEGSide)
	}
	if quality < 1 || quality > 100 {
		return nil, fmt.Errorf("JPEG quality %d: %w: must be 1..100", quality, ErrHeader)
	}
	exif, err := cleanExif(h.Exif)
	if err != nil {
		return nil, fmt.Errorf("JPEG: %w", err)
	}
	switch {
	case sub > Subsampling420:
		return nil, fmt.Errorf("JPEG subsampling %d: %w", sub, ErrHeader)
	case sub == SubsamplingDefault && quality > 90:
		sub = Subsampling444
	case sub == SubsamplingDefault:
		sub = Subsampling420
	}
	j := &jpegWriter{progress: progress{format: "JPEG", h: h}, w: w, perBand: JPEGBandRows(h.Width),
		luma:   jpegPlane{newQuantiser(&lumaSteps, quality), newHuffmanTable(&lumaDC), newHuffmanTable(&lumaAC)},
		chroma: jpegPlane{newQuantiser(&chromaSteps, quality), newHuffmanTable(&chromaDC), newHuffmanTable(&chromaAC)}}
	j.across, j.down = sub.unit()
	j.queue = inOrder(j.emit)
	var parts []jpegSegment
	if exif != nil {
		parts = append(parts, jpegSegment{0xe1, append([]byte("Exif\x00\x00"), exif.blob...)})
	}
	if len(h.XMP) > 0 {
		parts = append(parts, jpegSegment{0xe1, append([]byte(jpegXMP), h.XMP...)})
	}
	// A profile that fits is one chunk: number 1 of 1 (ICC.1 annex B.4).
	parts = append(parts, jpegSegment{0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), icc.Of(h.encoding())...)})
	if h.Description != "" {
		parts = append(parts, jpegSegment{0xfe, []byte(h.Description)})
	}
	for _, s := range parts {
		if len(s.data) > maxSegment {
			return nil, fmt.Errorf("JPEG segment %#x of %d bytes: %w: at most %d; shorten the EXIF block, the XMP packet or the description",
				s.marker, len(s.data), ErrTooLarge, maxSegment)
		}
		n := len(s.data) + 2
		j.segments = append(j.segments, 0xff, s.marker, byte(n>>8), byte(n))
		j.segments = append(j.segments, s.data...)
	}
	return j, nil
}

// jpegXMP precedes a packet (XMP specification part 3, 1.1.3). Packets of more than MaxJPEGXMP
// bytes do not fit their segment.
const (
	jpegXMP    = "http://ns.adobe.com/xap/1.0/\x00"
	MaxJPEGXMP = maxSegment - len(jpegXMP)
)

type jpegSegment struct {
	marker byte
	data   []byte
}

func (j *jpegWriter) WriteRow(rgb []uint16) error {
	if err := j.next(len(rgb)); err != nil {
		return err
	}
	packRow(j.room(len(rgb)), rgb, 8)
	return j.taken()
}

func (j *jpegWriter) WriteBytes(rgb []byte) error {
	if err := j.nextBytes(len(rgb)); err != nil {
		return err
	}
	copy(j.room(len(rgb)), rgb)
	return j.taken()
}

// room is that for a row of n samples.
func (j *jpegWriter) room(n int) []byte {
	if j.pix == nil {
		j.pix = j.free.Get(3 * j.h.Width * min(j.perBand, j.h.Height))[:0]
	}
	j.pix = j.pix[:len(j.pix)+n]
	return j.pix[len(j.pix)-n:]
}

// taken encodes a band once all its rows are there.
func (j *jpegWriter) taken() error {
	if len(j.pix) < cap(j.pix) && j.rows < j.h.Height {
		return nil
	}
	pix, number := j.pix, j.bands
	j.pix = nil
	j.bands++
	return j.fail(j.queue.Do(func() jpegBand { return j.encode(number, pix) }))
}

// encode runs beside the caller.
func (j *jpegWriter) encode(number int, pix []byte) jpegBand {
	e := jpegEncoders.Get()
	e.begin(j)
	for rows := pix; len(rows) > 0; rows = rows[min(3*j.h.Width*8*j.down, len(rows)):] {
		e.units(rows)
	}
	e.bits.Flush()
	return jpegBand{number, e, pix}
}

// emit writes a band behind those before it: the first with the headers, the others
// with a restart marker.
func (j *jpegWriter) emit(b jpegBand) error {
	defer jpegEncoders.Put(b.encoder)
	j.free.Put(b.pix)
	head := []byte{0xff, 0xd0 + byte((b.number-1)%8)}
	if b.number == 0 {
		head = j.headers()
	}
	if _, err := j.w.Write(head); err != nil {
		return err
	}
	_, err := j.w.Write(b.encoder.bits.Out)
	return err
}

// headers are all that precedes the first band.
func (j *jpegWriter) headers() []byte {
	out := append([]byte{0xff, 0xd8}, j.segments...)
	segment := func(marker byte, data ...byte) {
		n := len(data) + 2
		out = append(append(out, 0xff, marker, byte(n>>8), byte(n)), data...)
	}
	for i, p := range []jpegPlane{j.luma, j.chroma} {
		segment(0xdb, append([]byte{byte(i)}, p.steps[:]...)...)
	}
	h, w := j.h.Height, j.h.Width
	segment(0xc0, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 3,
		1, byte(j.across<<4|j.down), 0, 2, 0x11, 1, 3, 0x11, 1)
	for i, p := range []jpegPlane{j.luma, j.chroma} {
		for class, t := range []*huffmanTable{p.dc, p.ac} {
			segment(0xc4, append(append([]byte{byte(class<<4 | i)}, t.spec.counts[:]...), t.spec.values...)...)
		}
	}
	if h > j.perBand {
		units := (w + 8*j.across - 1) / (8 * j.across) * (j.perBand / (8 * j.down))
		segment(0xdd, byte(units>>8), byte(units))
	}
	segment(0xda, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0)
	return out
}

func (j *jpegWriter) Close() error {
	if err := j.finish(); err != nil {
		j.queue.Wait() // nothing is written any more
		return err
	}
	if err := j.queue.Wait(); err != nil {
		return j.fail(err)
	}
	_, err := j.w.Write([]byte{0xff, 0xd9}) // end of image
	return j.fail(err)
}
