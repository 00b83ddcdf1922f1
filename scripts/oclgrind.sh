#!/bin/sh
# Runs the tests whose names contain Oclgrind inside oclgrind, an OpenCL device
# that checks every access of a kernel: out of bounds, data races, divergent
# barriers, misuse of the API. It is slow, so those tests use small shapes; they
# skip themselves unless ENHANCE_OCLGRIND is set.
# Usage: oclgrind.sh [GO]
set -eu
cd "$(dirname "$0")/.."
go=${1:-go}

find_library() {
	for f in /usr/lib/oclgrind/liboclgrind-rt-icd.so /usr/lib/*/oclgrind/liboclgrind-rt-icd.so /usr/local/lib/liboclgrind-rt-icd.so; do
		[ -e "$f" ] && echo "$f" && return
	done
	return 1
}
library=$(find_library) || {
	scripts/apt-install.sh oclgrind oclgrind ocl-icd-libopencl1
	library=$(find_library)
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
echo "$library" >"$dir/oclgrind.icd"

# oclgrind works only as a driver of its own (its wrapper program does not see
# libraries loaded at run time), reports on stderr and exits 0 whatever it finds:
# its messages are read. Its check of uninitialised memory is left off: vector
# loads read, and discard, samples that nobody writes.
status=0
OCL_ICD_VENDORS=$dir/oclgrind.icd \
	OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 OCLGRIND_LOG=$dir/findings OCLGRIND_MAX_ERRORS=20 \
	ENHANCE_OCLGRIND=1 ENHANCE_REQUIRE_OPENCL=1 ENHANCE_CACHE_DIR=off \
	"$go" test -count=1 -p=1 -v -run Oclgrind -timeout 20m ./... >"$dir/tests" 2>&1 || status=$?

if [ "$status" -ne 0 ]; then
	grep -v '^=== ' "$dir/tests" >&2
	exit 1
fi
passed=$(grep -c '^--- PASS' "$dir/tests" || true)
skipped=$(grep -c '^--- SKIP' "$dir/tests" || true)
if [ -s "$dir/findings" ] || grep -Eiq 'invalid (read|write)|data race|divergence|oclgrind.*error' "$dir/tests"; then
	echo "oclgrind found:" >&2
	cat "$dir/findings" 2>/dev/null | head -n 100 >&2 || true
	grep -Ei 'invalid (read|write)|data race|divergence|oclgrind.*error' "$dir/tests" | head -n 40 >&2 || true
	exit 1
fi
if [ "$passed" -eq 0 ] || [ "$skipped" -ne 0 ]; then
	echo "oclgrind checked nothing: $passed tests passed, $skipped were skipped" >&2
	exit 1
fi
echo "oclgrind: $passed tests, nothing found"
