#!/bin/sh
# Makes sure that there is an OpenCL device: where there is none, installs PoCL,
# which runs OpenCL on the processor. A GPU's driver is never touched.
# Usage: setup-opencl.sh [GO]
set -eu
cd "$(dirname "$0")/.."
go=${1:-go}
export CGO_ENABLED=0

list=$(mktemp)
trap 'rm -f "$list"' EXIT
"$go" build -o "$list" ./scripts/opencl-devices

"$list" >/dev/null 2>&1 && exit 0
scripts/apt-install.sh "an OpenCL device" pocl-opencl-icd ocl-icd-libopencl1
if ! "$list"; then
	echo "PoCL is installed but shows no device: it needs a writable cache folder (HOME or POCL_CACHE_DIR)" >&2
	exit 1
fi
