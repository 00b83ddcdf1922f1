package raw

import (
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// Bounds on what a PNG may claim: deflate cannot compress better than 1032:1, and no
// sensor has more pixels.
const (
	maxDeflate   = 1032
	maxPNGPixels = 400e6
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// pngHeader is the length of the signature and of the IHDR chunk, which is the first.
const pngHeader = int64(len(pngMagic) + 12 + 13)

// openPNG opens a 16-bit gray PNG (PNG specification, third edition). Its samples stay
// in the file: a small file may claim hundreds of megapixels.
func (p *Photo) openPNG(r io.ReaderAt, size int64) error {
	w, h, err := readIHDR(r, size)
	if err != nil {
		return err
	}
	if float64(w)*float64(h) > maxPNGPixels {
		return &UnsupportedError{Feature: fmt.Sprintf("PNG of %dx%d samples", w, h), Advice: "the limit is 400 megapixels"}
	}
	if 2*float64(w)*float64(h) > maxDeflate*float64(size) {
		return rawerr.Formatf("png", "%dx%d samples cannot be in %d bytes", w, h, size)
	}
	if err := checkChunks(r, size); err != nil {
		return err
	}
	p.sequential = true
	p.rows = &pngRows{r: r, size: size, width: w, height: h, row: make([]byte, 1+2*w), above: make([]byte, 2*w)}
	p.meta = plainMeta(w, h)
	p.meta.Format = "PNG mosaic, 16-bit"
	return nil
}

// readIHDR gives the sides that the header states, if it is one of 16-bit gray.
func readIHDR(r io.ReaderAt, size int64) (w, h int, err error) {
	if size < pngHeader {
		return 0, 0, pngDamaged(nil)
	}
	b := make([]byte, pngHeader)
	if err := tiff.ReadFull(r, b, 0); err != nil {
		return 0, 0, fmt.Errorf("png: %w", err)
	}
	length, chunk, sum := b[8:12], b[12:29], b[29:33]
	if binary.BigEndian.Uint32(length) != 13 || string(chunk[:4]) != "IHDR" || crc32.ChecksumIEEE(chunk) != binary.BigEndian.Uint32(sum) {
		return 0, 0, pngDamaged(nil)
	}
	width, height := binary.BigEndian.Uint32(chunk[4:]), binary.BigEndian.Uint32(chunk[8:])
	depth, colour, methods, interlace := chunk[12], chunk[13], chunk[14:16], chunk[16]
	switch {
	case width == 0 || height == 0 || width >= 1<<31 || height >= 1<<31 || methods[0] != 0 || methods[1] != 0 || interlace > 1:
		return 0, 0, rawerr.Formatf("png", "impossible header: %dx%d samples, methods %v, interlace %d", width, height, methods, interlace)
	case depth != 16 || colour != 0:
		return 0, 0, notGray16()
	case interlace == 1:
		return 0, 0, &UnsupportedError{Feature: "interlaced PNG", Advice: "save it without interlacing"}
	}
	return int(width), int(height), nil
}

func notGray16() error {
	return &UnsupportedError{Feature: "PNG that is not 16-bit gray",
		Advice: "a PNG mosaic must be 16-bit grayscale without transparency; a developed picture is not a RAW photo"}
}

func pngDamaged(err error) error {
	return &FormatError{Where: "png", Problem: "damaged or cut short", Err: err}
}

// pngChunk is where a chunk's data lies.
type pngChunk struct {
	kind      string
	off, size int64
}

// next is the offset of the chunk behind.
func (c *pngChunk) next() int64 { return c.off + c.size + 4 }

// readChunk reads the head of the chunk at off.
func readChunk(r io.ReaderAt, off, size int64) (c pngChunk, err error) {
	var head [8]byte
	if size-off < int64(len(head))+4 {
		return c, pngDamaged(io.ErrUnexpectedEOF)
	}
	if err := tiff.ReadFull(r, head[:], off); err != nil {
		return c, fmt.Errorf("png: %w", err)
	}
	c = pngChunk{kind: string(head[4:]), off: off + 8, size: int64(binary.BigEndian.Uint32(head[:]))}
	if c.size > size-c.off-4 {
		return c, pngDamaged(io.ErrUnexpectedEOF)
	}
	return c, nil
}

// checkChunks walks over the chunks: a file that was cut, or has a transparent colour, is
// refused before anything is read.
func checkChunks(r io.ReaderAt, size int64) error {
	samples := false
	for off := pngHeader; ; {
		c, err := readChunk(r, off, size)
		switch {
		case err != nil:
			return err
		case c.kind == "tRNS":
			return notGray16()
		case c.kind == "IEND" && samples:
			return nil
		case c.kind == "IEND":
			return rawerr.Formatf("png", "no samples")
		case c.kind == "IDAT":
			samples = true
		case c.kind[0]&0x20 == 0 && c.kind != "PLTE":
			return &UnsupportedError{Feature: fmt.Sprintf("PNG with a chunk %q", c.kind)}
		}
		off = c.next()
	}
}

// pngData reads the compressed samples: the data of all IDAT chunks, whose checksums it
// holds against them.
type pngData struct {
	r       io.ReaderAt
	size    int64
	at, end int64 // what is left of the chunk
	next    int64 // the chunk behind
	sum     hash.Hash32
}

func newPNGData(r io.ReaderAt, size int64) *pngData {
	return &pngData{r: r, size: size, next: pngHeader, sum: crc32.NewIEEE()}
}

// Read implements io.Reader.
func (d *pngData) Read(b []byte) (int, error) {
	for d.at == d.end {
		if err := d.open(); err != nil {
			return 0, err
		}
	}
	b = b[:min(int64(len(b)), d.end-d.at)]
	if err := tiff.ReadFull(d.r, b, d.at); err != nil {
		return 0, &pngReadError{err}
	}
	d.sum.Write(b)
	if d.at += int64(len(b)); d.at < d.end {
		return len(b), nil
	}
	var want [4]byte
	if err := tiff.ReadFull(d.r, want[:], d.end); err != nil {
		return 0, &pngReadError{err}
	}
	if d.sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
		return 0, rawerr.Formatf("png", "the checksum of the samples at byte %d does not fit: the file is damaged", d.end)
	}
	return len(b), nil
}

// open finds the next IDAT chunk.
func (d *pngData) open() error {
	for {
		c, err := readChunk(d.r, d.next, d.size)
		switch {
		case err != nil:
			return &pngReadError{err}
		case c.kind == "IEND":
			return io.EOF
		}
		d.next = c.next()
		if c.kind == "IDAT" && c.size > 0 {
			d.at, d.end = c.off, c.off+c.size
			d.sum.Reset()
			d.sum.Write([]byte(c.kind))
			return nil
		}
	}
}

// pngReadError is a failed read, which is not the compressed stream's fault.
type pngReadError struct{ err error }

func (e *pngReadError) Error() string { return e.err.Error() }
func (e *pngReadError) Unwrap() error { return e.err }

// pngRows gives the rows of a PNG from the top. Going back begins again.
type pngRows struct {
	r             io.ReaderAt
	size          int64
	width, height int

	z     io.ReadCloser // nil: not begun
	y     int           // the row that comes next
	row   []byte        // its filter, then its samples
	above []byte        // the samples of the row before
}

// ReadRows implements rowSource.
func (p *pngRows) ReadRows(y0, n int, dst []uint16) error {
	if p.z == nil || p.y > y0 {
		if err := p.begin(); err != nil {
			return err
		}
	}
	for ; p.y < y0+n; p.y++ {
		if err := p.next(); err != nil {
			p.z = nil
			return err
		}
		if p.y >= y0 {
			out := dst[(p.y-y0)*p.width:][:p.width]
			for x := range out {
				out[x] = binary.BigEndian.Uint16(p.above[2*x:])
			}
		}
	}
	return nil
}

func (p *pngRows) begin() (err error) {
	p.y = 0
	clear(p.above)
	data := newPNGData(p.r, p.size)
	if z, ok := p.z.(zlib.Resetter); ok {
		err = z.Reset(data, nil)
	} else {
		p.z, err = zlib.NewReader(data)
	}
	if err != nil {
		p.z = nil
		return inflateError(err)
	}
	return nil
}

// next decodes row p.y into above.
func (p *pngRows) next() error {
	if _, err := io.ReadFull(p.z, p.row); err != nil {
		return inflateError(err)
	}
	row := p.row[1:]
	if p.row[0] > 4 {
		return rawerr.Formatf("png", "row %d has filter %d: 0 to 4 are known", p.y, p.row[0])
	}
	unfilter(p.row[0], row, p.above)
	copy(p.above, row)
	if p.y+1 < p.height {
		return nil
	}
	var more [1]byte // reading past the last row checks the stream's checksum
	switch n, err := io.ReadFull(p.z, more[:]); {
	case n > 0:
		return rawerr.Formatf("png", "more samples than the %dx%d of the header", p.width, p.height)
	case err != io.EOF:
		return inflateError(err)
	}
	return nil
}

// unfilter undoes a row's filter (PNG specification, section 9.2) in place; above is the
// row before.
func unfilter(filter byte, row, above []byte) {
	const bpp = 2 // bytes of a sample
	above = above[:len(row)]
	switch filter {
	case 1:
		for i := bpp; i < len(row); i++ {
			row[i] += row[i-bpp]
		}
	case 2:
		for i, v := range above {
			row[i] += v
		}
	case 3:
		for i := range bpp {
			row[i] += above[i] / 2
		}
		for i := bpp; i < len(row); i++ {
			row[i] += byte((int(row[i-bpp]) + int(above[i])) / 2)
		}
	case 4:
		for i := range bpp {
			row[i] += above[i]
		}
		for i := bpp; i < len(row); i++ {
			row[i] += paeth(int(row[i-bpp]), int(above[i]), int(above[i-bpp]))
		}
	}
}

// paeth is whichever of left, above and upper left is nearest to a+b-c, ties in that order.
func paeth(a, b, c int) byte {
	pa, pb := max(b-c, c-b), max(a-c, c-a)
	pc := max(a+b-2*c, 2*c-a-b)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

// inflateError tells damage from a failed read.
func inflateError(err error) error {
	var failed *pngReadError
	var corrupt flate.CorruptInputError
	var damaged *FormatError
	switch {
	case errors.As(err, &damaged), errors.As(err, &failed):
		return err
	case errors.As(err, &corrupt), errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return pngDamaged(err)
	}
	return err
}
