#!/bin/sh
# Makes the pictures of README.md again. Needs bin/enhance (make build).
# Usage: pictures.sh [GO]
set -eu
cd "$(dirname "$0")/.."
go=${1:-go}
photo=testdata/raw/colorchart.dng
wb=1.47,1,2.26
ev=2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bin/enhance -q "$photo" -o "$dir/enhanced.png" --wb $wb --exposure $ev
"$go" run ./scripts/before-after -wb $wb -ev $ev "$photo" "$dir/enhanced.png" docs/images/before-after.png
ls -l docs/images/before-after.png
