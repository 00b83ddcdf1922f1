package dcp

import (
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// Encode returns the .dcp file of a profile, for tests and for tools that make profiles.
func Encode(p *mosaic.Profile, order tiff.Order) []byte {
	d := tiff.NewDir(order, false)
	if p.Camera != "" {
		d.Text(tagUniqueCameraModel, p.Camera)
	}
	for tag, m := range map[uint16]*[3][3]float64{tagColorMatrix1: p.ColorMatrix1, tagColorMatrix2: p.ColorMatrix2,
		tagForwardMatrix1: p.ForwardMatrix1, tagForwardMatrix2: p.ForwardMatrix2} {
		if m != nil {
			d.Rationals(tag, m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2])
		}
	}
	for tag, v := range map[uint16]int{tagIlluminant1: p.Illuminant1, tagIlluminant2: p.Illuminant2} {
		if v != 0 {
			d.Shorts(tag, uint16(v))
		}
	}
	PutIlluminants(d, order, p.IlluminantXY)
	PutTables(d, order, p)
	b := d.EncodeFile()
	order.PutUint16(b[2:], 0x4352)
	return b
}

// PutIlluminants adds to a directory what IlluminantXY reads.
func PutIlluminants(d *tiff.Dir, order tiff.Order, xy [2]*[2]float64) {
	for i, v := range xy {
		if v == nil {
			continue
		}
		b := order.AppendUint16(nil, 0)
		for _, x := range v {
			b = order.AppendUint32(b, uint32(math.Round(1e6*x)))
			b = order.AppendUint32(b, 1e6)
		}
		d.Raw(tagIlluminantData1+uint16(i), tiff.Undefined, len(b), b)
	}
}

// PutTables adds to a directory what Tables reads.
func PutTables(d *tiff.Dir, order tiff.Order, p *mosaic.Profile) {
	for tag, text := range map[uint16]string{tagName: p.Name, tagCopyright: p.Copyright, tagSignature: p.Signature} {
		if text != "" {
			d.Text(tag, text)
		}
	}
	put := func(t *mosaic.HueSatMap, dims, data, encoding uint16) {
		if t == nil {
			return
		}
		d.Longs(dims, uint32(t.Hues), uint32(t.Saturations), uint32(t.Values))
		var v []float32
		for _, e := range t.Deltas {
			v = append(v, e[:]...)
		}
		floats(d, order, data, v)
		if t.SRGBValues {
			d.Longs(encoding, 1)
		}
	}
	put(p.HueSat1, tagHueSatDims, tagHueSat1, tagHueSatEncoding)
	put(p.HueSat2, tagHueSatDims, tagHueSat2, tagHueSatEncoding)
	put(p.Look, tagLookDims, tagLook, tagLookEncoding)
	if p.ToneCurve != nil {
		var v []float32
		for _, point := range p.ToneCurve {
			v = append(v, float32(point[0]), float32(point[1]))
		}
		floats(d, order, tagToneCurve, v)
	}
	if p.ExposureOffset != 0 {
		d.Rationals(tagExposureOffset, p.ExposureOffset)
	}
}

func floats(d *tiff.Dir, order tiff.Order, tag uint16, v []float32) {
	var b []byte
	for _, x := range v {
		b = order.AppendUint32(b, math.Float32bits(x))
	}
	d.Raw(tag, tiff.Float, len(v), b)
}
