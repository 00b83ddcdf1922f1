package imgio

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"enhance/internal/buffers"
	"enhance/internal/workers"
)

// pngBlock is a finished piece of the zlib stream.
type pngBlock struct {
	d     *deflater
	adler uint32 // of the filtered bytes
	n     int    // their number
	last  bool
}

// pngRows are the row before a block, zeros at the top of a picture, and the block's rows so far.
type pngRows[T uint16 | byte] struct {
	rows  []T
	count int // of the block's rows
}

// Blocks of one picture after another: new ones for each would have to be zeroed first.
var (
	pngSamples buffers.Blocks[uint16]
	pngBytes   buffers.Blocks[byte]
)

// errMixed is a defect of the caller.
var errMixed = fmt.Errorf("%w: samples and bytes of one picture", ErrRows)

// add takes a row. It returns the block, if that is complete with so many rows or if it is the
// picture's last.
func (b *pngRows[T]) add(row []T, most int, last bool, pool *buffers.Blocks[T]) (block []T) {
	if b.rows == nil {
		b.rows = pool.Get((1 + most) * len(row))
		clear(b.rows[:len(row)])
	}
	b.count++
	copy(b.rows[b.count*len(row):], row)
	if b.count < most && !last {
		return nil
	}
	block = b.rows[:(1+b.count)*len(row)]
	b.rows, b.count = nil, 0
	if !last {
		b.rows = pool.Get((1 + most) * len(row))
		copy(b.rows, row)
	}
	return block
}

// pngWriter cuts the picture into blocks of rows. Each is filtered and deflated
// on its own and becomes one IDAT chunk; together they are one zlib stream.
type pngWriter struct {
	progress
	w        io.Writer
	rowBytes int
	perBlock int
	samples  pngRows[uint16] // of WriteRow
	bytes    pngRows[byte]   // of WriteBytes
	queue    *workers.Ordered[pngBlock]
	adler    uint32
	started  bool
}

// NewPNG starts a PNG of 8 or 16 bits per sample and writes its header, with
// the chunks of its colours, and eXIf and a description where h has them.
//
// Memory is about 3 MB per core (at most 17 blocks of 256 KiB in flight, or of
// one row if that is longer), whatever the picture's height.
func NewPNG(w io.Writer, h Header) (RowWriter, error) {
	if err := h.validate("PNG"); err != nil {
		return nil, err
	}
	if h.rowBytes() >= maxSide {
		return nil, fmt.Errorf("PNG rows of %d bytes: %w: at most %d", h.rowBytes(), ErrTooLarge, maxSide)
	}
	exif, err := cleanExif(h.Exif)
	if err != nil {
		return nil, fmt.Errorf("PNG: %w", err)
	}
	p := &pngWriter{
		progress: progress{format: "PNG", h: h},
		w:        w,
		rowBytes: int(h.rowBytes()),
		perBlock: blockRows(h),
		adler:    1,
	}
	p.queue = inOrder(p.emit)
	if err := p.writeHead(exif.bytes()); err != nil {
		return nil, p.fail(err)
	}
	return p, nil
}

func (p *pngWriter) writeHead(exif []byte) error {
	if _, err := io.WriteString(p.w, "\x89PNG\r\n\x1a\n"); err != nil {
		return err
	}
	be := binary.BigEndian
	ihdr := be.AppendUint32(nil, uint32(p.h.Width))
	ihdr = be.AppendUint32(ihdr, uint32(p.h.Height))
	ihdr = append(ihdr, byte(p.h.Bits), 2, 0, 0, 0) // truecolour; deflate, five filters, not interlaced
	chunks := append([]pngChunk{{"IHDR", ihdr}}, colourChunks(p.h.encoding())...)
	chunks = append(chunks, pngChunk{"eXIf", exif}, pngChunk{"iTXt", pngText("Description", p.h.Description)},
		pngChunk{"iTXt", pngText("XML:com.adobe.xmp", string(p.h.XMP))})
	for _, c := range chunks {
		if len(c.data) == 0 { // nothing to say
			continue
		}
		if err := p.chunk(c.kind, c.data); err != nil {
			return err
		}
	}
	return nil
}

// pngText is the contents of an uncompressed iTXt chunk with a keyword, or nil.
func pngText(keyword, s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(keyword + "\x00\x00\x00\x00\x00" + s)
}

// chunk writes one chunk whose data is the parts joined.
func (p *pngWriter) chunk(kind string, parts ...[]byte) error {
	n, crc := 0, crc32.ChecksumIEEE([]byte(kind))
	for _, part := range parts {
		n += len(part)
		crc = crc32.Update(crc, crc32.IEEETable, part)
	}
	if n > maxSide {
		return fmt.Errorf("%s chunk of %d bytes: %w", kind, n, ErrTooLarge)
	}
	head := append(binary.BigEndian.AppendUint32(nil, uint32(n)), kind...)
	if _, err := p.w.Write(head); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := p.w.Write(part); err != nil {
			return err
		}
	}
	_, err := p.w.Write(binary.BigEndian.AppendUint32(nil, crc))
	return err
}

func (p *pngWriter) WriteRow(rgb []uint16) error {
	if err := p.next(len(rgb)); err != nil {
		return err
	}
	if p.bytes.rows != nil {
		return p.fail(errMixed)
	}
	last := p.rows == p.h.Height
	block := p.samples.add(rgb, p.perBlock, last, &pngSamples)
	if block == nil {
		return nil
	}
	return p.fail(p.queue.Do(func() pngBlock { return p.pack(block, last) }))
}

func (p *pngWriter) WriteBytes(rgb []byte) error {
	if err := p.nextBytes(len(rgb)); err != nil {
		return err
	}
	if p.samples.rows != nil {
		return p.fail(errMixed)
	}
	last := p.rows == p.h.Height
	block := p.bytes.add(rgb, p.perBlock, last, &pngBytes)
	if block == nil {
		return nil
	}
	return p.fail(p.queue.Do(func() pngBlock {
		defer pngBytes.Put(block)
		return p.encode(borrowDeflater(p.h.Bits, len(block)), block, last)
	}))
}

// pack encodes a block of samples. Like encode, it runs beside the caller: it touches nothing of p that changes.
func (p *pngWriter) pack(block []uint16, last bool) pngBlock {
	defer pngSamples.Put(block)
	w := 3 * p.h.Width
	n := len(block) / w * p.rowBytes
	d := borrowDeflater(p.h.Bits, n)
	d.packed = slices.Grow(d.packed[:0], n)[:n]
	for y := range len(block) / w {
		packRow(d.packed[y*p.rowBytes:][:p.rowBytes], block[y*w:][:w], p.h.Bits)
	}
	return p.encode(d, d.packed, last)
}

// encode makes the block of rows that are packed, the first of which is the one before.
func (p *pngWriter) encode(d *deflater, packed []byte, last bool) pngBlock {
	d.filtered = filterBlock(d.filtered[:0], packed, p.rowBytes, 3*p.h.Bits/8)
	d.compress(d.filtered, last)
	return pngBlock{d, adlerOf(d.filtered), len(d.filtered), last}
}

// emit writes a block, behind those before it.
func (p *pngWriter) emit(b pngBlock) error {
	defer deflaters.Put(b.d)
	p.adler = adlerCombine(p.adler, b.adler, b.n)
	var head, tail []byte
	if !p.started {
		p.started = true
		head = zlibHeader[:]
	}
	if b.last {
		tail = binary.BigEndian.AppendUint32(nil, p.adler)
	}
	return p.chunk("IDAT", head, b.d.out, tail)
}

func (p *pngWriter) Close() error {
	if err := p.finish(); err != nil {
		p.queue.Wait() // nothing is written any more
		return err
	}
	if err := p.queue.Wait(); err != nil {
		return p.fail(err)
	}
	if err := p.chunk("IEND"); err != nil {
		return p.fail(err)
	}
	return nil
}
