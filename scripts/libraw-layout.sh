#!/bin/sh
# Prints the entry of raw/libraw/layout.go for the LibRaw whose headers are installed
# (Debian: libraw-dev), or lie in a folder. Needs a C compiler.
# Usage: libraw-layout.sh [FOLDER-WITH-libraw.h]
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/layout.c" <<'C'
#include <stddef.h>
#include <stdio.h>
#include <libraw.h>
#define AT(name, member) printf("\t\t%s: %zu,\n", name, offsetof(libraw_data_t, member))
int main(void) {
	printf("\t%d<<8 | %d: { // from the headers of %s\n", LIBRAW_MAJOR_VERSION, LIBRAW_MINOR_VERSION, LIBRAW_VERSION_STR);
	printf("\t\tsize: %zu,\n", sizeof(libraw_data_t));
	AT("sizes", sizes.raw_height);
	AT("pitch", sizes.raw_pitch);
	AT("aspect", sizes.pixel_aspect);
	AT("flip", sizes.flip);
	AT("idata", idata);
	AT("maker", idata.make);
	AT("model", idata.model);
	AT("software", idata.software);
	AT("images", idata.raw_count);
	AT("dngVersion", idata.dng_version);
	AT("foveon", idata.is_foveon);
	AT("colors", idata.colors);
	AT("filters", idata.filters);
	AT("letters", idata.cdesc);
	AT("lens", lens);
	AT("lensName", lens.Lens);
	AT("lensMade", lens.makernotes.Lens);
	AT("cblack", color.cblack);
	AT("black", color.black);
	AT("maximum", color.maximum);
	AT("camMul", color.cam_mul);
	AT("preMul", color.pre_mul);
	AT("rgbCam", color.rgb_cam);
	AT("camXYZ", color.cam_xyz);
	AT("dngColor", color.dng_color[0]);
	AT("dngColor2", color.dng_color[1]);
	AT("other", other);
	AT("iso", other.iso_speed);
	AT("shutter", other.shutter);
	AT("aperture", other.aperture);
	AT("focal", other.focal_len);
	AT("timestamp", other.timestamp);
	AT("description", other.desc);
	AT("artist", other.artist);
	AT("rawImage", rawdata.raw_image);
	AT("rawSizes", rawdata.sizes.raw_height);
	AT("fujiWidth", rawdata.ioparams.fuji_width);
	AT("parent", parent_class);
	printf("\t},\n");
	return 0;
}
C
"${CC:-cc}" -I "${1:-/usr/include/libraw}" "$dir/layout.c" -o "$dir/layout"
"$dir/layout"
