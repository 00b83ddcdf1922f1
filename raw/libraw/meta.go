package libraw

import (
	"fmt"
	"math/bits"
	"time"

	"enhance/internal/colour"
	"enhance/raw/mosaic"
)

// meta states the facts in the terms of package mosaic.
func (f *facts) meta() (m mosaic.Meta, err error) {
	m = mosaic.Meta{Make: f.Make, Model: f.Model, Software: f.Software, Format: "by LibRaw " + f.Version,
		Width: f.Width, Height: f.Height, Crop: mosaic.Rect{X1: f.Width, Y1: f.Height},
		BitDepth: bits.Len32(f.Maximum), Orientation: f.orientation(), AnalogBalance: [3]float64{1, 1, 1}}
	if m.CFA, err = f.pattern(); err != nil {
		return m, err
	}
	m.SetWhite(float32(f.Maximum))
	if err := f.setBlack(&m); err != nil {
		return m, err
	}
	if f.Timestamp > 0 && f.Timestamp < 1<<33 {
		m.DateTime = time.Unix(f.Timestamp, 0).UTC().Format("2006:01:02 15:04:05")
	}
	f.setColour(&m)
	m.Exif = f.exif(&m)
	f.warn(&m)
	return m, nil
}

// orientation of the eight of Exif: flip has bit 0 for columns in reverse, bit 1 for
// rows in reverse, bit 2 for rows and columns exchanged.
func (f *facts) orientation() int {
	return [8]int{1, 2, 4, 3, 5, 8, 6, 7}[f.Flip&7]
}

// maxCells bounds the repeat pattern of black levels that is kept.
const maxCells = 4096

// setBlack adds LibRaw's three kinds of black level: one of all samples, one of each
// filter, and those of a cell that is repeated over the visible area.
func (f *facts) setBlack(m *mosaic.Meta) error {
	rows, cols := 1, 1
	if len(f.CellBlack) > 6 {
		rows, cols = int(f.CellBlack[4]), int(f.CellBlack[5])
	}
	m.BlackRows, m.BlackCols = commonPeriod(rows, m.CFA.Rows()), commonPeriod(cols, m.CFA.Cols())
	if m.BlackRows*m.BlackCols > maxCells {
		return &nonsense{fmt.Sprintf("black levels of a cell of %dx%d", cols, rows)}
	}
	m.Black = make([]float32, m.BlackRows*m.BlackCols)
	level := func(y, x int) float32 {
		sum := uint64(f.Black) + uint64(f.CellBlack[f.index(y, x)])
		if len(f.CellBlack) > 6 {
			sum += uint64(f.CellBlack[6+y%rows*cols+x%cols])
		}
		return float32(sum)
	}
	same := true
	for i := range m.Black {
		m.Black[i] = level(i/m.BlackCols, i%m.BlackCols)
		same = same && m.Black[i] == m.Black[0]
	}
	if same {
		m.SetBlack(m.Black[0])
	}
	return nil
}

// commonPeriod is the smallest period of what repeats after a and after b.
func commonPeriod(a, b int) int {
	n := a
	for n%b != 0 {
		n += a
	}
	return n
}

// noIlluminant is LibRaw's for a file that names none (LIBRAW_WBI_None).
const noIlluminant = 0xffff

// setColour takes the white balance, and the matrices: those of a DNG file, or LibRaw's
// own of the camera, which is for daylight (D65).
func (f *facts) setColour(m *mosaic.Meta) {
	if c := f.CamMul; c[0] > 0 && c[1] > 0 && c[2] > 0 {
		m.AsShot = &[3]float64{c[1] / c[0], 1, c[1] / c[2]}
	}
	const d65 = 21 // Exif's LightSource
	if !f.DNG {
		if m.ColorMatrix1 = rows(f.CamXYZ[:3]); m.ColorMatrix1 == nil {
			m.ColorMatrix1 = f.fromRGB()
		}
		if m.ColorMatrix1 != nil {
			m.Illuminant1 = d65
		}
		return
	}
	for i, to := range []struct {
		color, forward, calibration **[3][3]float64
		illuminant                  *int
	}{
		{&m.ColorMatrix1, &m.ForwardMatrix1, &m.CameraCalibration1, &m.Illuminant1},
		{&m.ColorMatrix2, &m.ForwardMatrix2, &m.CameraCalibration2, &m.Illuminant2},
	} {
		s := &f.Sets[i]
		if *to.color = rows(s.Color[:3]); *to.color == nil {
			continue
		}
		if s.Illuminant != noIlluminant {
			*to.illuminant = s.Illuminant
		}
		var fw, cal [3][3]float64
		for r := range 3 {
			copy(fw[r][:], s.Forward[r][:3])
			copy(cal[r][:], s.Calibration[r][:3])
		}
		*to.forward, *to.calibration = rows(fw[:]), rows(cal[:])
	}
}

// fromRGB is the matrix from XYZ to the camera's RGB of a camera of which LibRaw knows
// only the way from that, balanced for daylight, to sRGB; nil if it does not know that
// either.
func (f *facts) fromRGB() *[3][3]float64 {
	g := f.PreMul
	if colour.Matrix(f.RGBCam) == colour.Identity() || !(g[0] > 0 && g[1] > 0 && g[2] > 0) {
		return nil
	}
	balanced, err := colour.Inverse(f.RGBCam)
	if err != nil {
		return nil
	}
	fromXYZ, err := colour.Inverse(colour.SRGBToXYZ())
	if err != nil {
		return nil
	}
	m := [3][3]float64(colour.Mul(colour.Diagonal([3]float64{g[1] / g[0], 1, g[1] / g[2]}), colour.Mul(balanced, fromXYZ)))
	return &m
}

// rows is a matrix, nil if it is all zeros, which stand for unknown.
func rows(v [][3]float64) *[3][3]float64 {
	m := [3][3]float64(v)
	if m == ([3][3]float64{}) {
		return nil
	}
	return &m
}

// warn says what of the file is not done.
func (f *facts) warn(m *mosaic.Meta) {
	add := func(format string, args ...any) { m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...)) }
	if f.Damaged > 0 {
		add("LibRaw found damaged data at %d places: parts of the picture may be wrong", f.Damaged)
	}
	if a := f.PixelAspect; a != 0 {
		m.SetPixelAspect(a)
	}
	if f.Images > 1 {
		add("the file holds %d images, of which the first is developed", f.Images)
	}
}
