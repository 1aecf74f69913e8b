// Multiples of one point: scalars to affine points, for key generation.
#pragma once

#include "device.cuh"
#include "ec.cuh"

namespace fg {

// Table of d * 2^(16 w) * base for the 16 windows w and all digits d, in device memory: 100 MB for G1,
// 200 MB for G2. Used from one thread at a time.
template <class F>
class FixedBase {
public:
  // Builds the table; returns when it is ready. base is a host value.
  FixedBase(const Affine<F>& base, cudaStream_t stream);

  // out[i] = scalars[i] * base for i < n, device pointers, asynchronous on the stream. Scalars are in
  // Montgomery form; the zero scalar gives infinity. Needs scratch_bytes() bytes of device memory.
  void mul(Affine<F>* out, const Fr* scalars, size_t n, void* scratch, cudaStream_t stream) const;

  // Bytes that mul needs, whatever n.
  size_t scratch_bytes() const;

private:
  Buffer<Affine<F>> table_;
  int sms_ = 0;
};

extern template class FixedBase<Fp>;
extern template class FixedBase<Fp2>;

}  // namespace fg
