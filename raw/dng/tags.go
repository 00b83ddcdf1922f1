package dng

import "fmt"

// Tags of TIFF 6.0, TIFF/EP and DNG that are read or written here.
const (
	tagNewSubfileType       = 254
	tagImageWidth           = 256
	tagImageLength          = 257
	tagBitsPerSample        = 258
	tagCompression          = 259
	tagPhotometric          = 262
	tagFillOrder            = 266
	tagMake                 = 271
	tagModel                = 272
	tagStripOffsets         = 273
	tagOrientation          = 274
	tagSamplesPerPixel      = 277
	tagRowsPerStrip         = 278
	tagStripByteCounts      = 279
	tagPlanarConfiguration  = 284
	tagSoftware             = 305
	tagDateTime             = 306
	tagArtist               = 315
	tagTileWidth            = 322
	tagTileLength           = 323
	tagTileOffsets          = 324
	tagTileByteCounts       = 325
	tagYCbCrSubSampling     = 530
	tagYCbCrPositioning     = 531
	tagXMP                  = 700
	tagPredictor            = 317
	tagSampleFormat         = 339
	tagCFARepeatPatternDim  = 33421
	tagCFAPattern           = 33422
	tagCopyright            = 33432
	tagDNGVersion           = 50706
	tagDNGBackwardVersion   = 50707
	tagUniqueCameraModel    = 50708
	tagCFAPlaneColor        = 50710
	tagCFALayout            = 50711
	tagLinearizationTable   = 50712
	tagBlackLevelRepeatDim  = 50713
	tagBlackLevel           = 50714
	tagBlackLevelDeltaH     = 50715
	tagBlackLevelDeltaV     = 50716
	tagWhiteLevel           = 50717
	tagDefaultScale         = 50718
	tagDefaultCropOrigin    = 50719
	tagDefaultCropSize      = 50720
	tagColorMatrix1         = 50721
	tagColorMatrix2         = 50722
	tagCameraCalibration1   = 50723
	tagCameraCalibration2   = 50724
	tagAnalogBalance        = 50727
	tagAsShotNeutral        = 50728
	tagAsShotWhiteXY        = 50729
	tagBaselineExposure     = 50730
	tagLensInfo             = 50736
	tagIlluminant1          = 50778
	tagIlluminant2          = 50779
	tagActiveArea           = 50829
	tagMaskedAreas          = 50830
	tagForwardMatrix1       = 50964
	tagForwardMatrix2       = 50965
	tagCalibrationSignature = 50931
	tagProfileSignature     = 50932
	tagColorMatrix3         = 52531
	tagSubTileBlockSize     = 50974
	tagRowInterleave        = 50975
	tagNoiseReduction       = 50935
	tagPreviewApplication   = 50966
	tagPreviewColorSpace    = 50970
	tagOpcodeList1          = 51008
	tagOpcodeList2          = 51009
	tagOpcodeList3          = 51022
	tagNoiseProfile         = 51041
	tagColumnInterleave     = 52547
)

// Values of Photometric.
const (
	photoWhiteIsZero = 0
	photoBlackIsZero = 1
	photoYCbCr       = 6
	photoCFA         = 32803
	photoLinearRaw   = 34892
)

// previewSRGB is a value of PreviewColorSpace.
const previewSRGB = 2

// Values of Compression.
const (
	compNone         = 1
	compLZW          = 5
	compLosslessJPEG = 7
	compDeflate      = 8
	compVC5          = 9
	compDeflateOld   = 32946
	compLossyJPEG    = 34892
	compJPEGXL       = 52546
)

// tagName names a tag of numbers as the DNG specification does.
func tagName(tag uint16) string {
	switch tag {
	case tagColorMatrix1:
		return "ColorMatrix1"
	case tagColorMatrix2:
		return "ColorMatrix2"
	case tagCameraCalibration1:
		return "CameraCalibration1"
	case tagCameraCalibration2:
		return "CameraCalibration2"
	case tagAnalogBalance:
		return "AnalogBalance"
	case tagAsShotNeutral:
		return "AsShotNeutral"
	case tagAsShotWhiteXY:
		return "AsShotWhiteXY"
	case tagBaselineExposure:
		return "BaselineExposure"
	case tagForwardMatrix1:
		return "ForwardMatrix1"
	case tagForwardMatrix2:
		return "ForwardMatrix2"
	}
	return fmt.Sprintf("tag %d", tag)
}
