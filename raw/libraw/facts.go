package libraw

import (
	"encoding/json"
	"fmt"
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// facts are what LibRaw says of a photo, in its own terms. They come from a process
// that may be damaged: nothing of them is believed before check.
type facts struct {
	Version string `json:"version"` // of LibRaw

	RawWidth  int `json:"raw_width"` // with masked borders
	RawHeight int `json:"raw_height"`
	Width     int `json:"width"` // of the visible area
	Height    int `json:"height"`
	Left      int `json:"left"` // of its first sample
	Top       int `json:"top"`

	PixelAspect float64 `json:"pixel_aspect"`
	Flip        int     `json:"flip"`
	FujiWidth   int     `json:"fuji_width"` // not 0: the sensor is turned by 45 degrees
	Images      int     `json:"images"`

	Foveon  bool      `json:"foveon"`
	DNG     bool      `json:"dng"`
	Colors  int       `json:"colors"`
	Filters uint32    `json:"filters"` // two bits a filter, 8 rows of 2; 0, 1 and 9 are special
	Letters string    `json:"letters"` // of the colours that filters number
	XTrans  [36]uint8 `json:"xtrans"`  // 6 rows of 6, if Filters says so

	Black     uint32   `json:"black"`
	CellBlack []uint32 `json:"cell_black"` // LibRaw's cblack: by colour, rows, columns, cells
	Maximum   uint32   `json:"maximum"`

	CamMul [4]float64    `json:"cam_mul"`
	PreMul [3]float64    `json:"pre_mul"` // gains for daylight
	RGBCam [3][3]float64 `json:"rgb_cam"` // from balanced camera RGB to linear sRGB
	CamXYZ [4][3]float64 `json:"cam_xyz"` // from XYZ; zeros: unknown
	Sets   [2]dngColour  `json:"sets"`    // of DNG files

	Make, Model, Software, Lens, Artist, Description string

	ISO         float64 `json:"iso"`
	Shutter     float64 `json:"shutter"`
	Aperture    float64 `json:"aperture"`
	FocalLength float64 `json:"focal_length"`
	Timestamp   int64   `json:"timestamp"` // seconds since 1970 of the camera's clock

	Damaged int `json:"damaged"` // places at which LibRaw found broken data
}

// dngColour is one calibration of a DNG file.
type dngColour struct {
	Illuminant  int           `json:"illuminant"`
	Calibration [4][4]float64 `json:"calibration"`
	Color       [4][3]float64 `json:"color"`
	Forward     [3][4]float64 `json:"forward"`
}

// maxPixels bounds the samples that a file of size bytes is believed to hold: a
// sixteenth of a byte each, half of what the shortest Huffman codes take, and some for
// small files.
func maxPixels(size int64) int64 { return 16*size + 1<<19 }

// pixels are the samples that LibRaw makes room for.
func (f *facts) pixels() int64 { return int64(f.RawWidth) * int64(f.RawHeight) }

// largestSide of a photo; LibRaw keeps sides in 16 bits.
const largestSide = math.MaxUint16

func parseFacts(payload []byte, size int64) (*facts, error) {
	f := &facts{}
	if err := json.Unmarshal(payload, f); err != nil {
		return nil, &nonsense{"facts that are no JSON: " + err.Error()}
	}
	return f, f.check(size)
}

// check refuses facts that cannot be.
func (f *facts) check(size int64) error {
	for _, v := range []int{f.RawWidth, f.RawHeight, f.Width, f.Height} {
		if v < 1 || v > largestSide {
			return rawerr.Formatf("libraw", "the image has %dx%d samples, %dx%d of them visible", f.RawWidth, f.RawHeight, f.Width, f.Height)
		}
	}
	if f.pixels() > maxPixels(size) {
		return rawerr.Formatf("libraw", "%dx%d samples cannot be in %d bytes", f.RawWidth, f.RawHeight, size)
	}
	if f.Left < 0 || f.Top < 0 || f.Left > f.RawWidth-f.Width || f.Top > f.RawHeight-f.Height {
		return rawerr.Formatf("libraw", "the visible area of %dx%d at %d, %d is not within the image of %dx%d",
			f.Width, f.Height, f.Left, f.Top, f.RawWidth, f.RawHeight)
	}
	if n := len(f.CellBlack); n > maxCellBlack || n >= 6 && uint64(n) != 6+uint64(f.CellBlack[4])*uint64(f.CellBlack[5]) || n < 6 && n != 4 {
		return &nonsense{fmt.Sprintf("%d black levels", n)}
	}
	for _, c := range f.XTrans {
		if f.Filters == filtersXTrans && c > 3 {
			return &nonsense{fmt.Sprintf("an X-Trans array with a filter of number %d", c)}
		}
	}
	return nil
}

// maxCellBlack is LibRaw's bound.
const maxCellBlack = 4104

// The values of Filters that stand for something else than filters.
const (
	filtersNone   = 0
	filtersLeaf   = 1
	filtersXTrans = 9
)

// pattern is the filter array as seen from the first visible sample. Sensors of
// another kind are refused by name.
func (f *facts) pattern() (p mosaic.Pattern, err error) {
	refuse := func(what, advice string) (mosaic.Pattern, error) {
		return p, &rawerr.UnsupportedError{Feature: what, Advice: advice}
	}
	const original = "only sensors with a filter array of up to 8x8 in rows and columns are read, and monochrome ones"
	rows, cols := 8, 2
	switch {
	case f.Foveon:
		return refuse("Foveon sensor", original)
	case f.FujiWidth != 0:
		return refuse("Fujifilm Super CCD sensor, which is turned by 45 degrees", original)
	case f.Filters == filtersLeaf:
		return refuse("Leaf sensor with a 16x16 filter array", original)
	case f.Filters == filtersNone && f.Colors == 1:
		return mosaic.Mono, nil
	case f.Filters == filtersNone:
		return refuse("RAW file without a mosaic (sRAW, linear or scanned)", "take the camera's full RAW")
	case f.Filters == filtersXTrans:
		rows, cols = 6, 6
	}
	filters := make([]mosaic.Colour, rows*cols)
	for i := range filters {
		if filters[i], err = f.colour(i/cols, i%cols); err != nil {
			return p, err
		}
	}
	if p, err = mosaic.NewPattern(rows, cols, filters); err != nil || p == mosaic.Mono {
		return refuse(fmt.Sprintf("filter array %#x that has not red, green and blue", f.Filters), original)
	}
	return p, nil
}

// index numbers the filter over a visible sample, as in LibRaw's vectors.
func (f *facts) index(row, col int) int {
	switch f.Filters {
	case filtersNone:
		return 0
	case filtersXTrans:
		return int(f.XTrans[row%6*6+col%6])
	}
	return int(f.Filters >> ((row<<1&14 + col&1) << 1) & 3)
}

func (f *facts) colour(row, col int) (mosaic.Colour, error) {
	i := f.index(row, col)
	if i < len(f.Letters) {
		switch f.Letters[i] {
		case 'R':
			return mosaic.Red, nil
		case 'G':
			return mosaic.Green, nil
		case 'B':
			return mosaic.Blue, nil
		}
	}
	return 0, &rawerr.UnsupportedError{Feature: fmt.Sprintf("sensor with filters %q", f.Letters), Advice: "only red, green and blue sensors are read"}
}
