package dng

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"enhance/internal/buffers"
	"enhance/internal/metadata"
	"enhance/internal/workers"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/rawjpeg"
)

// LinearSpec describes a demosaiced DNG file to be written row by row.
type LinearSpec struct {
	Width, Height int // of the image
	Planes        int // 3, or 1 of a monochrome sensor

	// Meta gives the facts about colour, the camera's names, Orientation, BaselineExposure
	// and NoiseProfile, which is of the samples that are written. Crop, in the image, is the
	// part to be shown.
	Meta mosaic.Meta
	// NoiseReduction is the share of the noise that was removed; nil if nobody knows.
	NoiseReduction *float64
	Opcodes        []opcode.Operation // of list 3, for a reader to apply

	Directories *metadata.Directories // Exif and GPS, which are written in their byte order
	XMP         []byte
	Software    string
	Carried     Carried

	PreviewWidth, PreviewHeight int // of the JPEG that Close is given
}

// LinearTile is the side of a tile, LinearWhite the sample that stands for white.
const (
	LinearTile  = 256
	LinearWhite = 65535
)

// LinearPredictor is the predictor of lossless JPEG. Predictor 4 makes files that are 9 to 24 %
// smaller, but darktable 4.2 fails on them (docs/dng.md).
const LinearPredictor = 1

// maxTilesInFlight bounds the tiles that are compressed at a time.
const maxTilesInFlight = 16

// LinearWriter writes a linear DNG file: classic TIFF, or BigTIFF if the samples might not
// fit into 4 GiB. The first directory has the preview, its SubIFD the image:
//
//	header | directories and their values | tile 0 | tile 1 | ... | preview
//
// Tiles are compressed on all cores and written in order; where they lie is written by
// Close into directories that keep their size.
type LinearWriter struct {
	spec LinearSpec
	file tileFile
	head int // bytes before the first tile

	rows   int        // taken
	tiles  [][]uint16 // the row of tiles that is being filled
	across int
	free   buffers.Slices[uint16]
	queue  *workers.Ordered[linearTile]
	ready  buffers.Values[tileEncoder]
	err    error
}

// tileFile is a file that grows by tiles, and where they lie in it.
type tileFile struct {
	out     io.WriteSeeker
	big     bool // BigTIFF
	end     int64
	offsets []uint64
	sizes   []uint64
}

// linearTile is an encoded tile.
type linearTile struct {
	encoder *tileEncoder
	samples []uint16 // free again
	err     error
}

// tileEncoder has the memory that encoding a tile takes.
type tileEncoder struct {
	jpeg rawjpeg.Encoder
	out  []byte
}

// LinearBytes is what a LinearWriter of an image so wide holds at most while as many tiles are in
// flight as there are cores.
func LinearBytes(width, planes int) int64 {
	across := int64((width + LinearTile - 1) / LinearTile)
	tile := int64(2 * LinearTile * LinearTile * planes)
	inFlight := int64(min(runtime.GOMAXPROCS(0), maxTilesInFlight) + 2)
	return across*tile + inFlight*(tile+4*tile) // of one in flight: samples; differences and code
}

// NewLinearWriter writes the head of a file.
func NewLinearWriter(w io.WriteSeeker, s LinearSpec) (*LinearWriter, error) {
	return newLinearWriter(w, s, false)
}

// newLinearWriter is NewLinearWriter, of a BigTIFF where one is not needed too.
func newLinearWriter(w io.WriteSeeker, s LinearSpec, big bool) (*LinearWriter, error) {
	switch {
	case s.Width < 1 || s.Height < 1 || s.Width > math.MaxInt32 || s.Height > math.MaxInt32:
		return nil, fmt.Errorf("dng: image of %dx%d pixels", s.Width, s.Height)
	case s.Planes != 1 && s.Planes != linearPlanes:
		return nil, fmt.Errorf("dng: %d samples a pixel, want 1 or 3", s.Planes)
	case s.PreviewWidth < 1 || s.PreviewHeight < 1:
		return nil, fmt.Errorf("dng: preview of %dx%d pixels", s.PreviewWidth, s.PreviewHeight)
	}
	d := &LinearWriter{spec: s, file: tileFile{out: w}, across: (s.Width + LinearTile - 1) / LinearTile}
	down := (s.Height + LinearTile - 1) / LinearTile
	tile := int64(2*LinearTile*LinearTile) * int64(s.Planes)
	if int64(d.across) > math.MaxInt64/int64(down)/tile/2 {
		return nil, fmt.Errorf("dng: image of %dx%d pixels is too large", s.Width, s.Height)
	}
	d.file.big = big || int64(d.across)*int64(down)*tile/8*9 > math.MaxUint32-64<<20 // noise becomes an eighth larger at most
	d.file.offsets, d.file.sizes = make([]uint64, d.across*down), make([]uint64, d.across*down)
	d.ready.New = func() *tileEncoder { return new(tileEncoder) }
	d.queue = workers.NewOrdered(min(runtime.GOMAXPROCS(0), maxTilesInFlight), d.emit)
	head := d.directories(0, 0)
	d.head = len(head)
	d.file.end = int64(len(head))
	d.file.offsets, d.file.sizes = d.file.offsets[:0], d.file.sizes[:0]
	_, err := w.Write(head)
	return d, err
}

// WriteRow takes the next row: Width pixels of Planes samples. The slice is not kept.
func (d *LinearWriter) WriteRow(samples []uint16) error {
	n, h := d.spec.Planes, d.spec.Height
	switch {
	case d.err != nil:
		return d.err
	case d.rows == h:
		return d.fail(fmt.Errorf("dng: more than %d rows", h))
	case len(samples) != n*d.spec.Width:
		return d.fail(fmt.Errorf("dng: row of %d samples, want %d", len(samples), n*d.spec.Width))
	}
	if d.tiles == nil {
		d.tiles = make([][]uint16, d.across)
		for i := range d.tiles {
			d.tiles[i] = d.free.Get(n * LinearTile * LinearTile)
		}
	}
	y := d.rows % LinearTile
	for i, tile := range d.tiles {
		row := tile[n*LinearTile*y:][:n*LinearTile]
		k := copy(row, samples[n*LinearTile*i:])
		for ; k < len(row); k++ { // the last column fills the tile
			row[k] = row[k-n]
		}
	}
	d.rows++
	if y < LinearTile-1 && d.rows < h {
		return nil
	}
	tiles := d.tiles
	d.tiles = nil
	for _, tile := range tiles {
		for k := n * LinearTile * (y + 1); k < len(tile); k++ { // and the last row
			tile[k] = tile[k-n*LinearTile]
		}
		if err := d.queue.Do(func() linearTile { return d.encode(tile) }); err != nil {
			return d.fail(err)
		}
	}
	return nil
}

func (d *LinearWriter) fail(err error) error {
	d.err = err
	return err
}

// encode runs beside the caller.
func (d *LinearWriter) encode(samples []uint16) linearTile {
	e := d.ready.Get()
	var err error
	e.out, err = e.jpeg.Encode(e.out[:0], rawjpeg.Header{Width: LinearTile, Height: LinearTile, Components: d.spec.Planes, Precision: 16,
		Predictor: LinearPredictor}, samples)
	return linearTile{e, samples, err}
}

// emit writes a tile behind those before it.
func (d *LinearWriter) emit(t linearTile) (err error) {
	defer d.ready.Put(t.encoder)
	d.free.Put(t.samples)
	if t.err != nil {
		return t.err
	}
	t.encoder.out, err = d.file.add(t.encoder.out)
	return err
}

// add writes a tile, filled to an even length, and gives its memory back.
func (f *tileFile) add(tile []byte) ([]byte, error) {
	f.offsets, f.sizes = append(f.offsets, uint64(f.end)), append(f.sizes, uint64(len(tile)))
	if len(tile)%2 != 0 {
		tile = append(tile, 0)
	}
	return tile, f.write(tile)
}

// replaceHead writes over the beginning of the file.
func (f *tileFile) replaceHead(head []byte) error {
	if _, err := f.out.Seek(-f.end, io.SeekCurrent); err != nil {
		return err
	}
	if _, err := f.out.Write(head); err != nil {
		return err
	}
	_, err := f.out.Seek(f.end-int64(len(head)), io.SeekCurrent)
	return err
}

var errTooLarge = errors.New("dng: the file does not fit 4 GiB, which its offsets end at")

func (f *tileFile) write(b []byte) error {
	f.end += int64(len(b))
	if !f.big && f.end > math.MaxUint32 {
		return errTooLarge
	}
	_, err := f.out.Write(b)
	return err
}

// Abandon ends the encoding of a file that is given up.
func (d *LinearWriter) Abandon() { d.queue.Wait() }

// Close completes the file with its preview, a JPEG of the sides that were declared.
func (d *LinearWriter) Close(preview []byte) error {
	if err := d.queue.Wait(); err != nil {
		return d.fail(err)
	}
	if d.err != nil {
		return d.err
	}
	if d.rows < d.spec.Height {
		return d.fail(fmt.Errorf("dng: %d of %d rows", d.rows, d.spec.Height))
	}
	at := d.file.end
	if err := d.file.write(preview); err != nil {
		return d.fail(err)
	}
	head := d.directories(at, len(preview))
	if len(head) != d.head {
		return d.fail(fmt.Errorf("dng: directories of %d bytes in place of %d: please report this", len(head), d.head))
	}
	if err := d.file.replaceHead(head); err != nil {
		return d.fail(err)
	}
	d.err = errors.New("dng: the file is closed")
	return nil
}
