#!/bin/sh
# Fails, naming them, if files are not formatted as gofmt would.
# Usage: gofmt-check.sh [GO]
set -eu
cd "$(dirname "$0")/.."
go=${1:-go}

# The gofmt of the toolchain that builds the module, not of some other in PATH.
gofmt=$("$go" env GOROOT)/bin/gofmt
[ -x "$gofmt" ] || gofmt=gofmt
files=$("$gofmt" -l .)
[ -z "$files" ] && exit 0
echo "not formatted (run gofmt -w on them):" >&2
echo "$files" >&2
exit 1
