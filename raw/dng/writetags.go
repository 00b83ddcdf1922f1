package dng

import (
	"math"

	"enhance/raw/dcp"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// preview makes first the directory of a reduced image. Its one sample lies in
// the header, where any byte will do.
func (s *Spec) preview(first *tiff.Dir) {
	first.Longs(tagNewSubfileType, 1)
	first.Longs(tagImageWidth, 1)
	first.Longs(tagImageLength, 1)
	first.Shorts(tagBitsPerSample, 8)
	first.Shorts(tagCompression, compNone)
	first.Shorts(tagPhotometric, photoBlackIsZero)
	first.Longs(tagStripOffsets, 0)
	first.Longs(tagStripByteCounts, 1)
}

// writeCamera writes what belongs into the first directory.
func (s *Spec) writeCamera(d *tiff.Dir) {
	m := &s.Meta
	d.Bytes(tagDNGVersion, s.Version[:]...)
	d.Bytes(tagDNGBackwardVersion, s.Version[0], min(s.Version[1], 4), 0, 0)
	for tag, v := range map[uint16]string{tagMake: m.Make, tagModel: m.Model, tagUniqueCameraModel: m.Model,
		tagSoftware: m.Software, tagDateTime: m.DateTime} {
		if v != "" {
			d.Text(tag, v)
		}
	}
	if m.Orientation != 0 {
		d.Shorts(tagOrientation, uint16(m.Orientation))
	}
	for tag, v := range map[uint16]*[3][3]float64{
		tagColorMatrix1: m.ColorMatrix1, tagColorMatrix2: m.ColorMatrix2,
		tagCameraCalibration1: m.CameraCalibration1, tagCameraCalibration2: m.CameraCalibration2,
		tagForwardMatrix1: m.ForwardMatrix1, tagForwardMatrix2: m.ForwardMatrix2} {
		if v != nil {
			d.Rationals(tag, v[0][0], v[0][1], v[0][2], v[1][0], v[1][1], v[1][2], v[2][0], v[2][1], v[2][2])
		}
	}
	if m.Illuminant1 != 0 {
		d.Shorts(tagIlluminant1, uint16(m.Illuminant1))
	}
	if m.Illuminant2 != 0 {
		d.Shorts(tagIlluminant2, uint16(m.Illuminant2))
	}
	if m.AnalogBalance != [3]float64{} {
		d.URationals(tagAnalogBalance, m.AnalogBalance[:]...)
	}
	if m.AsShotWhiteXY != nil {
		d.URationals(tagAsShotWhiteXY, m.AsShotWhiteXY[:]...)
	} else if m.AsShot != nil {
		d.URationals(tagAsShotNeutral, m.AsShot[:]...)
	}
	if m.BaselineExposure != 0 {
		d.Rationals(tagBaselineExposure, m.BaselineExposure)
	}
	if m.UniqueModel != "" {
		d.Text(tagUniqueCameraModel, m.UniqueModel)
	}
	if m.CalibrationSignature != "" {
		d.Text(tagCalibrationSignature, m.CalibrationSignature)
	}
	dcp.PutIlluminants(d, s.Order, m.IlluminantXY)
	if m.Profile != nil {
		dcp.PutTables(d, s.Order, m.Profile)
	}
	if n := m.NoiseProfile; n != nil {
		d.Doubles(tagNoiseProfile, n[0][0], n[0][1], n[1][0], n[1][1], n[2][0], n[2][1])
	}
}

// writeOpcodes writes the opcode lists.
func (s *Spec) writeOpcodes(d *tiff.Dir) {
	for i, list := range s.Opcodes {
		if len(list) > 0 {
			b := opcode.Encode(list)
			d.Raw(opcodeTags[i], tiff.Undefined, len(b), b)
		}
	}
}

// writeImage writes the mosaic's shape.
func (s *Spec) writeImage(d *tiff.Dir) {
	d.Longs(tagNewSubfileType, 0)
	d.Longs(tagImageWidth, uint32(s.Width))
	d.Longs(tagImageLength, uint32(s.Height))
	d.Shorts(tagBitsPerSample, uint16(s.Bits))
	d.Shorts(tagSamplesPerPixel, uint16(s.planes()))
	if s.Linear {
		d.Shorts(tagBitsPerSample, uint16(s.Bits), uint16(s.Bits), uint16(s.Bits))
		d.Shorts(tagPhotometric, photoLinearRaw)
	} else if s.Meta.CFA == mosaic.Mono {
		d.Shorts(tagPhotometric, photoLinearRaw)
	} else {
		d.Shorts(tagPhotometric, photoCFA)
		p := s.Meta.CFA
		d.Shorts(tagCFARepeatPatternDim, uint16(p.Rows()), uint16(p.Cols()))
		var filters []byte
		for i := range p.Rows() * p.Cols() {
			filters = append(filters, byte(p.At(i/p.Cols(), i%p.Cols())))
		}
		d.Bytes(tagCFAPattern, filters...)
	}
	if s.Compression != 0 {
		d.Shorts(tagCompression, s.Compression)
	} else {
		d.Shorts(tagCompression, compNone)
	}
	if s.JPEG != nil && s.Compression == 0 {
		d.Shorts(tagCompression, compLosslessJPEG)
	}
	if a := s.ActiveArea; a != (mosaic.Rect{}) {
		d.Longs(tagActiveArea, uint32(a.Y0), uint32(a.X0), uint32(a.Y1), uint32(a.X1))
	}
	if a := s.Meta.PixelAspect; a != 0 {
		d.URationals(tagDefaultScale, a, 1)
	}
	if c := s.Meta.Crop; c != (mosaic.Rect{}) {
		d.Longs(tagDefaultCropOrigin, uint32(c.X0), uint32(c.Y0))
		d.Longs(tagDefaultCropSize, uint32(c.Width()), uint32(c.Height()))
	}
}

func (s *Spec) writeLevels(d *tiff.Dir) {
	m := &s.Meta
	if s.Linearization != nil {
		d.Shorts(tagLinearizationTable, s.Linearization...)
	}
	if m.Black != nil {
		d.Shorts(tagBlackLevelRepeatDim, uint16(m.BlackRows), uint16(m.BlackCols))
		d.URationals(tagBlackLevel, floats64(m.Black)...)
	}
	if m.BlackDeltaH != nil {
		d.Rationals(tagBlackLevelDeltaH, floats64(m.BlackDeltaH)...)
	}
	if m.BlackDeltaV != nil {
		d.Rationals(tagBlackLevelDeltaV, floats64(m.BlackDeltaV)...)
	}
	if m.White[1] != 0 {
		d.Longs(tagWhiteLevel, uint32(math.Round(float64(m.White[1]))))
	}
}

func floats64(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// writeChunks writes where the chunks lie if the first is at offset start and
// the others follow.
func (s *Spec) writeChunks(d *tiff.Dir, start int, chunks [][]byte) {
	offsets, counts := uint16(tagStripOffsets), uint16(tagStripByteCounts)
	if s.TileWidth > 0 {
		offsets, counts = tagTileOffsets, tagTileByteCounts
		d.Longs(tagTileWidth, uint32(s.TileWidth))
		d.Longs(tagTileLength, uint32(s.TileHeight))
	} else {
		d.Longs(tagRowsPerStrip, uint32(s.RowsPerStrip))
	}
	var off, size []uint64
	at := uint64(start)
	for _, c := range chunks {
		off, size = append(off, at), append(size, uint64(len(c)))
		at += uint64(len(c))
	}
	put := func(tag uint16, v []uint64) {
		if s.Big {
			d.Long8s(tag, v...)
			return
		}
		small := make([]uint32, len(v))
		for i, x := range v {
			small[i] = uint32(x)
		}
		d.Longs(tag, small...)
	}
	put(offsets, off)
	put(counts, size)
}
