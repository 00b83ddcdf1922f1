#!/bin/sh
# Runs the tests whose names contain Oclgrind inside oclgrind, an OpenCL device
# that checks every access of a kernel: out of bounds, data races, divergent
# barriers, misuse of the API. It is slow, so those tests use small shapes; they
# skip themselves unless ENHANCE_OCLGRIND is 1.
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

packages=$(find . -name '*_test.go' ! -path './.*' -exec grep -l '^func Test[A-Za-z0-9]*Oclgrind' {} + | xargs -n 1 dirname | sort -u)

# oclgrind works only as a driver of its own (its wrapper program does not see
# libraries loaded at run time) and exits 0 whatever it finds: what it writes is
# read. A process writes its log anew, so packages run one by one. The check of
# uninitialised memory is left off: vector loads read, and discard, samples that
# nobody writes.
failed=0
passed=0
for package in $packages; do
	: >"$dir/findings"
	if ! OCL_ICD_VENDORS=$dir/oclgrind.icd OCLGRIND_LOG=$dir/findings \
		OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 OCLGRIND_MAX_ERRORS=20 \
		ENHANCE_OCLGRIND=1 ENHANCE_REQUIRE_OPENCL=1 ENHANCE_CACHE_DIR=off \
		"$go" test -count=1 -v -run Oclgrind -timeout 20m "$package" >"$dir/tests" 2>&1; then
		grep -v '^=== ' "$dir/tests" >&2
		failed=1
	fi
	if [ -s "$dir/findings" ]; then
		echo "$package: oclgrind found" >&2
		head -n 100 "$dir/findings" >&2
		failed=1
	fi
	if grep -q '^--- SKIP' "$dir/tests"; then
		grep -A 3 '^--- SKIP' "$dir/tests" >&2
		failed=1
	fi
	passed=$((passed + $(grep -c '^--- PASS' "$dir/tests" || true)))
done
if [ "$failed" -ne 0 ]; then
	exit 1
fi
if [ "$passed" -eq 0 ]; then
	echo "no test of that kind ran: nothing was checked" >&2
	exit 1
fi
echo "oclgrind: $passed tests, nothing found"
