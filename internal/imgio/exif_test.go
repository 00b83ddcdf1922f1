package imgio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/tiff"
)

// testExif is the EXIF block of a picture of 24 x 17 pixels.
func testExif() []byte {
	d, sub := tiff.NewDir(binary.LittleEndian, false), tiff.NewDir(binary.LittleEndian, false)
	d.Text(tagMake, "Canon")
	d.Text(tagModel, "Canon EOS 550D")
	d.Shorts(tagOrientation, 1)
	d.URationals(tagXResolution, 72) // required by EXIF, as is the next
	d.URationals(tagYResolution, 72)
	d.Shorts(tagResolutionUnit, 2)
	d.Shorts(531, 1) // chroma between the pixels, as image/jpeg averages it
	d.Text(tagSoftware, "enhance")
	d.Text(tagArtist, "A. Nonymous")
	d.Text(tagCopyright, "none")
	d.Dirs(tagExifIFD, sub)
	sub.URationals(33434, 0.008)                          // exposure time, seconds
	sub.URationals(33437, 5.6)                            // f-number
	sub.Shorts(34855, 400)                                // ISO
	sub.Raw(36864, tiff.Undefined, 4, []byte("0232"))     // version
	sub.Text(36867, "2011:12:13 14:15:16")                // taken
	sub.Raw(37121, tiff.Undefined, 4, []byte{1, 2, 3, 0}) // Y Cb Cr, required by EXIF
	sub.URationals(37386, 35)                             // focal length, millimetres
	sub.Raw(40960, tiff.Undefined, 4, []byte("0100"))     // Flashpix
	sub.Shorts(40961, 1)                                  // sRGB
	sub.Longs(40962, 24)                                  // width
	sub.Longs(40963, 17)                                  // height
	sub.Text(42036, "EF-S18-55mm")                        // lens
	return d.EncodeFile()
}

// bigEndianExif is a block as another program might make it: MM, rotated, with a
// thumbnail directory, and an odd length.
func bigEndianExif() []byte {
	be := binary.BigEndian
	d, thumb := tiff.NewDir(be, false), tiff.NewDir(be, false)
	d.Text(tagMake, "NIKON CORPORATION")
	d.Shorts(tagOrientation, 6)
	d.Longs(tagWidth, 160)
	thumb.Shorts(tagCompression, 6)
	b := d.EncodeFile()
	be.PutUint32(b[8+2+12*d.Len():], uint32(len(b))) // the next directory
	return append(append(b, thumb.Encode(len(b))...), 'x')
}

func TestCleanExif(t *testing.T) {
	blob := bigEndianExif()
	before := bytes.Clone(blob)
	e, err := cleanExif(blob)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(blob, before) {
		t.Error("the caller's block was changed")
	}
	again, err := cleanExif(e.blob)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range again.fields {
		if f.tag == tagOrientation && (f.kind != tiff.Short || f.count != 1 || e.order.Uint16(f.value) != 1) {
			t.Errorf("orientation is %+v", f)
		}
	}
	end := 8 + 2 + 12*len(e.fields)
	if next := e.order.Uint32(e.blob[end:]); next != 0 {
		t.Errorf("the thumbnail is still linked at %d", next)
	}
}

func TestExifErrors(t *testing.T) {
	good := testExif()
	for name, b := range map[string][]byte{
		"Short":     []byte("II*"),
		"Magic":     []byte("XX*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"NoIFD":     []byte("II*\x00\x08\x00\x00\x00"),
		"IFDBefore": []byte("II*\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"IFDBeyond": []byte("II*\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00"),
		"Truncated": good[:len(good)/2],
		"CutValues": good[:len(good)-2],
		"CutDir":    good[:40],
	} {
		if _, err := cleanExif(b); !errors.Is(err, ErrExif) {
			t.Errorf("%s: %v, want ErrExif", name, err)
		}
	}
}

func FuzzCleanExif(f *testing.F) {
	f.Add(testExif())
	f.Add(bigEndianExif())
	f.Fuzz(func(t *testing.T, b []byte) {
		var e *exifBlock
		var err error
		boundtest.Run(t, len(b), 1<<20, 100, func() { e, err = cleanExif(b) })
		if err != nil {
			if !errors.Is(err, ErrExif) {
				t.Fatal(err)
			}
			return
		}
		if len(e.bytes()) != len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(e.bytes()))
		}
		// Whatever passes must leave a readable TIFF.
		var out seekBuffer
		w, err := NewTIFF(&out, Header{Width: 2, Height: 1, Bits: 16, Exif: b}, TIFFDeflate)
		if err != nil {
			t.Fatal(err)
		}
		m := picture(2, 1)
		writeRows(t, w, m)
		wantSame(t, decode(t, out.data), m)
	})
}

func TestExiftoolReadsAll(t *testing.T) {
	tool, err := exec.LookPath("exiftool")
	if err != nil {
		t.Skip("exiftool is not installed: EXIF, ICC and chunk contents are not cross-checked")
	}
	type tags map[string]any
	m := picture(24, 17)
	for _, w := range writers {
		for name, exif := range map[string][]byte{"II": testExif(), "MM": bigEndianExif()} {
			var out seekBuffer
			rw, err := w.make(&out, Header{Width: 24, Height: 17, Bits: w.bits, Exif: exif, Description: "A test"})
			if err != nil {
				t.Fatal(err)
			}
			writeRows(t, rw, m)
			if name == "MM" {
				if w.lossless && w.bits == 16 {
					wantSame(t, decode(t, out.data), m)
				}
			}
			path := filepath.Join(t.TempDir(), "picture")
			if err := os.WriteFile(path, out.data, 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := exec.Command(tool, "-j", "-G0", "-n", "-validate", "-warning", "-error", "-all", path).Output()
			var got []tags
			if err != nil || json.Unmarshal(text, &got) != nil || len(got) != 1 {
				t.Fatalf("%s: exiftool: %v\n%s", w.name, err, text)
			}
			want := tags{"EXIF:Make": "NIKON CORPORATION", "EXIF:Orientation": 1.0}
			if name == "II" {
				want = tags{"EXIF:Make": "Canon", "EXIF:Model": "Canon EOS 550D", "EXIF:ISO": 400.0, "EXIF:FNumber": 5.6,
					"EXIF:ExposureTime": 0.008, "EXIF:DateTimeOriginal": "2011:12:13 14:15:16", "EXIF:Orientation": 1.0,
					"EXIF:LensModel": "EF-S18-55mm", "EXIF:FocalLength": 35.0, "EXIF:ColorSpace": 1.0, "EXIF:ExifImageWidth": 24.0}
			}
			switch {
			case strings.HasPrefix(w.name, "PNG"):
				want["PNG:SRGBRendering"], want["PNG:Gamma"], want["PNG:Description"] = 0.0, 2.2, "A test"
			case strings.HasPrefix(w.name, "TIFF"):
				want["EXIF:ImageDescription"] = "A test"
				want["ICC_Profile:ProfileDescription"] = "sRGB IEC61966-2.1"
			default:
				want["File:Comment"], want["ICC_Profile:ProfileDescription"] = "A test", "sRGB IEC61966-2.1"
			}
			for k, v := range want {
				if got[0][k] != v {
					t.Errorf("%s %s: %s is %v, want %v", w.name, name, k, got[0][k], v)
				}
			}
			for k, v := range got[0] {
				// Deflate is TIFF's (Technical Note 3) but not in EXIF's list for cameras;
				// the rest is a matter of taste.
				if s := fmt.Sprint(v); strings.Contains(s, "[minor]") || strings.HasSuffix(s, "tag 0x0103 Compression") {
					continue
				}
				if strings.Contains(k, "Warning") || strings.HasSuffix(k, ":Error") {
					t.Errorf("%s %s: %s: %v", w.name, name, k, v)
				}
			}
		}
	}
}
