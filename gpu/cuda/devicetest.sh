#!/bin/bash
# Builds the library on a machine with an NVIDIA device and runs its checks, a table last:
#
#   gpu/cuda/devicetest.sh [ARCHS=90] [JOBS=16] [GO=dir] [SHAPE=porep-32g] [ONLY=step,step] [PREBUILT=1]
#
# GO is a folder of Go test binaries (go test -c), for machines without Go; each is run in the folder of its package,
# which its name gives (gpu.test, groth16.test). Logs go to $OUT, or to a temporary folder.
set -u
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
out=${OUT:-$(mktemp -d)}
archs= jobs=$(nproc) go= only= shape= prebuilt=
for a in "$@"; do
  case $a in
    ARCHS=*) archs=${a#*=} ;;
    JOBS=*) jobs=${a#*=} ;;
    GO=*) go=$(cd "$root" && cd "${a#*=}" && pwd) ;;
    ONLY=*) only=,${a#*=}, ;;
    SHAPE=*) shape=${a#*=} ;;
    PREBUILT=*) prebuilt=${a#*=} ;;
    *) echo "unknown argument $a" >&2; exit 2 ;;
  esac
done
table=()
failed=0

# step NAME SECONDS COMMAND...: runs it within the time, notes how it went.
step() {
  local name=$1 limit=$2 from rc took
  shift 2
  [ -n "$only" ] && [[ $only != *,$name,* ]] && return 0
  from=$(date +%s.%N)
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  rc=$?
  took=$(awk "BEGIN{printf \"%.1f\", $(date +%s.%N)-$from}")
  [ $rc -eq 0 ] || failed=1
  table+=("$(printf '%-24s %6s s  %s' "$name" "$took" "$([ $rc -eq 0 ] && echo ok || echo "FAILED ($rc)")")")
  echo "== $name ($took s, rc $rc)"
  tail -n "${LINES_SHOWN:-25}" "$out/$name.log"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
if [ -z "$prebuilt" ]; then
  step build 400 make -j"$jobs" ${archs:+ARCHS="$archs"} all
  [ $failed -eq 0 ] || { tail -n 30 "$out/build.log"; printf '%s\n' "${table[@]}"; exit 1; }
  step tests 300 make -j"$jobs" ${archs:+ARCHS="$archs"} tests
fi
for t in test/*.cu; do
  b=build/$(basename "$t" .cu)
  [ -x "$b" ] || continue
  args=
  case $(basename "$b") in ntt_device_test) args="20 27" ;; esac
  step "$(basename "$b")" 120 "$b" $args
done
if [ -n "$go" ]; then
  for b in "$go"/*.test; do
    name=$(basename "$b" .test)
    dir=$root/${name//-//}
    (cd "$dir" 2>/dev/null) || dir=$root
    step "go-$name" 200 env GPU=require sh -c "cd '$dir' && '$b' -test.count=1 -test.v"
    [ "$name" = gpu ] && [ -n "$shape" ] &&
      step "sums-$shape" 200 sh -c "cd '$dir' && '$b' -test.v -test.run TestShape -shape $shape -shape.runs 5"
  done
fi
if command -v compute-sanitizer >/dev/null; then
  step memcheck 100 compute-sanitizer --tool memcheck --error-exitcode 9 build/ntt_device_test 13
  step racecheck 100 compute-sanitizer --tool racecheck --error-exitcode 9 build/ntt_device_test 12
fi
printf '\n%s\n' "--- results"
printf '%s\n' "${table[@]}"
exit $failed
