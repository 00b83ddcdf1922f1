package mosaic

// Rect is a rectangle of samples: columns X0 <= x < X1, rows Y0 <= y < Y1.
type Rect struct{ X0, Y0, X1, Y1 int }

// Width is the number of columns.
func (r Rect) Width() int { return r.X1 - r.X0 }

// Height is the number of rows.
func (r Rect) Height() int { return r.Y1 - r.Y0 }

// CutCrop cuts the crop to the rectangle of w x h samples at x0, y0. It reports
// false, and changes nothing, if that leaves nothing.
func (m *Meta) CutCrop(x0, y0, w, h int) bool {
	c := Rect{max(m.Crop.X0, x0), max(m.Crop.Y0, y0), min(m.Crop.X1, x0+w), min(m.Crop.Y1, y0+h)}
	if c.X0 >= c.X1 || c.Y0 >= c.Y1 {
		return false
	}
	m.Crop = c
	return true
}

// Meta is everything known about a photo besides its samples. All coordinates
// are those of the active area, whose first sample is at row 0, column 0.
type Meta struct {
	Make, Model, Software string
	DateTime              string // "2006:01:02 15:04:05", "" if unknown
	Format                string // for people: "DNG 1.4, lossless JPEG 14-bit"

	Width, Height int     // the active area
	Crop          Rect    // the area meant to be shown; all of it if the file names none
	CFA           Pattern // as seen from (0,0); Mono without filters; not Valid if the file does not say
	Linear        bool    // the photo is demosaiced: it has no CFA, and three samples a pixel
	Warped        bool    // the picture is to be warped: its crop shows samples from beyond it
	BitDepth      int     // bits of a stored sample, before LinearizationTable
	Orientation   int     // Exif/TIFF orientation, 1 to 8: how stored rows and columns are to be shown
	PixelAspect   float64 // the width of a sample in times of its height; 0: they are square

	// Black level: Black[(y mod BlackRows)*BlackCols + x mod BlackCols], plus
	// BlackDeltaV[y] (len Height or nil), plus BlackDeltaH[x] (len Width or nil).
	BlackRows, BlackCols     int
	Black                    []float32
	BlackDeltaH, BlackDeltaV []float32
	White                    [3]float32 // saturation level by Colour
	// WhiteUnsure says that White is not the file's word: the file has none, so that White
	// is what its samples can hold, or it was given.
	WhiteUnsure bool

	// AsShot is the camera's response to a neutral grey (the reciprocal of its
	// white balance gains) by Colour, any scale; nil if unknown. Computed from
	// AsShotWhiteXY where the file gives only that.
	AsShot        *[3]float64
	AsShotWhiteXY *[2]float64 // CIE xy of the scene's white, if the file gives that instead

	AnalogBalance    [3]float64 // gains already applied to the stored samples; ones if not given
	BaselineExposure float64    // stops to add for a normal rendering

	// DNG colour matrices, rows then columns. ColorMatrix: XYZ to camera RGB.
	// ForwardMatrix: white balanced camera RGB to XYZ D50. nil if absent.
	ColorMatrix1, ColorMatrix2             *[3][3]float64
	ForwardMatrix1, ForwardMatrix2         *[3][3]float64
	CameraCalibration1, CameraCalibration2 *[3][3]float64
	Illuminant1, Illuminant2               int // Exif LightSource codes; 0 if unknown
	// IlluminantXY are the CIE x, y of illuminants whose code says only that they are others.
	IlluminantXY [2]*[2]float64
	// Calibrations are this camera's deviations from the reference camera. They go with a
	// profile whose signature is CalibrationSignature, which the file's own may not be:
	// CameraCalibration1 and 2 are nil then.
	Calibrations         [2]*[3][3]float64
	CalibrationSignature string

	// UniqueModel is the camera's name that profiles go by; "" if the file has none.
	UniqueModel string
	// Profile is the rest of the file's camera profile; nil if it has no more than matrices.
	Profile *Profile

	// NoiseProfile has, by Colour, S and O of the noise's variance S·x + O, x being
	// a sample brought to 0 at black and 1 at white; nil if the file does not say.
	NoiseProfile *[3][2]float64

	// Exif is a TIFF-structured Exif block, to be embedded in PNG eXIf or, after
	// "Exif\0\0", in JPEG APP1. Orientation in it is 1 because pixels are
	// expected to be rotated by then. nil if the file has nothing worth keeping.
	Exif []byte

	// XMP is the file's XMP packet, as it stands there; nil if it has none.
	XMP []byte

	// Warnings says in full sentences what of the file was ignored or repaired.
	Warnings []string
}
