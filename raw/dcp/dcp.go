// Package dcp reads camera profiles: files of their own (.dcp) and those within DNG files
// (DNG specification 1.6, chapters 4 and 6).
//
// A .dcp file is a TIFF container with another header, II or MM and 0x4352 in place of 42.
// [Read] reads one by its name, [Parse] from memory; [Tables] reads what a profile has
// besides its matrices from a directory, which is how package dng reads its own. Nothing is
// believed before it is held against the file's size, and numbers are finite and sensible
// or the profile is damaged.
package dcp

import (
	"bytes"
	"errors"
	"math"

	"enhance/internal/regularfile"
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// Tags of a profile.
const (
	tagUniqueCameraModel = 50708
	tagColorMatrix1      = 50721
	tagColorMatrix2      = 50722
	tagIlluminant1       = 50778
	tagIlluminant2       = 50779
	tagSignature         = 50932
	tagName              = 50936
	tagHueSatDims        = 50937
	tagHueSat1           = 50938
	tagHueSat2           = 50939
	tagToneCurve         = 50940
	tagCopyright         = 50942
	tagForwardMatrix1    = 50964
	tagForwardMatrix2    = 50965
	tagLookDims          = 50981
	tagLook              = 50982
	tagHueSatEncoding    = 51107
	tagLookEncoding      = 51108
	tagExposureOffset    = 51109
	tagIlluminantData1   = 52533
	tagIlluminantData2   = 52534
)

// MaxFile is the largest file that is read. Those of cameras' makers have some 100 KiB;
// tables of maxEntries have 12 MiB each.
const MaxFile = 48 << 20

const where = "camera profile"

// Read reads the named file.
func Read(path string) (*mosaic.Profile, error) {
	b, err := regularfile.Read(path, MaxFile)
	if errors.Is(err, regularfile.ErrTooLarge) {
		return nil, rawerr.Formatf(where, "larger than %d bytes", MaxFile)
	}
	if err != nil {
		return nil, err
	}
	return Parse(b)
}

// container is a profile as the TIFF container that it is but for its header.
type container struct {
	*bytes.Reader
	head [4]byte
}

func (c container) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	if off < int64(len(c.head)) {
		copy(p[:n], c.head[off:])
	}
	return n, err
}

// Parse reads the contents of a .dcp file.
func Parse(b []byte) (*mosaic.Profile, error) {
	if len(b) < 8 || string(b[:4]) != "IIRC" && string(b[:4]) != "MMCR" {
		return nil, rawerr.Formatf(where, "not a .dcp file: it must begin with IIRC or MMCR")
	}
	head := [4]byte([]byte("II*\x00"))
	if b[0] == 'M' {
		head = [4]byte([]byte("MM\x00*"))
	}
	f, err := tiff.Parse(container{bytes.NewReader(b), head}, int64(len(b)))
	if err != nil {
		return nil, err
	}
	d, err := f.First()
	if err != nil {
		return nil, err
	}
	p, err := Tables(d)
	if err != nil {
		return nil, err
	}
	return p, matrices(d, p)
}

// matrices reads a profile's own.
func matrices(d *tiff.IFD, p *mosaic.Profile) (err error) {
	if p.Camera, err = d.Text(tagUniqueCameraModel); err != nil {
		return err
	}
	for _, c := range []struct {
		tag  uint16
		name string
		dst  **[3][3]float64
	}{
		{tagColorMatrix1, "ColorMatrix1", &p.ColorMatrix1}, {tagColorMatrix2, "ColorMatrix2", &p.ColorMatrix2},
		{tagForwardMatrix1, "ForwardMatrix1", &p.ForwardMatrix1}, {tagForwardMatrix2, "ForwardMatrix2", &p.ForwardMatrix2},
	} {
		if !d.Has(c.tag) {
			continue
		}
		v, err := numbers(d, c.tag, c.name, 64)
		if err != nil {
			return err
		}
		if len(v) != 9 {
			return rawerr.Formatf(where, "%s has %d values, want 9: only profiles of red, green and blue sensors are read", c.name, len(v))
		}
		*c.dst = &[3][3]float64{[3]float64(v[:3]), [3]float64(v[3:6]), [3]float64(v[6:])}
	}
	if p.ColorMatrix1 == nil {
		return rawerr.Formatf(where, "it has no ColorMatrix1, which every profile has")
	}
	for tag, dst := range map[uint16]*int{tagIlluminant1: &p.Illuminant1, tagIlluminant2: &p.Illuminant2} {
		v, err := d.Uint(tag, 0)
		if err != nil {
			return err
		}
		*dst = int(min(v, math.MaxUint16))
	}
	p.IlluminantXY, err = IlluminantXY(d)
	return err
}

// IlluminantXY reads the CIE x, y of the two illuminants where the directory gives them so, which it
// does for lights that no code names. Spectra are not read.
func IlluminantXY(d *tiff.IFD) (xy [2]*[2]float64, err error) {
	for i, tag := range []uint16{tagIlluminantData1, tagIlluminantData2} {
		e, ok := d.Find(tag)
		if !ok || e.Type != tiff.Undefined || e.Count != 18 { // a kind of 16 bits and two rationals
			continue
		}
		b, err := d.Data(e)
		if err != nil {
			return xy, err
		}
		order := d.Order()
		if order.Uint16(b) != 0 {
			continue
		}
		v := [2]float64{float64(order.Uint32(b[2:])) / float64(order.Uint32(b[6:])), float64(order.Uint32(b[10:])) / float64(order.Uint32(b[14:]))}
		if !(v[0] > 0 && v[1] > 0 && v[0]+v[1] < 1) {
			return xy, rawerr.Formatf(where, "IlluminantData%d says x, y of %v, which is no light", i+1, v)
		}
		xy[i] = &v
	}
	return xy, nil
}

// numbers reads 1 to limit finite values of a tag.
func numbers(d *tiff.IFD, tag uint16, name string, limit int64) ([]float64, error) {
	v, err := d.Floats(tag, limit)
	if err != nil {
		return nil, err
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, rawerr.Formatf(where, "%s has a value that is not a number", name)
		}
	}
	return v, nil
}
