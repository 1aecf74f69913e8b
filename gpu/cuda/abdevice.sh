#!/bin/bash
# The experiments of docs/experiments.md on a machine with an NVIDIA device, each comparison interleaved and limited in time:
#
#   gpu/cuda/abdevice.sh BENCH KEYS [STEP...]
#
# BENCH is the bench program (go build ./bench) with libfilgroth_cuda.so beside it or in gpu/cuda/build; KEYS a folder with room for a
# key of SHAPE (mix-23: 3 GB; a tmpfs will do), which is made there on the device. Reports go to $OUT/ab-device.tar.gz, the tables
# to $OUT/ab-device.log as well. Nothing is started after $TOTAL seconds.
#
# Steps, in this order if none is named: b1 (host memory of a whole device, a, b, c on ordinary pages), a4 (the sum in G2), d4
# (windows), aa (two equal arms), phase4-engines (the preset; a, b, c and the sum in G2 on the host), pin (page-locking by the GiB),
# phase4 (the preset on a whole device). Others: b1-huge (huge pages), windows (sizes for H), knobs (evaluation, key), circuits
# (circuits a call over a streamed key), flight (witnesses in flight, workers), phase4-all (all five changes, direct synthesis
# included, on a smaller circuit).
set -u
cd "$(dirname "$0")/../.."
bench=$(realpath "$1") keys=$2
shift 2
[ $# -gt 0 ] || set -- b1 a4 d4 aa phase4-engines pin phase4
out=${OUT:-$(mktemp -d)}
shape=${SHAPE:-mix-23} rounds=${ROUNDS:-10} warm=${WARM:-1} total=${TOTAL:-235}
reports=$(mktemp -d)
mkdir -p "$keys" "$out"
log=$out/ab-device.log
rc=0

# step NAME SECONDS MODE FLAGS...: no round starts after so many seconds of rounds; the program ends after as many and a minute.
step() {
  local name=$1 limit=$2 mode=$3 from=$SECONDS r
  shift 3
  if [ "$SECONDS" -gt "$total" ]; then
    echo "== $name left out: $SECONDS s are over" | tee -a "$log"
    return
  fi
  [ "$mode" = ab ] && set -- -work prover -warm "$warm" "$@"
  set -- -shape "$shape" -n "$rounds" -for "${limit}s" "$@"
  echo "== $name: bench $mode $*" >>"$log"
  timeout -k 10 $((limit + 60)) "$bench" "$mode" -keys "$keys" -out "$reports/$name" "$@" >"$reports/$name.txt" 2>"$reports/$name.err"
  r=$?
  [ $r -eq 0 ] || { rc=1; tail -3 "$reports/$name.err"; }
  cat "$reports/$name.txt" >>"$log"
  echo "== $name: rc $r, $((SECONDS - from)) s" | tee -a "$log"
  grep -E ' (total|pin|prep|msm\.[a-z0-9]+) |: unavailable|GB/s|pays| (base|huge) ' "$reports/$name.txt" | cut -c1-140
}

# An arm must not stream the key because those before it have filled the device.
gpu() {
  local name=$1 limit=$2 mode=$3
  shift 3
  step "$name" "$limit" "$mode" -set backend=gpu -set key=resident "$@"
}
whole="-set evaluation=whole" pin=pin=none,register,register-once,pool,ring

for s in "$@"; do
  case $s in
    b1) gpu b1 30 ab $whole -set pages=base -knob $pin ;;
    a4) gpu a4 25 ab -knob b2=device,sequential,parallel ;;
    d4) gpu d4 25 ab -knob window=13,0 -knob window-h=13,0 -knob window-l=13,0 -knob window-a=13,0 -knob window-b1=13,0 -knob window-b2=13,0 ;;
    aa) gpu aa 15 ab -n 30 -knob pin=auto,auto ;;
    phase4-engines) step phase4-engines 100 ab -preset phase4 -set backend=gpu-engines ;;
    pin) step pin 15 pin ;;
    phase4) gpu phase4 30 ab -preset phase4 ;;
    b1-huge) gpu b1-huge 30 ab $whole -set pages=huge -knob $pin ;;
    knobs) gpu knobs 20 ab -knob evaluate=device,host -knob key=resident,streamed ;;
    circuits) gpu circuits 30 ab -set key=streamed -knob circuits=1,2,4,10 ;;
    windows) gpu windows 25 ab -knob window-h=0,12,13,14,15,16,17 ;;
    phase4-all) step phase4-all 90 ab -work prove -preset phase4 -set backend=gpu-engines -shape mix-20 ;;
    flight) gpu flight 20 ab -work prove -set circuits=4 -knob inflight=0,1,2 -knob workers=1,2 ;;
    *) echo "unknown step $s"; exit 2 ;;
  esac
done
tar -C "$reports" -czf "$out/ab-device.tar.gz" .
ls -l "$out"
exit $rc
