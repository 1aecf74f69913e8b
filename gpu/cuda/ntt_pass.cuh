// Launches of the passes of one size; each ntt_q*.cu instantiates one, so that they compile side by side.
#pragma once

#include "ntt_kernels.cuh"

namespace fg {
namespace nttk {

template <int Q, bool INVERSE, Variant V>
void launch_variant(const Fr* src, Fr* dst, const PassArgs& a, cudaStream_t s) {
  using S = Shape<Q>;
  size_t shared = size_t(16) << TILE_LOG;
  if (V >= LAST)
    for (int r = 0; r + 1 < S::ROUNDS; r++)
      if (!a.table[r]) shared += size_t(S::shared_twiddles(r)) * sizeof(Fr);
  auto kernel = ntt_pass<Q, INVERSE, V>;
  if (shared > 48 << 10)
    FG_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  kernel<<<1u << (a.n - TILE_LOG), THREADS, shared, s>>>(src, dst, a);
  FG_LAUNCHED();
}

template <int Q, bool INVERSE>
void launch_direction(bool last, bool trivial, const Fr* src, Fr* dst, const PassArgs& a, cudaStream_t s) {
  if (last && !a.table[Shape<Q>::ROUNDS - 1]) return launch_variant<Q, INVERSE, DERIVE>(src, dst, a, s);
  if (last) return launch_variant<Q, INVERSE, LAST>(src, dst, a, s);
  if (trivial && Q >= 8) return launch_variant<Q, INVERSE, Q >= 8 ? TRIVIAL : PLAIN>(src, dst, a, s);
  launch_variant<Q, INVERSE, PLAIN>(src, dst, a, s);
}

template <int Q>
void launch_pass(bool inverse, bool last, bool trivial, const Fr* src, Fr* dst, const PassArgs& a, cudaStream_t s) {
  if (inverse)
    launch_direction<Q, true>(last, trivial, src, dst, a, s);
  else
    launch_direction<Q, false>(last, trivial, src, dst, a, s);
}

}  // namespace nttk
}  // namespace fg
