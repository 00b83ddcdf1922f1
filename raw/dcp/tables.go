package dcp

import (
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// Bounds on what a profile may have. Adobe's tables have at most some 5,000 entries, those
// of profiling programs 100,000; curves have at most some hundred points.
const (
	maxEntries = 1 << 20
	maxPoints  = 8192
)

// maxOffset bounds BaselineExposureOffset, in stops either way.
const maxOffset = 20

// Tables reads what a profile in a directory has besides its matrices.
func Tables(d *tiff.IFD) (*mosaic.Profile, error) {
	p := &mosaic.Profile{}
	for tag, dst := range map[uint16]*string{tagName: &p.Name, tagCopyright: &p.Copyright, tagSignature: &p.Signature} {
		v, err := d.Text(tag)
		if err != nil {
			return nil, err
		}
		*dst = v
	}
	var err error
	if p.HueSat1, err = table(d, "ProfileHueSatMapData1", tagHueSatDims, tagHueSat1, tagHueSatEncoding); err != nil {
		return nil, err
	}
	if p.HueSat2, err = table(d, "ProfileHueSatMapData2", tagHueSatDims, tagHueSat2, tagHueSatEncoding); err != nil {
		return nil, err
	}
	if p.Look, err = table(d, "ProfileLookTableData", tagLookDims, tagLook, tagLookEncoding); err != nil {
		return nil, err
	}
	if p.ToneCurve, err = toneCurve(d); err != nil {
		return nil, err
	}
	if d.Has(tagExposureOffset) {
		v, err := numbers(d, tagExposureOffset, "BaselineExposureOffset", 1)
		if err != nil {
			return nil, err
		}
		if p.ExposureOffset = v[0]; !(math.Abs(v[0]) <= maxOffset) {
			return nil, rawerr.Formatf(where, "BaselineExposureOffset is %g stops, more than %d", v[0], maxOffset)
		}
	}
	return p, nil
}

// table reads a table of hue, saturation and value; nil if there is none.
func table(d *tiff.IFD, name string, dims, data, encoding uint16) (*mosaic.HueSatMap, error) {
	if !d.Has(data) {
		return nil, nil
	}
	size, err := d.Uints(dims, 3)
	if err != nil {
		return nil, err
	}
	if len(size) != 3 || size[0] < 1 || size[1] < 2 || size[2] < 1 || max(size[0], size[1], size[2]) > maxEntries {
		return nil, rawerr.Formatf(where, "%s has divisions %v: want hues, at least 2 saturations, and values", name, size)
	}
	entries := size[0] * size[1] // cannot overflow: each is at most maxEntries
	if entries *= size[2]; entries > maxEntries {
		return nil, rawerr.Formatf(where, "%s has %d entries: at most %d are read", name, entries, maxEntries)
	}
	v, err := d.Floats(data, 3*maxEntries)
	if err != nil {
		return nil, err
	}
	if uint64(len(v)) != 3*entries {
		return nil, rawerr.Formatf(where, "%s has %d numbers, want 3 for each of %d entries", name, len(v), entries)
	}
	t := &mosaic.HueSatMap{Hues: int(size[0]), Saturations: int(size[1]), Values: int(size[2]), Deltas: make([][3]float32, entries)}
	for i := range t.Deltas {
		e := v[3*i:][:3]
		if !(math.Abs(e[0]) <= 360 && e[1] >= 0 && e[1] <= 1e3 && e[2] >= 0 && e[2] <= 1e3) { // false for NaN too
			return nil, rawerr.Formatf(where, "entry %d of %s, %v, is no shift in degrees and two factors", i, name, e)
		}
		t.Deltas[i] = [3]float32{float32(e[0]), float32(e[1]), float32(e[2])}
	}
	code, err := d.Uint(encoding, 0)
	if err != nil {
		return nil, err
	}
	if code > 1 {
		return nil, rawerr.Formatf(where, "%s has values of encoding %d: 0 (linear) and 1 (sRGB) are known", name, code)
	}
	t.SRGBValues = code == 1
	return t, nil
}

// toneCurve reads the points of ProfileToneCurve; nil if there is none.
func toneCurve(d *tiff.IFD) ([][2]float64, error) {
	if !d.Has(tagToneCurve) {
		return nil, nil
	}
	v, err := numbers(d, tagToneCurve, "ProfileToneCurve", 2*maxPoints)
	if err != nil {
		return nil, err
	}
	if len(v)%2 != 0 || len(v) < 4 {
		return nil, rawerr.Formatf(where, "ProfileToneCurve has %d numbers, want two for each of at least 2 points", len(v))
	}
	points := make([][2]float64, len(v)/2)
	for i := range points {
		points[i] = [2]float64(v[2*i:])
		if x, y := points[i][0], points[i][1]; x < 0 || x > 1 || y < 0 || y > 1 || i > 0 && !(x > points[i-1][0]) {
			return nil, rawerr.Formatf(where, "point %d of ProfileToneCurve, %v, is not within 0 to 1 or does not follow the one before", i, points[i])
		}
	}
	if points[0] != [2]float64{} || points[len(points)-1] != [2]float64{1, 1} {
		return nil, rawerr.Formatf(where, "ProfileToneCurve goes from %v to %v, and must from (0, 0) to (1, 1)", points[0], points[len(points)-1])
	}
	return points, nil
}
