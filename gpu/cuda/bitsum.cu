#include "bitsum_impl.cuh"

#include <cub/cub.cuh>

namespace fg {
namespace {

constexpr int THREADS = 256;

// Word w of the bits, without those at and above n.
__device__ uint64_t masked_word(const uint64_t* bits, size_t n, size_t w) {
  uint64_t x = bits[w];
  size_t left = n - w * 64;
  return left >= 64 ? x : x & ((uint64_t(1) << left) - 1);
}

__global__ void popcount_kernel(const uint64_t* bits, size_t n, size_t words, uint32_t* counts) {
  size_t w = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (w > words) return;
  counts[w] = w < words ? __popcll(masked_word(bits, n, w)) : 0;
}

__global__ void list_kernel(const uint64_t* bits, size_t n, size_t words, const uint32_t* offsets, uint32_t* list) {
  size_t w = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (w >= words) return;
  uint64_t x = masked_word(bits, n, w);
  for (uint32_t at = offsets[w]; x; x &= x - 1) list[at++] = uint32_t(w * 64) + uint32_t(__ffsll(x) - 1);
}

}  // namespace

size_t bitsum_temp_bytes(size_t words) {
  size_t bytes = 0;
  uint32_t* p = nullptr;
  FG_CUDA(cub::DeviceScan::ExclusiveSum(nullptr, bytes, p, p, int(words + 1)));
  return bytes;
}

void bitsum_list(const uint64_t* bits, size_t n, uint32_t* offsets, void* temp, size_t temp_bytes, uint32_t* list,
                 cudaStream_t stream) {
  const size_t words = (n + 63) / 64;
  popcount_kernel<<<blocks_for(words + 1, THREADS), THREADS, 0, stream>>>(bits, n, words, offsets);
  FG_LAUNCHED();
  FG_CUDA(cub::DeviceScan::ExclusiveSum(temp, temp_bytes, offsets, offsets, int(words + 1), stream));
  list_kernel<<<blocks_for(words, THREADS), THREADS, 0, stream>>>(bits, n, words, offsets, list);
  FG_LAUNCHED();
}

}  // namespace fg
