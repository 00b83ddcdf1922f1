package imgio

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
	"math"
	"slices"
	"strings"

	"enhance/internal/buffers"
	"enhance/internal/icc"
	"enhance/internal/workers"
	"enhance/raw/tiff"
)

// TIFFCompression selects how strips are stored.
type TIFFCompression uint16

const (
	// TIFFNone stores samples as they are and needs only an io.Writer.
	TIFFNone TIFFCompression = 1
	// TIFFDeflate stores horizontal differences in zlib streams (compression 8,
	// predictor 2). The strips' sizes are known last but stand first, so that the
	// writer must be an io.WriteSeeker, such as an atomicfile.File.
	TIFFDeflate TIFFCompression = 8
)

// tiffStrip is an encoded strip.
type tiffStrip struct {
	d   *deflater // d.out is the strip
	raw []byte    // free again
}

// tiffWriter puts the directory before the strips:
//
//	header or EXIF block | directory | its values | strip 0 | strip 1 | ...
//
// An EXIF block is a TIFF structure with offsets from its own start. Standing at
// the start of the file, with its header turned to the picture's directory, all
// of its offsets hold as they are, maker notes included.
type tiffWriter struct {
	progress
	w           io.Writer
	order       tiff.Order
	compression TIFFCompression
	perStrip    int
	raw         []byte
	free        buffers.Slices[byte]
	queue       *workers.Ordered[tiffStrip]

	dir      *tiff.Dir
	end      int64    // of the file so far
	offsets  []uint32 // of the strips so far
	counts   []uint32
	totalNum int // strips in the picture
}

const (
	// maxTIFF is the largest file whose offsets fit TIFF's 32 bits.
	maxTIFF = math.MaxUint32
	// maxDeflate is the most that deflate can compress: 258 bytes in two bits.
	maxDeflate = 1032
)

// NewTIFF starts a TIFF of 8 or 16 bits per sample, or of 32-bit floats, and writes everything that
// precedes the samples: baseline RGB tags, orientation 1, the profile, and
// the EXIF block and description of h. Samples of 16 bits stand in the byte
// order of the EXIF block, little-endian without one.
//
// A picture that cannot fit 4 GiB is refused with ErrTooLarge: at once if
// uncompressed, else when its strips pass the limit. Memory is as for NewPNG.
func NewTIFF(w io.Writer, h Header, c TIFFCompression) (RowWriter, error) {
	if err := h.validate(formatTIFF); err != nil {
		return nil, err
	}
	if _, ok := w.(io.WriteSeeker); !ok && c == TIFFDeflate {
		return nil, fmt.Errorf("TIFF with deflate: %w: the output cannot seek; write to a file or without compression", ErrUnsupported)
	}
	if c != TIFFNone && c != TIFFDeflate {
		return nil, fmt.Errorf("TIFF compression %d: %w: choose none (1) or deflate (8)", c, ErrUnsupported)
	}
	size := h.rowBytes() * int64(h.Height)
	if h.rowBytes() >= maxSide || size/maxDeflate > maxTIFF || (c == TIFFNone && size > maxTIFF) {
		return nil, fmt.Errorf("TIFF of %dx%d pixels of %d bits: %w: offsets end at 4 GiB; write PNG instead", h.Width, h.Height, h.Bits, ErrTooLarge)
	}
	exif, err := cleanExif(h.Exif)
	if err != nil {
		return nil, fmt.Errorf("TIFF: %w", err)
	}
	t := &tiffWriter{
		progress:    progress{format: "TIFF", h: h},
		w:           w,
		order:       binary.LittleEndian,
		compression: c,
		perStrip:    blockRows(h),
	}
	t.totalNum = (h.Height + t.perStrip - 1) / t.perStrip
	t.queue = inOrder(t.emit)
	if err := t.writeHead(exif); err != nil {
		return nil, t.fail(err)
	}
	return t, nil
}

// keptTags are what the main directory of an EXIF block says about the
// photograph; the rest of it is about how another picture was stored.
var keptTags = []uint16{tagDescription, tagMake, tagModel, tagSoftware, tagDateTime, tagArtist, tagRating, tagRatingPercent, tagCopyright, tagExifIFD, tagGPSIFD}

func (t *tiffWriter) tags(exif *exifBlock) *tiff.Dir {
	d := tiff.NewDir(t.order, false)
	if exif != nil {
		for _, f := range exif.fields {
			if slices.Contains(keptTags, f.tag) && !d.Has(f.tag) {
				d.Raw(f.tag, f.kind, int(f.count), f.value)
			}
		}
	}
	bits := uint16(t.h.Bits)
	d.Longs(tagWidth, uint32(t.h.Width))
	d.Longs(tagHeight, uint32(t.h.Height))
	d.Shorts(tagBitsPerSample, bits, bits, bits)
	d.Shorts(tagCompression, uint16(t.compression))
	d.Shorts(tagPhotometric, 2) // RGB
	if text, _, _ := strings.Cut(t.h.Description, "\x00"); text != "" {
		d.Text(tagDescription, text)
	}
	d.Longs(tagStripOffsets, make([]uint32, t.totalNum)...)
	d.Shorts(tagOrientation, 1)
	d.Shorts(tagSamplesPerPixel, 3)
	d.Longs(tagRowsPerStrip, uint32(t.perStrip))
	d.Longs(tagStripByteCounts, make([]uint32, t.totalNum)...)
	d.URationals(tagXResolution, 72) // required by the baseline; means nothing here
	d.URationals(tagYResolution, 72)
	d.Shorts(tagPlanar, 1) // interleaved
	d.Shorts(tagResolutionUnit, 2)
	if t.compression == TIFFDeflate {
		d.Shorts(tagPredictor, t.predictor())
	}
	if t.h.Bits == 32 {
		d.Shorts(tagSampleFormat, 3, 3, 3) // IEEE floats
	}
	if len(t.h.XMP) > 0 {
		d.Bytes(tagXMP, t.h.XMP...)
	}
	profile := icc.Of(t.h.encoding())
	d.Raw(tagICCProfile, tiff.Undefined, len(profile), profile)
	return d
}

// writeHead writes all up to the first strip.
func (t *tiffWriter) writeHead(exif *exifBlock) error {
	head := []byte("II*\x00\x00\x00\x00\x00")
	if exif != nil {
		t.order, head = exif.order, exif.blob
		if len(head)%2 != 0 {
			head = append(head, 0)
		}
	}
	base := uint32(len(head))
	t.order.PutUint32(head[4:], base)
	t.dir = t.tags(exif)
	b := t.dir.Encode(int(base))
	b = append(b, make([]byte, len(b)%2)...)
	t.end = int64(len(head)) + int64(len(b))
	if t.compression == TIFFNone {
		if err := t.planStrips(); err != nil {
			return err
		}
		t.patch(b, base)
	}
	_, err := t.w.Write(append(head, b...))
	return err
}

// planStrips computes where uncompressed strips will stand.
func (t *tiffWriter) planStrips() error {
	for at, row := t.end, 0; row < t.h.Height; row += t.perStrip {
		n := int64(min(t.perStrip, t.h.Height-row)) * t.h.rowBytes()
		if at+n > maxTIFF {
			return fmt.Errorf("%w: offsets end at 4 GiB; write PNG instead", ErrTooLarge)
		}
		t.offsets, t.counts = append(t.offsets, uint32(at)), append(t.counts, uint32(n))
		at += n
	}
	return nil
}

// patch fills the strips' offsets and sizes into a directory encoded at base.
func (t *tiffWriter) patch(b []byte, base uint32) {
	offsets, counts := b[t.dir.Offset(tagStripOffsets)-int(base):], b[t.dir.Offset(tagStripByteCounts)-int(base):]
	for i := range t.offsets {
		t.order.PutUint32(offsets[4*i:], t.offsets[i])
		t.order.PutUint32(counts[4*i:], t.counts[i])
	}
}

func (t *tiffWriter) WriteRow(rgb []uint16) error {
	if err := t.next(len(rgb)); err != nil {
		return err
	}
	t.pack(t.room(), rgb)
	return t.taken()
}

func (t *tiffWriter) WriteBytes(rgb []byte) error {
	if err := t.nextBytes(len(rgb)); err != nil {
		return err
	}
	row := t.room()
	copy(row, rgb)
	t.differences(row)
	return t.taken()
}

// room is that for a row.
func (t *tiffWriter) room() []byte {
	if t.raw == nil {
		t.raw = t.free.Get(t.perStrip * int(t.h.rowBytes()))[:0]
	}
	n := len(t.raw)
	t.raw = t.raw[:n+int(t.h.rowBytes())]
	return t.raw[n:]
}

// taken writes a strip once all its rows are there.
func (t *tiffWriter) taken() error {
	if len(t.raw) < cap(t.raw) && t.rows < t.h.Height {
		return nil
	}
	raw := t.raw
	t.raw = nil
	if t.compression == TIFFNone {
		_, err := t.w.Write(raw)
		t.raw = raw[:0]
		return t.fail(err)
	}
	return t.fail(t.queue.Do(func() tiffStrip { return t.deflate(raw) }))
}

// pack stores a row, as differences if it is going to be compressed.
func (t *tiffWriter) pack(dst []byte, rgb []uint16) {
	differ := t.compression == TIFFDeflate
	if t.h.Bits == 32 {
		t.packFloats(dst, rgb)
		return
	}
	if t.h.Bits == 8 {
		packRow(dst, rgb, 8)
		t.differences(dst)
		return
	}
	for i, v := range rgb {
		if differ && i >= 3 {
			v -= rgb[i-3]
		}
		t.order.PutUint16(dst[2*i:], v)
	}
}

// differences are what is compressed of a row of 8 bits.
func (t *tiffWriter) differences(row []byte) {
	for i := len(row) - 1; t.compression == TIFFDeflate && i >= 3; i-- {
		row[i] -= row[i-3]
	}
}

// predictor is what samples are before they are compressed: differences (2), or those of the
// bytes of floats (3, Adobe Photoshop TIFF Technical Note 3).
func (t *tiffWriter) predictor() uint16 {
	if t.h.Bits == 32 {
		return 3
	}
	return 2
}

// packFloats stores a row of floats; if it is going to be compressed, the first bytes of all
// samples, then their second ones and so on, as differences from the pixel before.
func (t *tiffWriter) packFloats(dst []byte, halves []uint16) {
	n := len(halves) / 2
	for i := range n {
		v := uint32(halves[2*i])<<16 | uint32(halves[2*i+1])
		if t.compression != TIFFDeflate {
			t.order.PutUint32(dst[4*i:], v)
			continue
		}
		for k := range 4 {
			dst[k*n+i] = byte(v >> (24 - 8*k))
		}
	}
	for i := len(dst) - 1; t.compression == TIFFDeflate && i >= 3; i-- {
		dst[i] -= dst[i-3]
	}
}

// deflate runs beside the caller.
func (t *tiffWriter) deflate(raw []byte) tiffStrip {
	d := borrowDeflater(t.h.Bits, len(raw))
	d.out = append(d.out, zlibHeader[:]...)
	d.compress(raw, true)
	d.out = binary.BigEndian.AppendUint32(d.out, adler32.Checksum(raw))
	return tiffStrip{d, raw}
}

func (t *tiffWriter) emit(s tiffStrip) error {
	defer deflaters.Put(s.d)
	t.free.Put(s.raw)
	data, n := s.d.out, len(s.d.out)
	if len(data)%2 != 0 { // offsets of strips are even, as good manners have it
		data = append(data, 0)
	}
	if t.end+int64(len(data)) > maxTIFF {
		return fmt.Errorf("%w: offsets end at 4 GiB; write PNG instead", ErrTooLarge)
	}
	t.offsets, t.counts = append(t.offsets, uint32(t.end)), append(t.counts, uint32(n))
	t.end += int64(len(data))
	_, err := t.w.Write(data)
	return err
}

func (t *tiffWriter) Close() error {
	if err := t.finish(); err != nil {
		t.queue.Wait() // nothing is written any more
		return err
	}
	if t.compression == TIFFNone {
		return nil
	}
	if err := t.queue.Wait(); err != nil {
		return t.fail(err)
	}
	if err := t.writeTables(); err != nil {
		return t.fail(err)
	}
	return nil
}

// writeTables goes back to fill in the strips' offsets and sizes.
func (t *tiffWriter) writeTables() error {
	s := t.w.(io.WriteSeeker) // checked by NewTIFF
	for tag, values := range map[uint16][]uint32{tagStripOffsets: t.offsets, tagStripByteCounts: t.counts} {
		var b []byte
		for _, v := range values {
			b = t.order.AppendUint32(b, v)
		}
		// The distance is taken back from the end, so that the TIFF may stand after
		// other data.
		at := int64(t.dir.Offset(tag))
		if _, err := s.Seek(at-t.end, io.SeekCurrent); err != nil {
			return err
		}
		if _, err := s.Write(b); err != nil {
			return err
		}
		if _, err := s.Seek(t.end-at-int64(len(b)), io.SeekCurrent); err != nil {
			return err
		}
	}
	return nil
}
