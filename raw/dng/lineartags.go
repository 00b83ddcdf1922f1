package dng

import (
	"slices"
	"strings"

	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// directories makes the head with what is known of the tiles and the preview.
func (d *LinearWriter) directories(preview int64, size int) []byte {
	s := &d.spec
	first, raw := d.newDir(), d.newDir()
	d.camera(first)
	d.preview(first, preview, size)
	d.image(raw)
	first.Dirs(tiff.TagSubIFDs, raw)
	for tag, values := range map[uint16][]tiff.Value{tiff.TagExifIFD: s.Directories.Exif.Values(), tiff.TagGPSIFD: s.Directories.GPS.Values()} {
		if len(values) == 0 {
			continue
		}
		sub := d.newDir()
		for _, v := range values {
			sub.Add(v)
		}
		first.Dirs(tag, sub)
	}
	head := first.EncodeFile()
	return append(head, make([]byte, len(head)%2)...)
}

func (d *LinearWriter) newDir() *tiff.Dir { return tiff.NewDir(d.spec.Directories.Order, d.file.big) }

// camera writes what belongs to the photo and its camera.
func (d *LinearWriter) camera(first *tiff.Dir) {
	s := &d.spec
	version, backward := s.versions(d.file.big)
	facts := Spec{Version: version, Meta: s.Meta}
	facts.Meta.AsShotWhiteXY, facts.Meta.NoiseProfile = nil, nil // the neutral is written, and the profile beside the image
	facts.Meta.IlluminantXY = [2]*[2]float64{}
	facts.Meta.UniqueModel, facts.Meta.CalibrationSignature, facts.Meta.Profile = "", "", nil // among what is carried
	facts.writeCamera(first)
	first.Bytes(tagDNGBackwardVersion, backward[:]...)
	first.Text(tagUniqueCameraModel, s.uniqueModel())
	for _, v := range s.Directories.First.Values() {
		if slices.Contains(keptFirst, v.Tag) {
			first.Add(v)
		}
	}
	if s.Carried.Order == s.Directories.Order {
		for _, v := range s.Carried.Tags {
			first.Add(v)
		}
	}
	if s.Software != "" {
		first.Text(tagSoftware, s.Software)
	}
	if len(s.XMP) > 0 {
		first.Bytes(tagXMP, s.XMP...)
	}
}

// uniqueModel is the camera's name as the specification asks for it where the photo's
// file does not give one.
func (s *LinearSpec) uniqueModel() string {
	name := s.Meta.Model
	if !strings.HasPrefix(strings.ToLower(name), strings.ToLower(s.Meta.Make)) {
		name = s.Meta.Make + " " + name
	}
	if strings.TrimSpace(name) == "" {
		return "Unknown camera"
	}
	return name
}

// versions are of the specification that the file follows, and that a reader must know.
func (s *LinearSpec) versions(big bool) (version, backward [4]byte) {
	version, backward = [4]byte{1, 4}, [4]byte{1, 3}
	if big {
		version, backward = [4]byte{1, 7}, [4]byte{1, 7}
	}
	later := func(a, b [4]byte) [4]byte {
		if slices.Compare(a[:], b[:]) > 0 {
			return a
		}
		return b
	}
	for _, op := range s.Opcodes {
		version = later(op.Version, version)
		if !op.Optional {
			backward = later(op.Version, backward)
		}
	}
	return version, backward
}

// preview writes the shape of the first directory's image.
func (d *LinearWriter) preview(first *tiff.Dir, at int64, size int) {
	s := &d.spec
	first.Longs(tagNewSubfileType, 1)
	first.Longs(tagImageWidth, uint32(s.PreviewWidth))
	first.Longs(tagImageLength, uint32(s.PreviewHeight))
	first.Shorts(tagBitsPerSample, 8, 8, 8)
	first.Shorts(tagCompression, compLosslessJPEG) // JPEG of any kind
	first.Shorts(tagPhotometric, photoYCbCr)
	first.Shorts(tagSamplesPerPixel, 3)
	first.Shorts(tagPlanarConfiguration, 1)
	first.Longs(tagRowsPerStrip, uint32(s.PreviewHeight))
	d.places(first, tagStripOffsets, []uint64{uint64(at)})
	first.Longs(tagStripByteCounts, uint32(size))
	first.Shorts(tagYCbCrSubSampling, 2, 2)
	first.Shorts(tagYCbCrPositioning, 1)
	first.Text(tagPreviewApplication, "enhance")
	first.Longs(tagPreviewColorSpace, previewSRGB)
}

// image writes the image's shape, its levels and what is to be done to it.
func (d *LinearWriter) image(raw *tiff.Dir) {
	s := &d.spec
	all := func(v uint16) []uint16 { return slices.Repeat([]uint16{v}, s.Planes) }
	raw.Longs(tagNewSubfileType, 0)
	raw.Longs(tagImageWidth, uint32(s.Width))
	raw.Longs(tagImageLength, uint32(s.Height))
	raw.Shorts(tagBitsPerSample, all(16)...)
	raw.Shorts(tagCompression, compLosslessJPEG)
	raw.Shorts(tagPhotometric, photoLinearRaw)
	raw.Shorts(tagSamplesPerPixel, uint16(s.Planes))
	raw.Shorts(tagPlanarConfiguration, 1)
	raw.Longs(tagTileWidth, LinearTile)
	raw.Longs(tagTileLength, LinearTile)
	d.places(raw, tagTileOffsets, d.file.offsets)
	d.places(raw, tagTileByteCounts, d.file.sizes)
	raw.Shorts(tagBlackLevelRepeatDim, 1, 1)
	raw.Shorts(tagBlackLevel, all(0)...)
	raw.Shorts(tagWhiteLevel, all(LinearWhite)...)
	scale := s.Meta.PixelAspect
	if scale == 0 {
		scale = 1
	}
	raw.URationals(tagDefaultScale, scale, 1)
	c := s.Meta.Crop
	raw.Longs(tagDefaultCropOrigin, uint32(c.X0), uint32(c.Y0))
	raw.Longs(tagDefaultCropSize, uint32(c.Width()), uint32(c.Height()))
	raw.Longs(tagActiveArea, 0, 0, uint32(s.Height), uint32(s.Width))
	if s.NoiseReduction != nil {
		raw.URationals(tagNoiseReduction, *s.NoiseReduction)
	}
	if n := s.Meta.NoiseProfile; n != nil {
		var pairs []float64
		for _, p := range n[:s.Planes] {
			pairs = append(pairs, p[0], p[1])
		}
		raw.Doubles(tagNoiseProfile, pairs...)
	}
	if len(s.Opcodes) > 0 {
		b := opcode.Encode(s.Opcodes)
		raw.Raw(tagOpcodeList3, tiff.Undefined, len(b), b)
	}
}

// places sets a tag to offsets or sizes, of as many bytes each as the file's offsets.
func (d *LinearWriter) places(dir *tiff.Dir, tag uint16, v []uint64) {
	if d.file.big {
		dir.Long8s(tag, v...)
		return
	}
	small := make([]uint32, len(v))
	for i, x := range v {
		small[i] = uint32(x)
	}
	dir.Longs(tag, small...)
}
