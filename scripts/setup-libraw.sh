#!/bin/sh
# Makes sure, where it can, that LibRaw is there, which reads camera makers' formats.
# Everything else works without it, so a failure is no more than a note.
# Usage: setup-libraw.sh
set -eu
cd "$(dirname "$0")/.."

[ -z "${ENHANCE_LIBRAW_LIB:-}" ] || exit 0
case $(uname -s) in
Darwin)
	for dir in /opt/homebrew/lib /usr/local/lib; do
		[ ! -e "$dir/libraw_r.dylib" ] || exit 0
	done
	echo "note: without LibRaw only DNG is read of cameras' formats: brew install libraw" >&2
	exit 0
	;;
esac
PATH=$PATH:/sbin:/usr/sbin
ldconfig -p 2>/dev/null | grep -q 'libraw_r\.so\.' && exit 0

# The package is named after the library's version: libraw20, libraw23t64.
package=$(apt-cache pkgnames libraw 2>/dev/null | grep -E '^libraw[0-9]+(t64)?$' | sort -V | tail -n 1) || true
scripts/apt-install.sh "LibRaw" "${package:-libraw-bin}" ||
	echo "note: without LibRaw only DNG is read of cameras' formats" >&2
