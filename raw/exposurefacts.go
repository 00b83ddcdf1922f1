package raw

import (
	"bytes"
	"math"

	"enhance/raw/tiff"
)

// ExposureFacts are the camera's settings, as the photo's Exif data has them; what it does not have is 0 or "".
type ExposureFacts struct {
	Seconds     float64 `json:"seconds,omitempty"`
	FNumber     float64 `json:"f_number,omitempty"`
	ISO         float64 `json:"iso,omitempty"`
	FocalLength float64 `json:"focal_length_mm,omitempty"`
	Lens        string  `json:"lens,omitempty"`
}

// exposureFacts reads an Exif block; nil if it has none of them. What is damaged counts as missing: the block was cleaned
// when the photo was opened.
func exposureFacts(exif []byte) *ExposureFacts {
	file, err := tiff.Parse(bytes.NewReader(exif), int64(len(exif)))
	if err != nil {
		return nil
	}
	first, err := file.First()
	if err != nil {
		return nil
	}
	d, err := first.Sub(tiff.TagExifIFD)
	if err != nil || d == nil {
		return nil
	}
	number := func(tag uint16) float64 {
		v, err := d.Floats(tag, 4)
		if err != nil || len(v) == 0 || !(v[0] > 0) || math.IsInf(v[0], 1) { // cameras write 0 and 0/0 for what they do not know
			return 0
		}
		return v[0]
	}
	f := ExposureFacts{Seconds: number(33434), FNumber: number(33437), ISO: number(34855), FocalLength: number(37386)}
	if lens, err := d.Text(42036); err == nil {
		f.Lens = lens
	}
	if f == (ExposureFacts{}) {
		return nil
	}
	return &f
}
