package dng

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"enhance/internal/metadata"
	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// withExif is a photo with Exif and GPS directories, some of which is to be
// kept.
func withExif(order tiff.Order) Spec {
	s := spec(4, 4, 12)
	s.Order = order
	s.Meta.Orientation = 6
	exif, gps := tiff.NewDir(order, false), tiff.NewDir(order, false)
	exif.URationals(33434, 0.004)
	exif.Shorts(34855, 800)
	exif.Text(36867, "2024:05:06 07:08:09")
	exif.Text(42036, "Lens 50mm")
	exif.Raw(37500, tiff.Undefined, 5000, make([]byte, 5000)) // MakerNote
	exif.Raw(37510, tiff.Undefined, 9, make([]byte, 9))       // UserComment
	exif.Longs(40962, 4000)                                   // PixelXDimension
	gps.Bytes(0, 2, 3, 0, 0)
	gps.Text(1, "N")
	gps.URationals(2, 47, 22, 8.5)
	s.Edit = func(first, _ *tiff.Dir) {
		first.Dirs(tiff.TagExifIFD, exif)
		first.Dirs(tiff.TagGPSIFD, gps)
		first.Text(tagArtist, "A. Nobody")
		first.URationals(tagLensInfo, 24, 70, 2.8, 4)
	}
	return s
}

func TestExif(t *testing.T) {
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		im, err := openBytes(write(t, withExif(order)))
		if err != nil {
			t.Fatal(err)
		}
		if im.Meta.DateTime != "2024:05:06 07:08:09" || im.Meta.Orientation != 6 || im.Meta.Warnings != nil {
			t.Errorf("%q, orientation %d, warnings %q", im.Meta.DateTime, im.Meta.Orientation, im.Meta.Warnings)
		}
		f, err := tiff.Parse(bytes.NewReader(im.Meta.Exif), int64(len(im.Meta.Exif)))
		if err != nil {
			t.Fatal(err)
		}
		dirs, err := f.Walk()
		if err != nil {
			t.Fatal(err)
		}
		if f.Order() != order || len(dirs) != 1 {
			t.Fatalf("%v, %d directories", f.Order(), len(dirs))
		}
		exif, err := dirs[0].Sub(tiff.TagExifIFD)
		if err != nil {
			t.Fatal(err)
		}
		gps, err := dirs[0].Sub(tiff.TagGPSIFD)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			d    *tiff.IFD
			tags []uint16
		}{
			{dirs[0], []uint16{tagMake, tagModel, tagOrientation, tagArtist, tiff.TagExifIFD, tiff.TagGPSIFD}},
			{exif, []uint16{33434, 34855, 36867, exifLensSpec, 42036}},
			{gps, []uint16{0, 1, 2}},
		} {
			if len(c.d.Entries) != len(c.tags) {
				t.Errorf("%d tags, want %v", len(c.d.Entries), c.tags)
			}
			for i, e := range c.d.Entries {
				if i < len(c.tags) && e.Tag != c.tags[i] {
					t.Errorf("tag %d, want %d", e.Tag, c.tags[i])
				}
			}
		}
		if o, err := dirs[0].Uint(tagOrientation, 0); err != nil || o != 1 {
			t.Errorf("orientation %d, %v, want 1", o, err)
		}
		if v, err := exif.Floats(exifLensSpec, 4); err != nil || v[2] != 2.8 {
			t.Errorf("lens %v, %v", v, err)
		}
		if v, err := gps.Floats(2, 3); err != nil || v[2] != 8.5 {
			t.Errorf("latitude %v, %v", v, err)
		}
	}
}

// TestExifTooLarge keeps the block within a JPEG segment.
func TestExifTooLarge(t *testing.T) {
	s := spec(4, 4, 12)
	exif, gps := tiff.NewDir(binary.LittleEndian, false), tiff.NewDir(binary.LittleEndian, false)
	for _, tag := range keptExif {
		exif.Raw(tag, tiff.Undefined, 4000, make([]byte, 4000))
	}
	gps.Raw(5, tiff.Undefined, 5000, make([]byte, 5000))
	s.Edit = func(first, _ *tiff.Dir) { first.Dirs(tiff.TagExifIFD, exif); first.Dirs(tiff.TagGPSIFD, gps) }
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(im.Meta.Exif); n > 65533-6 || n < 40000 {
		t.Errorf("%d bytes", n)
	}
	if len(im.Meta.Warnings) == 0 || !strings.Contains(im.Meta.Warnings[0], "too large") {
		t.Errorf("warnings %q", im.Meta.Warnings)
	}
}

// TestDamagedExif loses the Exif directory, not the photo, and says so.
func TestDamagedExif(t *testing.T) {
	s := spec(4, 4, 12)
	s.Edit = func(first, _ *tiff.Dir) { first.Longs(tiff.TagExifIFD, 1<<30) }
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if len(im.Meta.Warnings) == 0 || !strings.Contains(strings.Join(im.Meta.Warnings, " "), "Exif directory is damaged") {
		t.Errorf("warnings %q", im.Meta.Warnings)
	}
	checkRows(t, im, s.Samples)
}

func TestWriteRefuses(t *testing.T) {
	good := spec(4, 4, 12)
	for name, edit := range map[string]func(s *Spec){
		"no samples":       func(s *Spec) { s.Samples = nil },
		"17 bits":          func(s *Spec) { s.Bits = 17 },
		"too bright":       func(s *Spec) { s.Bits = 8 },
		"no CFA":           func(s *Spec) { s.Meta.CFA = mosaic.Pattern{} },
		"half a tile":      func(s *Spec) { s.TileWidth = 16 },
		"components":       func(s *Spec) { s.JPEG = &JPEG{Components: 3} },
		"predictor":        func(s *Spec) { s.JPEG = &JPEG{Predictor: 8} },
		"fold":             func(s *Spec) { s.JPEG = &JPEG{Fold: 3} },
		"point transform":  func(s *Spec) { s.JPEG = &JPEG{PointTransform: 12} },
		"negative height":  func(s *Spec) { s.Height = -4 },
		"negative restart": func(s *Spec) { s.JPEG = &JPEG{RestartRows: -1} },
	} {
		s := good
		edit(&s)
		if err := Write(&bytes.Buffer{}, s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestExifTexts are ended by one NUL each, and those without a character are left out.
func TestExifTexts(t *testing.T) {
	s := spec(4, 4, 12)
	s.Edit = func(first, _ *tiff.Dir) {
		first.Raw(tagArtist, tiff.ASCII, 9, []byte("A. B\x00\x00\x00\x00\x00"))
		first.Raw(tagCopyright, tiff.ASCII, 9, []byte("me\x00you\x00\x00\x00"))
		first.Raw(270, tiff.ASCII, 5, []byte("no\x00\x00\x00"))
		first.Raw(tagSoftware, tiff.ASCII, 6, []byte("no end"))
		first.Raw(tagDateTime, tiff.ASCII, 20, append(bytes.Repeat([]byte{' '}, 19), 0))
	}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	d, err := metadata.ParseExif(im.Meta.Exif)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint16]string{}
	for _, v := range d.First.Values() {
		if v.Type == tiff.ASCII {
			got[v.Tag] = string(v.Data)
		}
	}
	for tag, want := range map[uint16]string{tagArtist: "A. B\x00", tagCopyright: "me\x00you\x00", 270: "no\x00", tagSoftware: "no end\x00", tagDateTime: ""} {
		if got[tag] != want {
			t.Errorf("tag %d is %q, want %q", tag, got[tag], want)
		}
	}
}
