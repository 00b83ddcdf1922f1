#!/bin/sh
# Checks that Go is there and new enough for go.mod; says what to do if not.
# Usage: check-go.sh [GO]
set -eu
cd "$(dirname "$0")/.."
go=${1:-go}

want=$(awk '$1 == "go" { print $2 }' go.mod)
if ! have=$(GOTOOLCHAIN=local "$go" env GOVERSION 2>/dev/null); then
	echo "Go is not installed: install Go $want or newer from https://go.dev/dl and put it in PATH" >&2
	exit 1
fi

# newer A B: A is at least B, as dotted numbers.
newer() {
	[ "$(printf '%s\n%s\n' "$1" "$2" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

number=$(echo "${have#go}" | sed 's/[^0-9.].*//')
newer "$number" "$want" && exit 0

# From 1.21 on Go fetches the release that go.mod asks for by itself.
if newer "$number" 1.21 && "$go" version >/dev/null 2>&1; then
	exit 0
fi
echo "Go $number is too old: install Go $want or newer from https://go.dev/dl" >&2
exit 1
