#!/bin/bash
# The full-scale runs on a machine with an NVIDIA device, after devicetest.sh has shown that the library is right:
#
#   gpu/cuda/fullscale.sh BENCH KEYS STEP...
#
# BENCH is the bench program (go build ./bench), KEYS a folder with room for the key (45 GiB for porep-32g; a tmpfs will do).
# Steps: sums, prove, cancel, fault, budget24, budget16, winning, window, update, two. Logs, JSON and pictures go to $OUT.
set -u
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
bench=$(cd "$root" && realpath "$1") keys=$2
shift 2
out=${OUT:-$(mktemp -d)}
mkdir -p "$keys"
[ -f build/libfilgroth_cuda.so ] || make -j"$(nproc)" ARCHS=90 all >"$out/build.log" 2>&1 || { tail -20 "$out/build.log"; exit 1; }
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
free -g | head -2; df -h "$keys" | tail -1
rc=0
run() {
  local name=$1
  shift
  echo "== $name: bench $*"
  (cd "$root" && timeout "${LIMIT:-400}" "$bench" "$@" -keys "$keys" -json "$out/$name.json") >"$out/$name.log" 2>&1
  local r=$?
  [ $r -eq 0 ] || rc=1
  tail -45 "$out/$name.log"
  echo "-- $name rc $r"
}
for s in "$@"; do
  case $s in
    sums) run sums sums -shape porep-32g -n 5 -waterfall "$out/sums.svg" ;;
    prove) run prove prove -shape porep-32g -again 2 -jobs 3 -waterfall "$out/prove.svg" ;;
    cancel) run cancel prove -shape porep-32g -again 0 -jobs 1 -cancel ;;
    fault) run fault prove -shape porep-32g -again 0 -jobs 0 -fault 150 ;;
    budget24) run budget24 prove -shape porep-32g -device-memory 24GiB -again 1 -jobs 2 ;;
    budget16) run budget16 prove -shape porep-32g -device-memory 16GiB -again 1 -jobs 2 ;;
    winning) run winning prove -shape winning-32g -again 3 -jobs 4 ;;
    window) run window prove -shape window-32g -again 1 -jobs 0 ;;
    update) run update prove -shape update-32g -again 0 -jobs 1 ;;
    two) run two prove -shape porep-32g -devices 2 -again 1 -jobs 4 ;;
    *) echo "unknown step $s"; exit 2 ;;
  esac
done
exit $rc
