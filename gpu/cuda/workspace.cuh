// Carving of one block of device memory into aligned arrays. Run without a base it only counts, so the
// same code states the bytes of a plan and lays the plan out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fg {

class Carver {
  unsigned char* base_;
  size_t used_ = 0;

public:
  explicit Carver(void* base = nullptr) : base_(static_cast<unsigned char*>(base)) {}
  template <class T>
  T* take(size_t n) {
    size_t at = used_;
    used_ += (n * sizeof(T) + 255) / 256 * 256;
    return base_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  size_t bytes() const { return used_; }
};

}  // namespace fg
