package dng

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

func readAll(im *Image) ([]uint16, error) {
	out := make([]uint16, im.Meta.Width*im.Meta.Height)
	return out, im.ReadRows(0, im.Meta.Height, out)
}

func TestVariants(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			im, err := openBytes(write(t, v.spec))
			if err != nil {
				t.Fatal(err)
			}
			if im.Meta.BitDepth != v.spec.Bits || im.Meta.CFA != mosaic.RGGB {
				t.Errorf("%d bits, CFA %v", im.Meta.BitDepth, im.Meta.CFA)
			}
			checkRows(t, im, v.spec.Samples)
		})
	}
}

// TestStreaming forces the row by row decoding that large chunks get.
func TestStreaming(t *testing.T) {
	for _, v := range variants() {
		if v.spec.JPEG == nil {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			im, err := openBytes(write(t, v.spec))
			if err != nil {
				t.Fatal(err)
			}
			im.rows.(*jpegRows).whole = false
			checkRows(t, im, v.spec.Samples)
		})
	}
}

// checkRows reads the image whole, in strips with a halo, upwards, and here and
// there.
func checkRows(t *testing.T, im *Image, want []uint16) {
	t.Helper()
	w, h := im.Meta.Width, im.Meta.Height
	read := func(y, n int) {
		t.Helper()
		dst := make([]uint16, n*w)
		if err := im.ReadRows(y, n, dst); err != nil {
			t.Fatalf("rows %d to %d: %v", y, y+n, err)
		}
		if !slices.Equal(dst, want[y*w:][:n*w]) {
			t.Fatalf("rows %d to %d differ", y, y+n)
		}
	}
	read(0, h)
	for y := 0; y < h; y += 4 {
		top, bottom := max(0, y-3), min(h, y+7)
		read(top, bottom-top)
	}
	for y := h - 1; y >= 0; y-- {
		read(y, 1)
	}
	for _, y := range []int{h / 2, 0, h - 1, h / 3} {
		read(y, 1)
	}
}

// TestLongStream goes back and forth past several checkpoints.
func TestLongStream(t *testing.T) {
	s := spec(8, 700, 14)
	s.JPEG = &JPEG{Components: 2, Predictor: 4}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	im.rows.(*jpegRows).whole = false
	dst := make([]uint16, 8*50)
	for _, y := range []int{600, 10, 640, 64, 63, 128, 0, 650, 300} {
		if err := im.ReadRows(y, 50, dst); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(dst, s.Samples[y*8:][:len(dst)]) {
			t.Fatalf("rows from %d differ", y)
		}
	}
}

// TestMeta writes every fact and expects all of them back.
func TestMeta(t *testing.T) {
	want := mosaic.Meta{
		Make: "Maker", Model: "Model 1", Software: "soft", DateTime: "2024:01:02 03:04:05",
		Crop: mosaic.Rect{X0: 1, Y0: 2, X1: 13, Y1: 9}, Orientation: 6, CFA: mosaic.GBRG,
		BlackRows: 2, BlackCols: 2, Black: []float32{100, 101.5, 102, 103},
		White:         [3]float32{4000, 4000, 4000},
		AsShot:        &[3]float64{0.5, 1, 0.625},
		AnalogBalance: [3]float64{1.5, 1, 1.25}, BaselineExposure: -0.5,
		ColorMatrix1:       &[3][3]float64{{1, 2, 3}, {4, 5, -6}, {7, 8, 9}},
		ColorMatrix2:       &[3][3]float64{{1.5, 2, 3}, {4, 5, -6}, {7, 8, 9}},
		ForwardMatrix1:     &[3][3]float64{{0.25, 2, 3}, {4, 5, -6}, {7, 8, 9}},
		ForwardMatrix2:     &[3][3]float64{{0.125, 2, 3}, {4, 5, -6}, {7, 8, 9}},
		CameraCalibration1: &[3][3]float64{{1, 0, 0}, {0, 1.5, 0}, {0, 0, 2}},
		CameraCalibration2: &[3][3]float64{{1, 0, 0.5}, {0, 1, 0}, {0, 0, 2}},
		Illuminant1:        17, Illuminant2: 21,
		UniqueModel: "Maker One", CalibrationSignature: "signed",
		IlluminantXY: [2]*[2]float64{{0.4375, 0.40625}, nil},
		Profile:      &mosaic.Profile{Signature: "signed", ExposureOffset: 0.5},
		NoiseProfile: &[3][2]float64{{1e-4, 2e-7}, {2e-4, 3e-7}, {3e-4, 0}},
		BlackDeltaH:  make([]float32, 15), BlackDeltaV: make([]float32, 10),
	}
	for i := range want.BlackDeltaH {
		want.BlackDeltaH[i] = float32(i) / 4
	}
	want.BlackDeltaV[3] = -2.5
	for _, sub := range []bool{false, true} {
		s := spec(20, 14, 12)
		s.Meta, s.ActiveArea, s.InSubIFD = want, mosaic.Rect{X0: 3, Y0: 2, X1: 18, Y1: 12}, sub
		im, err := openBytes(write(t, s))
		if err != nil {
			t.Fatal(err)
		}
		exp := want
		exp.Calibrations = [2]*[3][3]float64{want.CameraCalibration1, want.CameraCalibration2}
		exp.Width, exp.Height, exp.BitDepth, exp.Format = 15, 10, 12, "DNG 1.4, uncompressed 12-bit"
		got := im.Meta
		got.Exif = nil
		if !reflect.DeepEqual(got, exp) {
			t.Errorf("SubIFD %v: got\n%+v\nwant\n%+v", sub, got, exp)
		}
		var active []uint16
		for y := 2; y < 12; y++ {
			active = append(active, s.Samples[y*20+3:][:15]...)
		}
		checkRows(t, im, active)
	}
}

func TestAsShotWhiteXY(t *testing.T) {
	s := spec(4, 4, 12)
	s.Meta.AsShotWhiteXY = &[2]float64{0.3127, 0.329}
	// The camera sees linear sRGB: D65 is neutral (IEC 61966-2-1, XYZ to RGB).
	s.Meta.ColorMatrix1 = &[3][3]float64{{3.2406, -1.5372, -0.4986}, {-0.9689, 1.8758, 0.0415}, {0.0557, -0.2040, 1.0570}}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	n := im.Meta.AsShot
	if n == nil {
		t.Fatal("no neutral")
	}
	for c := range n {
		if n[c] < 0.999 || n[c] > 1.001 {
			t.Errorf("neutral %v, want ones", *n)
		}
	}
}

func TestPlaneOrder(t *testing.T) {
	s := spec(4, 4, 12)
	s.Meta.AsShot = &[3]float64{1, 2, 3}
	s.Meta.ColorMatrix1 = &[3][3]float64{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}
	s.Edit = func(_, raw *tiff.Dir) { raw.Bytes(tagCFAPlaneColor, 2, 1, 0) } // blue first
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if *im.Meta.AsShot != [3]float64{3, 2, 1} || im.Meta.ColorMatrix1[0] != [3]float64{7, 8, 9} {
		t.Errorf("neutral %v, matrix %v", *im.Meta.AsShot, *im.Meta.ColorMatrix1)
	}
}

func TestNoiseProfile(t *testing.T) {
	nan := math.NaN()
	one := [2]float64{1e-3, 1e-6}
	for name, c := range map[string]struct {
		values []float64
		want   *[3][2]float64
	}{
		"one for all":     {[]float64{1e-3, 1e-6}, &[3][2]float64{one, one, one}},
		"one a plane":     {[]float64{3, 3e-6, 2, 2e-6, 1, 1e-6}, nil}, // scales above 1 cannot be
		"plane order":     {[]float64{.3, 3e-6, .2, 2e-6, .1, 0}, &[3][2]float64{{.1, 0}, {.2, 2e-6}, {.3, 3e-6}}},
		"no shot noise":   {[]float64{0, 1e-6}, &[3][2]float64{{0, 1e-6}, {0, 1e-6}, {0, 1e-6}}},
		"no noise at all": {[]float64{0, 0}, nil},
		"negative":        {[]float64{-1e-3, 1e-6}, nil},
		"NaN":             {[]float64{1e-3, nan}, nil},
		"three":           {[]float64{1e-3, 1e-6, 1e-3}, nil},
		"four planes":     {[]float64{1e-3, 0, 1e-3, 0, 1e-3, 0, 1e-3, 0}, nil},
	} {
		s := spec(4, 4, 12)
		s.Edit = func(first, raw *tiff.Dir) {
			first.Doubles(tagNoiseProfile, c.values...)
			raw.Bytes(tagCFAPlaneColor, 2, 1, 0) // blue first
		}
		im, err := openBytes(write(t, s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(im.Meta.NoiseProfile, c.want) {
			t.Errorf("%s: %v, want %v", name, im.Meta.NoiseProfile, c.want)
		}
		if (c.want == nil) != (len(im.Meta.Warnings) == 1) {
			t.Errorf("%s: warnings %q", name, im.Meta.Warnings)
		}
	}
}

func TestLinearization(t *testing.T) {
	s := spec(9, 5, 8)
	for i := range 100 {
		s.Linearization = append(s.Linearization, uint16(i*i))
	}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]uint16, len(s.Samples))
	for i, v := range s.Samples {
		v = min(v, 99)
		want[i] = v * v
	}
	checkRows(t, im, want)
}

func TestPointTransform(t *testing.T) {
	s := spec(8, 6, 12)
	s.JPEG = &JPEG{PointTransform: 2}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Samples {
		s.Samples[i] = v &^ 3
	}
	checkRows(t, im, s.Samples)
}

// TestUnsupported edits a good file into one that is refused by name.
func TestUnsupported(t *testing.T) {
	for _, c := range []struct {
		want string
		edit func(d *tiff.Dir)
	}{
		{"CFA pattern of 16x16", func(d *tiff.Dir) { d.Shorts(tagCFARepeatPatternDim, 16, 16) }},
		{"JPEG XL", func(d *tiff.Dir) { d.Shorts(tagCompression, 52546) }},
		{"VC-5", func(d *tiff.Dir) { d.Shorts(tagCompression, 9) }},
		{"predictor 7", func(d *tiff.Dir) { d.Shorts(tagCompression, 8); d.Shorts(tagPredictor, 7) }},
		{"without 3 samples a pixel", func(d *tiff.Dir) { d.Shorts(tagPhotometric, 34892); d.Shorts(tagSamplesPerPixel, 4) }},
		{"PlanarConfiguration 2", func(d *tiff.Dir) {
			d.Shorts(tagPhotometric, 34892)
			d.Shorts(tagSamplesPerPixel, 3)
			d.Shorts(tagPlanarConfiguration, 2)
		}},
		{"8-bit floating-point", func(d *tiff.Dir) { d.Shorts(tagBitsPerSample, 8); d.Shorts(tagSampleFormat, 3) }},
		{"sample format 2", func(d *tiff.Dir) { d.Shorts(tagSampleFormat, 2) }},
		{"not a mosaic", func(d *tiff.Dir) { d.Shorts(tagPhotometric, 2) }},
		{"filter colour", func(d *tiff.Dir) { d.Bytes(tagCFAPattern, 3, 1, 1, 2) }},
		{"two colours", func(d *tiff.Dir) { d.Bytes(tagCFAPattern, 0, 0, 1, 1) }},
		{"staggered", func(d *tiff.Dir) { d.Shorts(tagCFALayout, 2) }},
		{"interleaved rows", func(d *tiff.Dir) { d.Shorts(tagRowInterleave, 2) }},
		{"without 1 samples a pixel", func(d *tiff.Dir) { d.Shorts(tagSamplesPerPixel, 3) }},
		{"32-bit", func(d *tiff.Dir) { d.Shorts(tagBitsPerSample, 32) }},
		{"version 2.0", func(d *tiff.Dir) { d.Bytes(tagDNGBackwardVersion, 2, 0, 0, 0) }},
	} {
		s := spec(8, 8, 16)
		s.Edit = func(_, raw *tiff.Dir) { c.edit(raw) }
		_, err := openBytes(write(t, s))
		var ue *rawerr.UnsupportedError
		if !errors.As(err, &ue) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// TestProfile: the file's own profile is read, a damaged one left out with a warning, and
// calibrations are used only with the profile that they are signed for.
func TestProfile(t *testing.T) {
	table := &mosaic.HueSatMap{Hues: 2, Saturations: 2, Values: 1, Deltas: [][3]float32{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}}}
	s := spec(4, 4, 12)
	s.Meta.UniqueModel, s.Meta.CalibrationSignature = "Maker Model", "com.maker"
	s.Meta.CameraCalibration1 = &[3][3]float64{{1, 0, 0}, {0, 1.5, 0}, {0, 0, 1}}
	s.Meta.Profile = &mosaic.Profile{Name: "Plain", Signature: "com.maker", HueSat1: table, ToneCurve: [][2]float64{{0, 0}, {1, 1}}, ExposureOffset: 0.5}
	im, err := openBytes(write(t, s))
	if err != nil {
		t.Fatal(err)
	}
	m := &im.Meta
	if !reflect.DeepEqual(m.Profile, s.Meta.Profile) || m.UniqueModel != "Maker Model" || m.CameraCalibration1 == nil || m.Warnings != nil {
		t.Errorf("profile %+v of %q, calibration %v, warnings %q", m.Profile, m.UniqueModel, m.CameraCalibration1, m.Warnings)
	}
	s.Meta.Profile.Signature = "com.other"
	if im, err = openBytes(write(t, s)); err != nil {
		t.Fatal(err)
	}
	if m = &im.Meta; m.CameraCalibration1 != nil || m.Calibrations[0] == nil || len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "com.other") {
		t.Errorf("calibration %v of %v, warnings %q", m.CameraCalibration1, m.Calibrations, m.Warnings)
	}
	table.Deltas[2][0] = 1000
	if im, err = openBytes(write(t, s)); err != nil {
		t.Fatal(err)
	}
	if m = &im.Meta; m.Profile != nil || len(m.Warnings) != 2 || !strings.Contains(m.Warnings[0], "damaged") {
		t.Errorf("profile %+v, warnings %q", m.Profile, m.Warnings)
	}
}

// TestFourColours: matrices of a fourth colour are refused by name.
func TestFourColours(t *testing.T) {
	s := spec(4, 4, 12)
	s.Edit = func(first, _ *tiff.Dir) { first.Rationals(tagColorMatrix1, make([]float64, 12)...) }
	_, err := openBytes(write(t, s))
	var unsupported *rawerr.UnsupportedError
	if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "sensor of 4 colours") || !strings.Contains(err.Error(), "ReductionMatrix") {
		t.Errorf("%v", err)
	}
}
