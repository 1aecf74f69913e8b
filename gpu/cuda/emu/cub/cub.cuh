// Stand-ins for the CUB calls of the library, for the emulated runtime.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "../cuda_runtime.h"

namespace cub {

struct DeviceScan {
  template <class In, class Out, class N>
  static cudaError_t ExclusiveSum(void* temp, size_t& bytes, In in, Out out, N n, cudaStream_t = nullptr) {
    if (!temp) {
      bytes = 1;
      return cudaSuccess;
    }
    typename std::decay<decltype(*out)>::type sum{};
    for (N i = 0; i < n; i++) {
      auto v = in[i];
      out[i] = sum;
      sum = sum + v;
    }
    return cudaSuccess;
  }
};

struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* temp, size_t& bytes, const K* kin, K* kout, const V* vin, V* vout, N n,
                               int begin = 0, int end = sizeof(K) * 8, cudaStream_t = nullptr) {
    if (!temp) {
      bytes = 1;
      return cudaSuccess;
    }
    const K mask = (end - begin >= int(sizeof(K) * 8)) ? ~K(0) : ((K(1) << (end - begin)) - 1);
    std::vector<N> order(n);
    std::iota(order.begin(), order.end(), N(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](N a, N b) { return ((kin[a] >> begin) & mask) < ((kin[b] >> begin) & mask); });
    for (N i = 0; i < n; i++) {
      kout[i] = kin[order[i]];
      vout[i] = vin[order[i]];
    }
    return cudaSuccess;
  }
};

}  // namespace cub
