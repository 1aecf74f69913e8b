#!/bin/sh
# Builds CUDA sources with the host compiler against the emulated runtime: emu.sh OUTPUT [compiler options] -- FILES.cu
set -e
here=$(cd "$(dirname "$0")" && pwd)
src=$(dirname "$here")
out=$1
shift
opts=
while [ "$1" != "--" ]; do
  opts="$opts $1"
  shift
done
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for f in "$src"/*.cuh "$src"/*.h; do
  [ -e "$f" ] && python3 "$here/translate.py" "$f" "$dir/$(basename "$f")"
done
files=
for f in "$@"; do
  o="$dir/$(basename "$f" .cu).cpp"
  python3 "$here/translate.py" "$f" "$o"
  files="$files $o"
done
${CXX:-g++} -std=c++17 -O2 -w -I"$here" -I"$dir" $opts $files -o "$out" -lpthread
