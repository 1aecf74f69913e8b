#include "msm_sort.cuh"

#include <cub/cub.cuh>

namespace fg {
namespace {

constexpr int THREADS = 256;

// 2*a > r, i.e. a > (r-1)/2.
__device__ bool above_half(const Fr& a) {
  uint32_t d[Fr::N], p[Fr::N], t[Fr::N];
  for (int i = 0; i < Fr::N; i++) p[i] = FrParams::mod(i);
  limbs_add<Fr::N>(d, a.v, a.v);
  return limbs_sub<Fr::N>(t, p, d) != 0;
}

__global__ void digits_kernel(SortShape s, const Fr* scalars, uint32_t* digits) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= s.n) return;
  Fr a = scalars[i].from_mont();
  const bool flip = above_half(a);
  if (flip) a = a.neg();
  const uint32_t mask = (1u << s.window) - 1, zero = s.keys();
  uint32_t carry = 0;
  for (int w = 0; w < s.windows; w++) {
    uint32_t d = (a.v[0] & mask) + carry;
    carry = d > s.buckets;
    bool negative = flip;
    if (carry) {
      d = (1u << s.window) - d;
      negative = !negative;
    }
    uint32_t word = zero;
    if (d) word = (uint32_t(w % s.group) * s.buckets + d - 1) | (negative ? DIGIT_SIGN : 0);
    digits[size_t(w) * s.n + i] = word;
    FG_UNROLL
    for (int j = 0; j < Fr::N; j++) a.v[j] = __funnelshift_r(a.v[j], j + 1 < Fr::N ? a.v[j + 1] : 0, s.window);
  }
}

__global__ void iota_kernel(uint32_t* v, size_t n, size_t count) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) v[i] = uint32_t(i % n);
}

// start[b] = first position whose bucket is not below b.
__global__ void bounds_kernel(const uint32_t* sorted, uint32_t count, uint32_t keys, uint64_t* start) {
  uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b > keys) return;
  uint32_t lo = 0, hi = count;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if ((sorted[mid] & ~DIGIT_SIGN) < b)
      lo = mid + 1;
    else
      hi = mid;
  }
  start[b] = lo;
}

__global__ void most_kernel(const uint64_t* start, uint32_t keys, uint32_t* most) {
  uint32_t m = 0;
  for (uint32_t b = blockIdx.x * blockDim.x + threadIdx.x; b < keys; b += gridDim.x * blockDim.x) {
    uint32_t k = uint32_t(start[b + 1]) - uint32_t(start[b]);
    m = k > m ? k : m;
  }
  for (int d = 16; d; d >>= 1) {
    uint32_t o = __shfl_xor_sync(0xffffffffu, m, d);
    m = o > m ? o : m;
  }
  if ((threadIdx.x & 31) == 0 && m) atomicMax(most, m);
}

__global__ void next_kernel(const uint64_t* start, uint32_t keys, uint64_t* next) {
  uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b > keys) return;
  uint64_t v = 0;
  if (b < keys) {
    uint32_t k = uint32_t(start[b + 1]) - uint32_t(start[b]);
    if (k > 1) v = (uint64_t(k / 2) << 32) | ((k + 1) / 2);
  }
  next[b] = v;
}

}  // namespace

void msm_digits(const SortShape& s, const Fr* scalars, uint32_t* digits, cudaStream_t stream) {
  if (s.n == 0) return;
  digits_kernel<<<blocks_for(s.n, THREADS), THREADS, 0, stream>>>(s, scalars, digits);
  FG_LAUNCHED();
}

void msm_iota(uint32_t* values, size_t n, size_t count, cudaStream_t stream) {
  if (count == 0) return;
  iota_kernel<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(values, n, count);
  FG_LAUNCHED();
}

size_t msm_sort_temp_bytes(size_t count, int key_bits) {
  size_t bytes = 0;
  const uint32_t* in = nullptr;
  uint32_t* out = nullptr;
  FG_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, uint32_t(count), 0, key_bits));
  return bytes;
}

size_t msm_scan_temp_bytes(uint32_t keys) {
  size_t bytes = 0;
  uint64_t* p = nullptr;
  FG_CUDA(cub::DeviceScan::ExclusiveSum(nullptr, bytes, p, p, int(keys + 1)));
  return bytes;
}

void msm_sort_group(const SortShape& s, size_t count, void* temp, size_t temp_bytes, const uint32_t* digits,
                    uint32_t* sorted_digits, const uint32_t* values, uint32_t* sorted_values, uint64_t* start,
                    uint32_t* most, cudaStream_t stream) {
  FG_CUDA(cub::DeviceRadixSort::SortPairs(temp, temp_bytes, digits, sorted_digits, values, sorted_values,
                                          uint32_t(count), 0, s.key_bits(), stream));
  const uint32_t keys = s.keys();
  bounds_kernel<<<blocks_for(size_t(keys) + 1, THREADS), THREADS, 0, stream>>>(sorted_digits, uint32_t(count), keys,
                                                                               start);
  FG_LAUNCHED();
  FG_CUDA(cudaMemsetAsync(most, 0, sizeof *most, stream));
  unsigned blocks = blocks_for(keys, THREADS);
  most_kernel<<<blocks < 1024 ? blocks : 1024, THREADS, 0, stream>>>(start, keys, most);
  FG_LAUNCHED();
}

void msm_next_level(uint32_t keys, const uint64_t* start, uint64_t* next, void* temp, size_t temp_bytes,
                    cudaStream_t stream) {
  next_kernel<<<blocks_for(size_t(keys) + 1, THREADS), THREADS, 0, stream>>>(start, keys, next);
  FG_LAUNCHED();
  FG_CUDA(cub::DeviceScan::ExclusiveSum(temp, temp_bytes, next, next, int(keys + 1), stream));
}

}  // namespace fg
