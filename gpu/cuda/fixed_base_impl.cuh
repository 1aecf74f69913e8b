// FixedBase of fixed_base.cuh, instantiated for one group in fixed_base_g1.cu and fixed_base_g2.cu.
#pragma once

#include "fixed_base.cuh"

#include <vector>

#include "batch_add.cuh"
#include "msm.cuh"

namespace fg {
namespace {

constexpr int BITS = 16, WINDOWS = 16;            // of a 255-bit scalar
constexpr uint32_t ENTRIES = 1u << BITS;          // of a window's table
constexpr size_t CHUNK = size_t(1) << 22;         // scalars of one pass
constexpr int THREADS = 256;

// Doubles the filled part of every window's table: entry 2^k + j = entry 2^k + entry j for 1 <= j <= 2^k.
template <class F>
struct GrowTable {
  struct Ref {
    uint32_t window, j;
  };
  Affine<F>* table;
  int k;

  FG_D uint32_t count() const { return uint32_t(WINDOWS) << k; }
  FG_D Ref ref(uint32_t i) const { return {i >> k, (i & ((1u << k) - 1)) + 1}; }
  FG_D const Affine<F>* first(const Ref& r) const { return table + size_t(r.window) * ENTRIES + (1u << k); }
  FG_D const Affine<F>* second(const Ref& r) const { return table + size_t(r.window) * ENTRIES + r.j; }
  FG_D bool negate_first(const Ref&) const { return false; }
  FG_D bool negate_second(const Ref&) const { return false; }
  FG_D Affine<F>* target(const Ref& r) const {
    uint32_t d = (1u << k) + r.j;
    return d < ENTRIES ? &table[size_t(r.window) * ENTRIES + d] : nullptr;
  }
};

// out[i] += entry digit[i] of one window.
template <class F>
struct AddEntry {
  struct Ref {
    uint32_t i, digit;
  };
  uint32_t n;
  const Affine<F>* table;
  const uint16_t* digits;
  Affine<F>* out;

  FG_D uint32_t count() const { return n; }
  FG_D Ref ref(uint32_t i) const { return {i, digits[i]}; }
  FG_D const Affine<F>* first(const Ref& r) const { return out + r.i; }
  FG_D const Affine<F>* second(const Ref& r) const { return table + r.digit; }
  FG_D bool negate_first(const Ref&) const { return false; }
  FG_D bool negate_second(const Ref&) const { return false; }
  FG_D Affine<F>* target(const Ref& r) const { return &out[r.i]; }
};

__global__ void window_digits_kernel(const Fr* scalars, uint32_t n, uint16_t* digits) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Fr a = scalars[i].from_mont();
  FG_UNROLL
  for (int w = 0; w < WINDOWS; w++) digits[size_t(w) * CHUNK + i] = uint16_t(a.v[w / 2] >> (16 * (w & 1)));
}

template <class F>
__global__ void first_entry_kernel(const Affine<F>* table, const uint16_t* digit, uint32_t n, Affine<F>* out) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) store_vec(&out[i], load_vec(&table[digit[i]]));
}

}  // namespace

template <class F>
FixedBase<F>::FixedBase(const Affine<F>& base, cudaStream_t stream) : sms_(device_sms()) {
  std::vector<Affine<F>> power(WINDOWS);  // 2^(16 w) base
  XYZZ<F> p = XYZZ<F>::from(base);
  for (int w = 0; w < WINDOWS; w++) {
    power[w] = p.to_affine();
    for (int i = 0; i < BITS; i++) p = p.dbl();
  }
  table_.alloc(size_t(WINDOWS) * ENTRIES);
  Buffer<unsigned char> scratch(batch_scratch_bytes<F>(sms_, uint64_t(WINDOWS) * ENTRIES / 2));
  DrainOnExit drain(stream);
  clear(table_.get(), table_.size(), stream);
  for (int w = 0; w < WINDOWS; w++) upload(table_.get() + size_t(w) * ENTRIES + 1, &power[w], 1, stream);
  for (int k = 0; k < BITS; k++) batch_add<F>(GrowTable<F>{table_.get(), k}, scratch.get(), sms_, stream);
  FG_CUDA(cudaStreamSynchronize(stream));
}

template <class F>
size_t FixedBase<F>::scratch_bytes() const {
  return WINDOWS * CHUNK * sizeof(uint16_t) + batch_scratch_bytes<F>(sms_, CHUNK);
}

template <class F>
void FixedBase<F>::mul(Affine<F>* out, const Fr* scalars, size_t n, void* scratch, cudaStream_t stream) const {
  uint16_t* digits = static_cast<uint16_t*>(scratch);
  void* products = digits + WINDOWS * CHUNK;
  for (size_t at = 0; at < n; at += CHUNK) {
    const uint32_t m = uint32_t(n - at < CHUNK ? n - at : CHUNK);
    window_digits_kernel<<<blocks_for(m, THREADS), THREADS, 0, stream>>>(scalars + at, m, digits);
    FG_LAUNCHED();
    first_entry_kernel<F><<<blocks_for(m, THREADS), THREADS, 0, stream>>>(table_.get(), digits, m, out + at);
    FG_LAUNCHED();
    for (int w = 1; w < WINDOWS; w++)
      batch_add<F>(AddEntry<F>{m, table_.get() + size_t(w) * ENTRIES, digits + w * CHUNK, out + at}, products, sms_, stream);
  }
}

}  // namespace fg
