#!/bin/sh
# Executes the steps of the Dockerfile without Docker: the build on this machine, the RUN steps of
# the final image in a Debian of debootstrap's, and the entry point on the sample photo there.
# Needs root, debootstrap and Go. Usage: try-dockerfile.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
root=${1:-$(mktemp -d)}
photos=$root/photos
out() { umount "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true; }
trap out EXIT

final=$(awk '/^FROM debian:/ { on = 1; next } on' Dockerfile)
release=$(sed -n 's/^FROM debian:\([a-z]*\)-slim$/\1/p' Dockerfile)
[ -x "$root/bin/sh" ] || debootstrap --variant=minbase "$release" "$root" >&2
# The machine's package sources and network settings.
cp /etc/resolv.conf "$root/etc/"
for f in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/trusted.gpg.d /usr/share/keyrings /etc/ssl /etc/apt/auth.conf.d; do
	[ ! -e "$f" ] || { mkdir -p "$root$(dirname "$f")" && cp -r "$f" "$root$(dirname "$f")/"; }
done
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys" # as in a container: without it PoCL aborts
mount --bind /dev "$root/dev"

# The build stage's command, to where the second stage copies it from.
build=$(sed -n 's/^RUN \(CGO_ENABLED=0 go build.*\)$/\1/p' Dockerfile | sed "s#-o /enhance#-o $root/built#")
echo "+ $build" >&2
sh -c "$build"
mv "$root/built" "$root/usr/local/bin/enhance"
cp contrib/photoprism/* "$root/usr/local/bin/"

# RUN steps, whose lines a backslash continues.
printf '%s\n' "$final" | awk '
	/^RUN / || more { sub(/^RUN /, ""); more = sub(/\\$/, ""); step = step $0; if (!more) { print step; step = "" } }
' | while IFS= read -r step; do
	echo "+ $step" >&2
	chroot "$root" /bin/sh -c "$step" </dev/null >&2
done
mkdir -p "$photos"
cp testdata/raw/colorchart.dng testdata/raw/PowerShotG2.crw "$photos/"
chroot "$root" enhance --list-devices | grep "Portable Computing Language" # OpenCL is there
for photo in colorchart.dng PowerShotG2.crw; do
	chroot "$root" /usr/bin/env ENHANCE_CACHE_DIR=/cache /bin/sh -c "cd /photos && enhance $photo -o $photo.jpg -y"
	ls -l "$photos/$photo.jpg"
done
chroot "$root" /bin/sh -c "cd /photos && rm -f p.jpg && enhance-darktable colorchart.dng p.jpg --width 720 --height 720 --core"
ls -l "$photos/p.jpg"
echo "the steps of the Dockerfile work in $root"
