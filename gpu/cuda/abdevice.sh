#!/bin/bash
# The experiments of docs/experiments.md on a machine with an NVIDIA device, each comparison interleaved and limited in time:
#
#   gpu/cuda/abdevice.sh BENCH KEYS [STEP...]
#
# BENCH is the bench program (go build ./bench) with libfilgroth_cuda.so beside it or in gpu/cuda/build; KEYS a folder with room for a
# key of SHAPE (mix-23: 3 GB; a tmpfs will do), which is made there on the device. Reports go to $OUT/ab-device.tar.gz, the tables
# to $OUT/ab-device.log as well. Nothing is started after $TOTAL seconds.
#
# Steps, in this order: pin (page-locking by the GiB), b1 and b1-huge (host memory on a whole device, ordinary and huge pages), a4
# (the sum in G2), d4 (windows, with an A/A arm), aa (two equal arms), phase4-engines (the preset, a, b, c and the sum in G2 on the
# host), phase4 (the preset on a whole device), knobs (evaluation, key), circuits (circuits a call over a streamed key), flight
# (witnesses in flight, workers).
set -u
cd "$(dirname "$0")/../.."
bench=$(realpath "$1") keys=$2
shift 2
[ $# -gt 0 ] || set -- pin b1 b1-huge a4 d4 aa phase4-engines phase4 knobs circuits flight
out=${OUT:-$(mktemp -d)}
shape=${SHAPE:-mix-23} rounds=${ROUNDS:-10} warm=${WARM:-1} total=${TOTAL:-235}
reports=$(mktemp -d)
mkdir -p "$keys" "$out"
log=$out/ab-device.log
rc=0

# step NAME SECONDS MODE FLAGS...: start no round after half of the time, end the program after all of it.
step() {
  local name=$1 limit=$2 mode=$3 from=$SECONDS r
  shift 3
  if [ "$SECONDS" -gt "$total" ]; then
    echo "== $name left out: $SECONDS s are over" | tee -a "$log"
    return
  fi
  [ "$mode" = ab ] && set -- -work prover "$@" -warm "$warm" -for "$((limit / 2))s"
  echo "== $name: bench $mode -shape $shape -n $rounds $*" >>"$log"
  timeout -k 10 "$limit" "$bench" "$mode" -shape "$shape" -n "$rounds" -keys "$keys" -out "$reports/$name" "$@" >"$reports/$name.txt" 2>"$reports/$name.err"
  r=$?
  [ $r -eq 0 ] || { rc=1; tail -3 "$reports/$name.err"; }
  cat "$reports/$name.txt" >>"$log"
  echo "== $name: rc $r, $((SECONDS - from)) s" | tee -a "$log"
  grep -E ' (total|pin|prep|msm\.[a-z0-9]+) |unavailable|GB/s' "$reports/$name.txt" | cut -c1-150
}

gpu() { step "$@" -set backend=gpu; }
whole="-set evaluation=whole"

for s in "$@"; do
  case $s in
    pin) step pin 40 pin ;;
    b1) gpu b1 50 ab $whole -set pages=base -knob pin=none,register,register-once,pool,ring ;;
    b1-huge) gpu b1-huge 50 ab $whole -set pages=huge -knob pin=none,register,register-once,pool,ring ;;
    a4) gpu a4 50 ab -knob b2=device,sequential,parallel ;;
    d4) gpu d4 40 ab -aa -knob window=13,0 -knob window-h=13,0 -knob window-l=13,0 -knob window-a=13,0 -knob window-b1=13,0 -knob window-b2=13,0 ;;
    aa) gpu aa 30 ab -n 30 -knob pin=auto,auto ;;
    phase4-engines) step phase4-engines 100 ab -preset phase4 -aa -set backend=gpu-engines ;;
    phase4) gpu phase4 60 ab -preset phase4 ;;
    knobs) gpu knobs 50 ab -knob evaluate=device,host -knob key=resident,streamed ;;
    circuits) gpu circuits 60 ab -set key=streamed -knob circuits=1,2,4,10 ;;
    flight) gpu flight 50 ab -work prove -set circuits=4 -knob inflight=0,1,2 -knob workers=1,2 ;;
    *) echo "unknown step $s"; exit 2 ;;
  esac
done
tar -C "$reports" -czf "$out/ab-device.tar.gz" .
ls -l "$out"
exit $rc
