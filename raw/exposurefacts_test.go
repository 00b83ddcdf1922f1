package raw

import (
	"encoding/binary"
	"math"
	"testing"

	"enhance/raw/tiff"
)

func TestExposureFacts(t *testing.T) {
	block := func(edit func(d *tiff.Dir)) []byte {
		first, exif := tiff.NewDir(binary.BigEndian, false), tiff.NewDir(binary.BigEndian, false)
		edit(exif)
		first.Dirs(tiff.TagExifIFD, exif)
		return first.EncodeFile()
	}
	whole := block(func(d *tiff.Dir) {
		d.URationals(33434, 0.004)
		d.URationals(33437, 2.8)
		d.Shorts(34855, 800)
		d.URationals(37386, 50)
		d.Text(42036, "Lens 50mm")
	})
	for name, c := range map[string]struct {
		exif []byte
		want *ExposureFacts
	}{
		"all":     {whole, &ExposureFacts{0.004, 2.8, 800, 50, "Lens 50mm"}},
		"none":    {nil, nil},
		"zeros":   {block(func(d *tiff.Dir) { d.URationals(33434, 0); d.Shorts(34855, 0) }), nil},
		"beyond":  {block(func(d *tiff.Dir) { d.Doubles(33434, math.NaN()); d.Doubles(33437, math.Inf(1)); d.Doubles(37386, -50) }), nil},
		"one":     {block(func(d *tiff.Dir) { d.Shorts(34855, 100) }), &ExposureFacts{ISO: 100}},
		"cut":     {whole[:len(whole)/2], nil},
		"no Exif": {tiff.NewDir(binary.LittleEndian, false).EncodeFile(), nil},
	} {
		switch got := exposureFacts(c.exif); {
		case (got == nil) != (c.want == nil):
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		case got != nil && (math.Abs(got.Seconds-c.want.Seconds) > 1e-6 || math.Abs(got.FNumber-c.want.FNumber) > 1e-6 ||
			got.ISO != c.want.ISO || got.FocalLength != c.want.FocalLength || got.Lens != c.want.Lens):
			t.Errorf("%s: %+v, want %+v", name, *got, *c.want)
		}
	}
}
