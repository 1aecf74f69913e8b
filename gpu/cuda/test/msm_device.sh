#!/bin/bash
# Builds the MSM device test in parallel, checks, and times. Run it on the machine with the GPU:
#   test/msm_device.sh STEP...        logs in $OUT (default /tmp/msm_out)
# A step is a mode of msm_device_test with its arguments joined by colons, e.g. check1 bench1:27 stages2:20.
# A step "ncu/..." profiles the first additions of an MSM into $OUT/ncu.log. A step "...@a" or "...@b" runs with the MSM unit built with the extra flags in $VA or $VB.
cd "$(dirname "$0")/.." || exit 1
OUT=${OUT:-/tmp/msm_out}
B=${BUILD:-/tmp/msm_build}
mkdir -p "$OUT" "$B"
NV="nvcc -std=c++17 -O3 -arch=${ARCH:-sm_90} -Xcompiler -O1"
start=$SECONDS
compile() {  # unit, name, flags
  $NV -Xptxas -v $3 -c "$1.cu" -o "$B/$2.o" >"$B/$2.log" 2>&1 || { grep -v '^ptxas' "$B/$2.log" | tail -20; echo "FAILED $1"; }
}
p1= p2=
for v in '' a b; do
  f=V${v^^}
  [ -n "$v" ] && [ -z "${!f}" ] && continue
  compile msm_g1 msm_g1$v "${v:+${!f}}" & p1="$p1 $!"
  [[ "$*" == *2* ]] && { compile msm_g2 msm_g2$v "${v:+${!f}}" & p2="$p2 $!"; }
done
for u in msm_sort bitsum bitsum_g1 fixed_base_g1; do compile $u $u & p1="$p1 $!"; done
compile test/msm_device_test test_g1 -DFG_TEST_G1_ONLY & p1="$p1 $!"
if [[ "$*" == *2* ]]; then
  for u in bitsum_g2 fixed_base_g2; do compile $u $u & p2="$p2 $!"; done
  compile test/msm_device_test test_both & p2="$p2 $!"
fi
C="$B/msm_sort.o $B/bitsum.o $B/bitsum_g1.o $B/fixed_base_g1.o"
ready1= ready2=
for step in "$@"; do
  v= s=${step#ncu/} prof=
  [[ $step == ncu/* ]] && prof="ncu --clock-control none --kernel-name-base demangled -k regex:Gather|Neighbour -c 2
    --metrics regex:smsp__average_warps_issue_stalled.*per_issue_active,regex:sm__inst_executed_pipe.*pct_of_peak_sustained_active --log-file $OUT/ncu.log"
  [[ $s == *@* ]] && v=${s#*@} s=${s%@*}
  mode=${s%%:*}
  if [ -z "$ready1" ]; then
    wait $p1
    echo "built G1 in $((SECONDS - start)) s"
    ready1=1
  fi
  if [[ $mode == *2 ]]; then
    if [ -z "$ready2" ]; then
      wait $p2
      echo "built G2 in $((SECONDS - start)) s"
      ready2=1
    fi
    t=$B/t2$v
    [ -e $t ] || $NV $C $B/msm_g1.o $B/msm_g2$v.o $B/bitsum_g2.o $B/fixed_base_g2.o $B/test_both.o -o $t 2>/dev/null
  else
    t=$B/t1$v
    [ -e $t ] || $NV $C $B/msm_g1$v.o $B/test_g1.o -o $t 2>/dev/null
  fi
  echo "== $step at $((SECONDS - start)) s"
  timeout ${LIMIT:-60} $PREFIX $prof $t ${s//:/ } 2>&1 | tee -a "$OUT/msm.log" | grep -v '^    ' | tail -${LINES_MAX:-30}
done
cat $B/*.log | grep -v cub > "$OUT/ptxas.log"
cuobjdump --dump-sass $B/msm_g1.o 2>/dev/null | grep '/\*0\|Function' | sed 's,/\*[0-9a-f]*\*/,,' | gzip -c > "$OUT/msm_g1.sass.gz"
