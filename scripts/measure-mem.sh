#!/bin/sh
# Develops the sample under several memory budgets and prints a table: measured peak of device memory and seconds, the best of RUNS runs.
# Fails if the pictures are not the same to the byte. Needs bin/enhance.
# Usage: measure-mem.sh [ENHANCE-OPTIONS], for example -g host or --precision fp16
set -eu
cd "$(dirname "$0")/.."
photo=testdata/raw/colorchart.dng
runs=${RUNS:-3}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

develop() { # MEM OPTIONS...: leaves the picture in $dir/out.png, the report in $dir/report
	mem=$1
	shift
	bin/enhance -q "$photo" -o "$dir/out.png" -y --wb 1.47,1,2.26 --exposure 2 --mem "$mem" --json "$@" >"$dir/report"
}

value() { # KEY: the first number or string of that name in the report
	awk -v key="\"$1\":" '$1 == key { sub(/^ *"[^"]*": */, ""); gsub(/[",]/, ""); print; exit }' "$dir/report"
}

# The error of a budget that cannot do names the smallest that does.
smallest=$(develop 1 "$@" 2>&1 | sed -n 's/.*--mem \([0-9][0-9]*\).*/\1/p') || true
[ -n "$smallest" ] || { echo "the program did not name its smallest budget" >&2; exit 1; }

first=
echo "| \`--mem\` | plan | peak, MiB | seconds |"
echo "|---:|---|---:|---:|"
for mem in "$smallest" 64M 96M 128M 0; do
	best=
	i=0
	while [ "$i" -lt "$runs" ]; do
		develop "$mem" "$@"
		total=$(value total)
		best=$(printf '%s\n%s\n' "$total" "$best" | sed '/^$/d' | sort -n | head -n 1)
		i=$((i + 1))
	done
	sum=$(cksum <"$dir/out.png")
	first=${first:-$sum}
	[ "$sum" = "$first" ] || { echo "--mem $mem made other bytes" >&2; exit 1; }
	strategy=$(value strategy)
	[ "$strategy" = "whole planes" ] || strategy="$strategy, $(value rows) rows at a time"
	echo "$mem $strategy|$(value peak)|$best" | awk -F '|' '{
		split($1, a, " "); plan = substr($1, length(a[1]) + 2)
		printf "| %s | %s | %.1f | %.1f |\n", a[1], plan, $2 / 1048576, $3 }'
done
