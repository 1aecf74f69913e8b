#!/bin/bash
# Builds the MSM device test in parallel, checks, and times. Run it on the machine with the GPU:
#   test/msm_device.sh [steps...]      logs in $OUT (default /tmp/msm_out)
cd "$(dirname "$0")/.." || exit 1
OUT=${OUT:-/tmp/msm_out}
B=${BUILD:-/tmp/msm_build}
ARCH=${ARCH:-sm_90}
mkdir -p "$OUT" "$B"
NV="nvcc -std=c++17 -O3 -arch=$ARCH -Xptxas -v -Xcompiler -O1 $NVFLAGS"
compile() { $NV ${3:-} -c "$1" -o "$B/$2.o" >"$B/$2.log" 2>&1 || { grep -v '^ptxas' "$B/$2.log" | tail -20; echo "FAILED $1"; }; }
start=$SECONDS
for u in msm_g2 fixed_base_g2 bitsum_g2; do compile $u.cu $u & done
compile test/msm_device_test.cu test_both &
p2=$(jobs -p)
p1=
for u in msm_g1 msm_sort bitsum bitsum_g1 fixed_base_g1; do compile $u.cu $u & p1="$p1 $!"; done
compile test/msm_device_test.cu test_g1 -DFG_TEST_G1_ONLY & p1="$p1 $!"
wait $p1
COMMON="$B/msm_sort.o $B/bitsum.o $B/msm_g1.o $B/bitsum_g1.o $B/fixed_base_g1.o"
$NV $COMMON $B/test_g1.o -o $B/t1 2>/dev/null
echo "built G1 in $((SECONDS - start)) s"
both=
for step in "$@"; do
  case $step in
    *2:*|*2) if [ -z "$both" ]; then
        wait $p2
        $NV $COMMON $B/msm_g2.o $B/bitsum_g2.o $B/fixed_base_g2.o $B/test_both.o -o $B/t2 2>/dev/null
        echo "built G2 in $((SECONDS - start)) s"
        both=1
      fi; t=$B/t2 ;;
    *) t=$B/t1 ;;
  esac
  echo "== $step at $((SECONDS - start)) s"
  timeout ${LIMIT:-60} $PREFIX $t ${step//:/ } 2>&1 | tee -a "$OUT/msm.log" | grep -v '^    ' | tail -60
done
cat $B/*.log | grep -v cub > "$OUT/ptxas.log"
cuobjdump --dump-sass $B/msm_g1.o 2>/dev/null | grep -v '^\s*/\* 0x' | sed 's,/\*.*\*/,,' > $B/sass && (cd $B && split -l 1000000 sass s && gzip -c sass > "$OUT/msm_g1.sass.gz")
