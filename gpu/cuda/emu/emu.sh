#!/bin/sh
# Builds CUDA sources with the host compiler against the emulated runtime: emu.sh OUTPUT [compiler options] -- FILES.cu
# Files are named relative to the folder of the sources, OUTPUT absolutely.
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
mkdir "$dir/test"
cd "$src"
trap 'rm -rf "$dir"' EXIT
for f in *.cuh *.h test/*.cuh; do
  [ -e "$f" ] && python3 "$here/translate.py" "$f" "$dir/$f"
done
if [ "${EMU_PTX:-0}" = 1 ]; then
  cp "$here/ptx.cuh" "$dir/ptx.cuh"
  opts="$opts -D__CUDA_ARCH__=900"
fi
files=
for f in "$@"; do
  o="$dir/${f%.cu}.cpp"
  python3 "$here/translate.py" "$f" "$o"
  files="$files $o"
done
${CXX:-g++} -std=c++17 -O2 -w -I"$dir" -I"$here" $opts $files -o "$out" -lpthread
