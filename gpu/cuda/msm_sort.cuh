// First half of an MSM, the same for both groups: scalars to signed digits, digits to runs of equal bucket.
#pragma once

#include "device.cuh"
#include "fr.cuh"

namespace fg {

// A digit word: the sign in bit 31, below it the bucket (window in group * buckets + |digit| - 1), or the
// first bucket past the group for a zero digit, which so sorts last.
constexpr uint32_t DIGIT_SIGN = 0x80000000u;

struct SortShape {
  size_t n;           // scalars
  int window;         // bits
  int windows;        // of a scalar
  int group;          // windows sorted together
  uint32_t buckets;   // of one window: 2^(window-1)
  FG_HD uint32_t keys() const { return buckets * uint32_t(group); }
  int key_bits() const {
    int b = 0;
    for (uint32_t k = keys(); k; k >>= 1) b++;
    return b;
  }
};

// digits[w*n + i] for all windows. A scalar above r/2 is replaced by its negative with the signs flipped,
// which makes the top digit fit without another window.
void msm_digits(const SortShape& s, const Fr* scalars, uint32_t* digits, cudaStream_t stream);

// values[k] = k mod n for k < count.
void msm_iota(uint32_t* values, size_t n, size_t count, cudaStream_t stream);

size_t msm_sort_temp_bytes(size_t count, int key_bits);

// Sorts count digit words by bucket with their point numbers. start[b] is then the first position of
// bucket b, for b <= keys (start[keys] counts the nonzero digits); *most is the size of the largest bucket.
void msm_sort_group(const SortShape& s, size_t count, void* temp, size_t temp_bytes, const uint32_t* digits,
                    uint32_t* sorted_digits, const uint32_t* values, uint32_t* sorted_values, uint64_t* start,
                    uint32_t* most, cudaStream_t stream);

// Layout of the next level of the additions: for the buckets' sizes k given by start (low words), next[b]
// holds in its high word the number of pairs in front of bucket b and in its low word that of points left
// after pairing: none of k <= 1 (finished), else ceil(k/2). keys+1 values; the last are the totals.
void msm_next_level(uint32_t keys, const uint64_t* start, uint64_t* next, void* temp, size_t temp_bytes,
                    cudaStream_t stream);
size_t msm_scan_temp_bytes(uint32_t keys);

}  // namespace fg
