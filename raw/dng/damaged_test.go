package dng

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// TestDamaged edits a good file into one that contradicts itself.
func TestDamaged(t *testing.T) {
	for _, c := range []struct {
		want string
		edit func(d *tiff.Dir)
	}{
		{"width 0", func(d *tiff.Dir) { d.Longs(tagImageWidth, 0) }},
		{"height 4294967295", func(d *tiff.Dir) { d.Longs(tagImageLength, 1<<32-1) }},
		{"RowsPerStrip is 0", func(d *tiff.Dir) { d.Longs(tagRowsPerStrip, 0) }},
		{"outside the file", func(d *tiff.Dir) { d.Longs(tagStripOffsets, 1<<31) }},
		{"outside the file", func(d *tiff.Dir) { d.Longs(tagStripByteCounts, 1<<31) }},
		{"at least", func(d *tiff.Dir) { d.Longs(tagStripByteCounts, 127) }},
		{"1 to 1", func(d *tiff.Dir) { d.Longs(tagStripOffsets, 8, 8) }},
		{"ActiveArea", func(d *tiff.Dir) { d.Longs(tagActiveArea, 0, 0, 9, 8) }},
		{"ActiveArea", func(d *tiff.Dir) { d.Longs(tagActiveArea, 4, 4, 4, 8) }},
		{"crop", func(d *tiff.Dir) { d.Longs(tagDefaultCropOrigin, 8, 0); d.Longs(tagDefaultCropSize, 1, 1) }},
		{"crop", func(d *tiff.Dir) { d.Longs(tagDefaultCropSize, 0, 8) }},
		{"BlackLevelRepeatDim", func(d *tiff.Dir) { d.Longs(tagBlackLevelRepeatDim, 0, 2) }},
		{"BlackLevel has 1", func(d *tiff.Dir) { d.Shorts(tagBlackLevelRepeatDim, 2, 2); d.Shorts(tagBlackLevel, 1) }},
		{"BlackLevelDeltaH has 2", func(d *tiff.Dir) { d.Rationals(tagBlackLevelDeltaH, 1, 2) }},
		{"want 9", func(d *tiff.Dir) { d.Rationals(tagColorMatrix1, 1, 2, 3) }},
		{"positive", func(d *tiff.Dir) { d.Rationals(tagAsShotNeutral, 1, 0, 1) }},
		{"repeats a colour", func(d *tiff.Dir) { d.Bytes(tagCFAPlaneColor, 0, 1, 1) }},
		{"want numbers", func(d *tiff.Dir) { d.Text(tagBaselineExposure, "x") }},
		{"linked twice", func(d *tiff.Dir) { d.Longs(tiff.TagSubIFDs, 8) }},
		{"DNGVersion is 0", func(d *tiff.Dir) { d.Bytes(tagDNGVersion, 0, 0, 0, 0) }},
	} {
		s := spec(8, 8, 16)
		s.Edit = func(_, raw *tiff.Dir) { c.edit(raw) }
		_, err := openBytes(write(t, s))
		var fe *rawerr.FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// TestTruncated cuts files at every byte: never a panic, and success only if
// every sample is right.
func TestTruncated(t *testing.T) {
	for _, v := range variants() {
		b := write(t, v.spec)
		if len(b) > 3000 {
			continue
		}
		for n := range b {
			im, err := openBytes(b[:n])
			if err == nil {
				_, err = readAll(im)
			}
			var fe *rawerr.FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("%s cut at %d of %d: error %v, want a FormatError", v.name, n, len(b), err)
			}
		}
	}
}

// failAfter fails every read once armed.
type failAfter struct {
	io.ReaderAt
	armed bool
}

var errDisk = errors.New("disk on fire")

func (f *failAfter) ReadAt(b []byte, off int64) (int, error) {
	if f.armed {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(b, off)
}

func TestIOErrors(t *testing.T) {
	for _, whole := range []bool{true, false} {
		for _, jpeg := range []*JPEG{nil, {}} {
			s := spec(64, 64, 12)
			s.JPEG = jpeg
			b := write(t, s)
			r := &failAfter{ReaderAt: strings.NewReader(string(b))}
			im, err := Open(r, int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			if j, ok := im.rows.(*jpegRows); ok {
				j.whole = whole
			}
			r.armed = true
			if _, err := readAll(im); !errors.Is(err, errDisk) {
				t.Errorf("jpeg %v: error %v", jpeg != nil, err)
			}
			r.armed = false
			if got, err := readAll(im); err != nil || !slices.Equal(got, s.Samples) {
				t.Errorf("jpeg %v: after a failed read: %v", jpeg != nil, err)
			}
		}
	}
}
