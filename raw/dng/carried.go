package dng

import "enhance/raw/tiff"

// Carried are tags of a DNG file that say something of the camera, its colour profile or
// the photo, and that nothing here reads: a linear DNG file made of it repeats them.
type Carried struct {
	Order tiff.Order   // of their bytes; nil if there are none
	Tags  []tiff.Value // for the first directory
}

// carriedTags: names and numbers of the camera, signatures, the embedded profile's tables
// and texts, IPTC.
var carriedTags = []uint16{
	33723,                       // IPTC
	tagUniqueCameraModel, 50709, // LocalizedCameraModel
	50732, 50734, 50735, tagLensInfo, // BaselineSharpness, LinearResponseLimit, CameraSerialNumber
	50827,                      // OriginalRawFileName
	50931, 50932, 50934, 50936, // signatures of calibration and profile, AsShotProfileName, ProfileName
	50937, 50938, 50939, 50940, // ProfileHueSatMapDims, ...Data1, ...Data2, ProfileToneCurve
	50941, 50942, // ProfileEmbedPolicy, ProfileCopyright
	50981, 50982, // ProfileLookTableDims, ...Data
	51107, 51108, 51109, 51110, // encodings of the tables, BaselineExposureOffset, DefaultBlackRender
	52533, 52534, // IlluminantData1, ...2
}

// Colours are those without which the image's colours would be others.
func (c Carried) Colours() Carried {
	out := Carried{Order: c.Order}
	for _, v := range c.Tags {
		switch v.Tag {
		case 33723, 50735, 50827, tagLensInfo: // IPTC, CameraSerialNumber, OriginalRawFileName
		default:
			out.Tags = append(out.Tags, v)
		}
	}
	return out
}

// Limits on what is carried: a look table of 36x32x32 entries has 442,368 bytes.
const (
	maxCarried    = 1 << 20
	maxCarriedAll = 4 << 20
)

// carry reads what a linear DNG file of the image repeats.
func (s *source) carry(im *Image, _ *layout) error {
	if !s.isDNG() {
		return nil
	}
	c, x := &im.Carried, exifCopier{s: s}
	c.Order = s.file.Order()
	total := int64(0)
	for _, tag := range carriedTags {
		d := s.owner(tag)
		e, ok := d.Find(tag)
		n := e.Count * e.Type.Size()
		if !ok || n < 1 || n > maxCarried || total+n > maxCarriedAll || e.Type > tiff.Double {
			continue
		}
		b, err := d.Data(e)
		if x.failed(err) {
			continue
		}
		total += n
		c.Tags = append(c.Tags, tiff.Value{Tag: tag, Type: e.Type, Count: int(e.Count), Data: b})
	}
	return x.err
}
