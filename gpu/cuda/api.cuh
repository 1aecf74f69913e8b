// What the files that implement filgroth_cuda.h share: handles, and the frame in which every entry runs.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "device.cuh"
#include "filgroth_cuda.h"
#include "fixed_base.cuh"
#include "msm.cuh"
#include "ntt.cuh"

namespace fg {

// DeviceScope makes a device current and puts the thread's own back.
class DeviceScope {
  int before_ = -1;

 public:
  explicit DeviceScope(int ordinal) {
    FG_CUDA(cudaGetDevice(&before_));
    FG_CUDA(cudaSetDevice(ordinal));
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() { cudaSetDevice(before_); }
};

// guarded runs f and turns what it throws into a result.
template <class F>
fg_result guarded(F f) noexcept {
  fg_result r{};
  r.index = -1;
  try {
    f();
    return r;
  } catch (const Error& e) {
    r.code = e.code;
    r.cuda = e.cuda;
    r.need = e.need;
    r.have = e.have;
    r.index = e.index;
    std::snprintf(r.message, sizeof r.message, "%s", e.text);
  } catch (const std::bad_alloc&) {
    r.code = E_HOST_MEMORY;
    std::snprintf(r.message, sizeof r.message, "out of host memory");
  } catch (const std::exception& e) {
    r.code = E_INTERNAL;
    std::snprintf(r.message, sizeof r.message, "%s", e.what());
  } catch (...) {
    r.code = E_INTERNAL;
    std::snprintf(r.message, sizeof r.message, "unknown exception");
  }
  return r;
}

template <class F>
fg_result guarded_on(int ordinal, F f) noexcept {
  return guarded([&] {
    DeviceScope scope(ordinal);
    f();
  });
}

// released runs f, which gives resources back, with a device current. It makes no checked call: an injected fault must
// not turn into a leak.
template <class F>
void released_on(int ordinal, F f) noexcept {
  int before = -1;
  cudaGetDevice(&before);
  cudaSetDevice(ordinal);
  f();
  if (before >= 0) cudaSetDevice(before);
}

// BaseTable is the table of multiples of the base that was asked for last.
template <class F>
class BaseTable {
  std::unique_ptr<FixedBase<F>> table_;
  Affine<F> base_;

 public:
  const FixedBase<F>& get(const Affine<F>& base, cudaStream_t s) {
    if (!table_ || !(base_ == base)) {
      table_.reset();
      table_ = std::make_unique<FixedBase<F>>(base, s);
      base_ = base;
    }
    return *table_;
  }
  void clear() { table_.reset(); }
};

}  // namespace fg

// The device handle owns what calls share. Its scratch memory is used by one call at a time.
struct fg_device {
  const int ordinal;
  const uint64_t budget;
  fg::Stream main;
  fg::MsmContext msm;
  fg::BaseTable<fg::Fp> g1;
  fg::BaseTable<fg::Fp2> g2;

  fg_device(int ordinal_, uint64_t budget_) : ordinal(ordinal_), budget(budget_) {}

  // Bytes that may still be allocated, with what require and scratch would give back for it: scratch memory, and full
  // tables of twiddles.
  uint64_t available() const;
  // Makes room for so many bytes, giving back tables and scratch memory where needed; throws E_MEMORY if that cannot be.
  void require(uint64_t bytes, const char* what);
  // At least so many bytes, valid until the next call; the contents are undefined.
  void* scratch(uint64_t bytes);
  uint64_t scratch_bytes() const { return scratch_.bytes(); }
  const fg::NttPlan& ntt_plan(int log_n, fg::NttDirection dir, bool coset);
  // With full tables where there is plenty of room.
  const fg::Quotient& quotient(int log_n);
  void trim();

 private:
  fg::Buffer<unsigned char> scratch_;
  std::map<std::tuple<int, int, bool>, std::unique_ptr<fg::NttPlan>> plans_;
  std::map<int, std::unique_ptr<fg::Quotient>> quotients_;

  uint64_t free_now() const;
  uint64_t tables() const;
  void shrink_tables();
};
