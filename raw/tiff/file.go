// Package tiff reads and writes the container that DNG, Exif and plain TIFF
// share: a header and linked directories (IFDs) of tagged values. It knows
// nothing about images. Classic TIFF (TIFF 6.0, 1992) and BigTIFF are read, in
// both byte orders.
//
// Open a file with Parse, list its directories with Walk, and ask an IFD for
// values by tag. Nothing is read before it is asked for, and no count in the
// file is believed before it is held against the file's size.
//
// To write, fill a Dir and lay it out with Dir.Encode.
package tiff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"enhance/raw/rawerr"
)

// Bounds on what a file may ask for. Cameras write a handful of directories of
// at most some hundred entries; without a bound, overlapping directories would
// multiply a small file into much memory.
const (
	maxIFDs    = 64
	maxEntries = 4096
)

// Order is a byte order that can also append; binary.LittleEndian and
// binary.BigEndian are.
type Order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// File is an open TIFF container.
type File struct {
	r     io.ReaderAt
	size  int64
	order Order
	big   bool // BigTIFF: 64-bit counts and offsets
	first int64
}

// Sniff reports whether head, the first bytes of a file, begins a TIFF or
// BigTIFF container.
func Sniff(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch string(head[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+":
		return true
	}
	return false
}

// Parse reads the header of the TIFF container in the first size bytes of r.
func Parse(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: size, order: binary.LittleEndian}
	head, err := f.Read(0, 8)
	if err != nil {
		return nil, err
	}
	if !Sniff(head) {
		return nil, rawerr.Formatf("tiff", "no TIFF header: file begins with % x", head[:4])
	}
	if head[0] == 'M' {
		f.order = binary.BigEndian
	}
	if f.order.Uint16(head[2:]) == 42 {
		f.first = int64(f.order.Uint32(head[4:]))
		return f, nil
	}
	f.big = true
	if f.order.Uint16(head[4:]) != 8 || f.order.Uint16(head[6:]) != 0 {
		return nil, rawerr.Formatf("tiff", "BigTIFF header with offsets of %d bytes, want 8", f.order.Uint16(head[4:]))
	}
	if head, err = f.Read(8, 8); err != nil {
		return nil, err
	}
	f.first, err = f.offset(f.order.Uint64(head))
	return f, err
}

// Order is the file's byte order.
func (f *File) Order() Order { return f.order }

// Big reports whether the file is a BigTIFF.
func (f *File) Big() bool { return f.big }

// Size is the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Contains reports whether n bytes at offset off lie within the file.
func (f *File) Contains(off, n int64) bool {
	return off >= 0 && n >= 0 && off <= f.size && n <= f.size-off
}

// Read returns n bytes at offset off, after checking that the file has them.
func (f *File) Read(off, n int64) ([]byte, error) {
	if !f.Contains(off, n) {
		return nil, rawerr.Formatf("tiff", "%d bytes at offset %d lie outside the file of %d bytes: it is cut short or damaged", n, off, f.size)
	}
	b := make([]byte, n)
	return b, ReadFull(f.r, b, off)
}

// ReadFull fills b from offset off of r. A read that ends early although the
// file was long enough is an I/O error (the file changed under us).
func ReadFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("the file ends at byte %d, it was longer when it was opened: develop it again when nothing writes to it: %w",
			off+int64(max(n, 0)), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("reading %d bytes at offset %d: %w", len(b), off, err)
}

// ReaderAt is the file's bytes.
func (f *File) ReaderAt() io.ReaderAt { return f.r }

func (f *File) offset(v uint64) (int64, error) {
	if v > uint64(f.size) {
		return 0, rawerr.Formatf("tiff", "offset %d lies outside the file of %d bytes: it is cut short or damaged", v, f.size)
	}
	return int64(v), nil
}

// First returns the first directory.
func (f *File) First() (*IFD, error) {
	if f.first == 0 {
		return nil, rawerr.Formatf("tiff", "no directory: the file is cut short or damaged")
	}
	return f.ReadIFD(f.first)
}

// Walk returns the directories of the main chain, each followed by its
// SubIFDs, depth first. A directory met twice (a loop) is an error.
func (f *File) Walk() ([]*IFD, error) {
	w := walker{f: f, seen: map[int64]bool{}}
	err := w.chain(f.first)
	return w.found, err
}

type walker struct {
	f     *File
	seen  map[int64]bool
	found []*IFD
}

func (w *walker) chain(off int64) error {
	for off != 0 {
		if w.seen[off] {
			return rawerr.Formatf("tiff", "the directory at offset %d is linked twice: the chain is a loop", off)
		}
		if len(w.seen) == maxIFDs {
			return rawerr.Formatf("tiff", "more than %d directories", maxIFDs)
		}
		w.seen[off] = true
		d, err := w.f.ReadIFD(off)
		if err != nil {
			return err
		}
		w.found = append(w.found, d)
		if d.Has(TagSubIFDs) {
			subs, err := d.Uints(TagSubIFDs, maxIFDs)
			if err != nil {
				return err
			}
			for _, s := range subs {
				o, err := w.f.offset(s)
				if err != nil {
					return err
				}
				if err := w.chain(o); err != nil {
					return err
				}
			}
		}
		off = d.next
	}
	return nil
}
