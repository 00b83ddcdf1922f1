#!/bin/sh
# Develops samples by the defaults of enhance, dcraw, RawTherapee and darktable and puts them
# side by side, with the luminance of each below it:
#
#	scripts/contact-sheet.sh [DIR [OUT.jpg]]
#
# DIR has the samples (default ../shared/data/raw), OUT is docs/images/contact-sheet.jpg by
# default. It needs ImageMagick, dcraw, rawtherapee-cli and darktable-cli; what one of them
# cannot read stays empty. MODEL and ENHANCE choose the network and the program.
set -eu
dir=${1:-../shared/data/raw}
out=${2:-docs/images/contact-sheet.jpg}
enhance=${ENHANCE:-bin/enhance}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
side=300

# tile NAME LABEL: the picture $work/NAME.src as a labelled tile.
tile() {
	if [ -s "$work/$1.src" ]; then
		convert "$work/$1.src" -auto-orient -resize "${side}x${side}" -depth 8 "png:$work/$1.png"
		label="$2, mean L* $(convert "png:$work/$1.png" -colorspace Lab -channel R -separate -format '%[fx:round(100*mean)]' info:)"
	else
		convert -size "${side}x200" xc:gray30 "png:$work/$1.png"
		label="$2: cannot read it"
	fi
	convert "png:$work/$1.png" -background white -gravity center -extent "${side}x${side}" \
		-gravity south -splice 0x18 -pointsize 12 -annotate +0+3 "$label" "png:$work/$1.tile"
}

rows=
for sample in colorchart.dng PowerShotG2.crw DC120.kdc DC50.kdc; do
	raw=$dir/$sample
	n=${sample%%.*}
	"$enhance" "$raw" -q ${MODEL:+-m "$MODEL"} -f png -o - > "$work/$n-enhance.src" 2> "$work/log" || cat "$work/log" >&2
	dcraw -c "$raw" > "$work/$n-dcraw.src" 2> "$work/log" || true
	rawtherapee-cli -Y -o "$work/rt.png" -n -c "$raw" > "$work/log" 2>&1 && mv "$work/rt.png" "$work/$n-rt.src" || true
	darktable-cli "$raw" "$work/dt.png" --width 1200 --height 1200 --core --library :memory: --configdir "$work/dt" > "$work/log" 2>&1 && mv "$work/dt.png" "$work/$n-dt.src" || true
	tile "$n-enhance" "enhance"
	tile "$n-dcraw" "dcraw"
	tile "$n-rt" "RawTherapee"
	tile "$n-dt" "darktable"
	convert "png:$work/$n-enhance.tile" "png:$work/$n-dcraw.tile" "png:$work/$n-rt.tile" "png:$work/$n-dt.tile" +append "png:$work/$n.row"
	rows="$rows png:$work/$n.row"
done
# shellcheck disable=SC2086 # one word a row
convert $rows -append -quality 85 "$out"
echo "$out: $(wc -c < "$out") bytes"
