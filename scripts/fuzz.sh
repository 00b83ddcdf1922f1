#!/bin/sh
# Runs every fuzz target of the module, one after another.
# Usage: fuzz.sh [GO [TIME-EACH]]
set -eu
cd "$(dirname "$0")/.."
go=${1:-go}
each=${2:-10m}

# go test -list prints the targets of a package, then "ok  PACKAGE  ...".
targets=$("$go" test -list '^Fuzz' ./... | awk '/^Fuzz/ { names = names " " $1 } /^ok/ { n = split(names, f, " "); for (i = 1; i <= n; i++) print $2, f[i]; names = "" }')
if [ -z "$targets" ]; then
	echo "found no fuzz target" >&2
	exit 1
fi
count=$(echo "$targets" | wc -l)
echo "$count fuzz targets, $each each"

failed=
n=0
while read -r pkg name; do
	n=$((n + 1))
	echo "[$n/$count] $pkg $name"
	log=$(mktemp)
	if "$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$each" "$pkg" >"$log" 2>&1 </dev/null; then
		grep '^fuzz: elapsed' "$log" | tail -n 1
	else
		cat "$log"
		failed="$failed $name"
	fi
	rm -f "$log"
done <<LIST
$targets
LIST

if [ -n "$failed" ]; then
	echo "failed:$failed (the inputs are in the packages' testdata/fuzz)" >&2
	exit 1
fi
