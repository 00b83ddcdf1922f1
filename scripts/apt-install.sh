#!/bin/sh
# Installs Debian or Ubuntu packages, quietly, as root or through a sudo that
# asks for no password. On failure it says why in a sentence and exits 1.
# Usage: apt-install.sh WHAT-FOR PACKAGE...
set -eu
purpose=$1
shift

if ! command -v apt-get >/dev/null 2>&1; then
	echo "$purpose is missing and this system has no apt-get: install what corresponds to: $*" >&2
	exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
	as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
else
	echo "$purpose is missing and installing it needs root: run  sudo apt-get install $*  and try again" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1
}

echo "Installing $purpose: $* (a few minutes at most)"
# The lists of a fresh machine are empty or old; an up-to-date one is left alone.
apt install --no-install-recommends "$@" && exit 0
if apt update && apt install --no-install-recommends "$@"; then
	exit 0
fi
tail -n 15 "$log" >&2
echo "could not install $*: see the lines above" >&2
exit 1
