package libraw

// layout says where a version of LibRaw keeps what is read of libraw_data_t: offsets in
// bytes, the same on all systems of 64 bits whose long has 64. They belong to a minor
// version: releases of one agree. The library confirms them before use, see confirm.
type layout struct {
	size int

	sizes, pitch, aspect, flip int // sizes begins with eight 16-bit numbers

	idata, maker, model, software, images, dngVersion, foveon, colors, filters, letters int

	lens, lensName, lensMade int // lensMade: by the maker's notes

	cblack, black, maximum, camMul, preMul, rgbCam, camXYZ, dngColor, dngColor2 int

	other, iso, shutter, aperture, focal, timestamp, description, artist int

	rawImage, rawSizes, fujiWidth int
	parent                        int // the object that holds the struct
}

// layouts by major and minor version, from scripts/libraw-layout.sh.
var layouts = map[int]layout{
	0<<8 | 20: { // from the headers of 0.20.2-Release
		size:        381000,
		sizes:       8,
		pitch:       24,
		aspect:      32,
		flip:        40,
		idata:       184,
		maker:       188,
		model:       252,
		software:    316,
		images:      512,
		dngVersion:  516,
		foveon:      520,
		colors:      524,
		filters:     528,
		letters:     604,
		lens:        624,
		lensName:    772,
		lensMade:    1192,
		cblack:      136456,
		black:       152872,
		maximum:     152880,
		camMul:      153056,
		preMul:      153072,
		rgbCam:      153184,
		camXYZ:      153232,
		dngColor:    153708,
		dngColor2:   153876,
		other:       192424,
		iso:         192424,
		shutter:     192428,
		aperture:    192432,
		focal:       192436,
		timestamp:   192440,
		description: 192628,
		artist:      193140,
		rawImage:    193256,
		rawSizes:    193760,
		fujiWidth:   193950,
		parent:      380992,
	},
	0<<8 | 21: { // of 0.21.0 to 0.21.5
		size:        381288,
		sizes:       8,
		pitch:       24,
		aspect:      32,
		flip:        40,
		idata:       192,
		maker:       196,
		model:       260,
		software:    324,
		images:      520,
		dngVersion:  524,
		foveon:      528,
		colors:      532,
		filters:     536,
		letters:     612,
		lens:        632,
		lensName:    780,
		lensMade:    1200,
		cblack:      136456,
		black:       152872,
		maximum:     152880,
		camMul:      153056,
		preMul:      153072,
		rgbCam:      153184,
		camXYZ:      153232,
		dngColor:    153708,
		dngColor2:   153876,
		other:       192432,
		iso:         192432,
		shutter:     192436,
		aperture:    192440,
		focal:       192444,
		timestamp:   192448,
		description: 192636,
		artist:      193148,
		rawImage:    193528,
		rawSizes:    194032,
		fujiWidth:   194230,
		parent:      381280,
	},
	0<<8 | 22: { // from the headers of 0.22.2-Release
		size:        381576,
		sizes:       8,
		pitch:       24,
		aspect:      32,
		flip:        40,
		idata:       192,
		maker:       196,
		model:       260,
		software:    324,
		images:      520,
		dngVersion:  524,
		foveon:      528,
		colors:      532,
		filters:     536,
		letters:     612,
		lens:        632,
		lensName:    780,
		lensMade:    1200,
		cblack:      136664,
		black:       153080,
		maximum:     153088,
		camMul:      153244,
		preMul:      153260,
		rgbCam:      153372,
		camXYZ:      153420,
		dngColor:    153900,
		dngColor2:   154068,
		other:       192680,
		iso:         192680,
		shutter:     192684,
		aperture:    192688,
		focal:       192692,
		timestamp:   192696,
		description: 192884,
		artist:      193396,
		rawImage:    193776,
		rawSizes:    194280,
		fujiWidth:   194478,
		parent:      381568,
	},
}

// layoutOf returns the layout of a version as libraw_versionNumber gives it.
func layoutOf(version int32) (layout, bool) {
	l, ok := layouts[int(version>>8)]
	return l, ok
}

const knownVersions = "0.20 to 0.22"
