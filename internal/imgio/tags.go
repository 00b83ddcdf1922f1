package imgio

// Tags of TIFF 6.0 used in this package.
const (
	tagWidth           = 256
	tagHeight          = 257
	tagBitsPerSample   = 258
	tagCompression     = 259
	tagPhotometric     = 262
	tagDescription     = 270
	tagMake            = 271
	tagModel           = 272
	tagStripOffsets    = 273
	tagOrientation     = 274
	tagSamplesPerPixel = 277
	tagRowsPerStrip    = 278
	tagStripByteCounts = 279
	tagXResolution     = 282
	tagYResolution     = 283
	tagPlanar          = 284
	tagResolutionUnit  = 296
	tagSoftware        = 305
	tagDateTime        = 306
	tagArtist          = 315
	tagPredictor       = 317
	tagSampleFormat    = 339
	tagXMP             = 700
	tagRating          = 18246
	tagRatingPercent   = 18249
	tagCopyright       = 33432
	tagExifIFD         = 34665
	tagICCProfile      = 34675
	tagGPSIFD          = 34853
)
