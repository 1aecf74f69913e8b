#include <algorithm>
#include <iterator>
#include <new>

#include "api.cuh"

#ifndef FG_SOURCE_DIGEST
#define FG_SOURCE_DIGEST ""
#endif
#ifndef FG_ARCHITECTURES
#define FG_ARCHITECTURES ""
#endif

using namespace fg;

namespace {

__global__ void probe_kernel() {}

}  // namespace

namespace {

// Twiddle tables above this are given back when something else needs the room.
constexpr uint64_t SMALL_TABLES = 1u << 30;

}  // namespace

// Without anything given back.
uint64_t fg_device::free_now() const {
  size_t free = 0, total = 0;
  FG_CUDA(cudaMemGetInfo(&free, &total));
  // What the driver keeps for itself when nearly everything is taken.
  const uint64_t margin = 256u << 20;
  uint64_t left = free > margin ? free - margin : 0;
  if (budget) {
    uint64_t held = uint64_t(std::max<int64_t>(0, counters().device[ordinal]));
    left = std::min(left, budget > held ? budget - held : 0);
  }
  return left;
}

uint64_t fg_device::tables() const {
  uint64_t n = 0;
  for (const auto& q : quotients_)
    if (q.second->bytes() > SMALL_TABLES) n += q.second->bytes();
  return n;
}

void fg_device::shrink_tables() {
  for (auto i = quotients_.begin(); i != quotients_.end();)
    i = i->second->bytes() > SMALL_TABLES ? quotients_.erase(i) : std::next(i);
}

uint64_t fg_device::available() const { return free_now() + scratch_.bytes() + tables(); }

void fg_device::require(uint64_t bytes, const char* what) {
  if (bytes > free_now() + scratch_.bytes()) shrink_tables();
  uint64_t have = free_now() + scratch_.bytes();
  if (bytes <= have) {
    if (bytes > free_now()) scratch_.release();
    return;
  }
  char text[160];
  std::snprintf(text, sizeof text, "%s needs %llu bytes of device memory, %llu are available", what,
                (unsigned long long)bytes, (unsigned long long)have);
  Error e(E_MEMORY, 0, text, __FILE__, __LINE__);
  e.need = bytes;
  e.have = have;
  throw e;
}

void* fg_device::scratch(uint64_t bytes) {
  if (bytes > scratch_.bytes()) {
    scratch_.release();
    require(bytes, "scratch memory");
    scratch_.alloc(bytes);
  }
  return scratch_.get();
}

const NttPlan& fg_device::ntt_plan(int log_n, NttDirection dir, bool coset) {
  const auto key = std::make_tuple(log_n, int(dir), coset);
  auto found = plans_.find(key);
  if (found != plans_.end()) return *found->second;
  auto p = std::make_unique<NttPlan>(log_n, dir, coset, main);
  return *(plans_[key] = std::move(p));
}

const Quotient& fg_device::quotient(int log_n) {
  auto found = quotients_.find(log_n);
  if (found != quotients_.end()) return *found->second;
  const uint64_t full = Quotient::full_table_bytes(log_n);
  const bool roomy = free_now() > 2 * full;
  auto q = std::make_unique<Quotient>(log_n, main, roomy ? NTT_MAX_LOG : NTT_TABLE_LEVELS);
  return *(quotients_[log_n] = std::move(q));
}

void fg_device::trim() {
  scratch_.release();
  plans_.clear();
  quotients_.clear();
  g1.clear();
  g2.clear();
}

extern "C" {

uint32_t fg_abi_version(void) { return FG_ABI_VERSION; }
const char* fg_source_digest(void) { return FG_SOURCE_DIGEST; }
const char* fg_architectures(void) { return FG_ARCHITECTURES; }

fg_result fg_versions(int32_t* driver, int32_t* runtime, int32_t* devices) {
  return guarded([&] {
    int d = 0, r = 0, n = 0;
    FG_CUDA(cudaRuntimeGetVersion(&r));
    if (cudaDriverGetVersion(&d) != cudaSuccess || d == 0) FG_FAIL(E_NO_DRIVER, "no NVIDIA driver is loaded");
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess) cudaGetLastError();
    if (e == cudaErrorInsufficientDriver)
      FG_FAIL(E_NO_DRIVER, "the driver supports CUDA %d.%d, the library needs %d.%d", d / 1000, d % 1000 / 10, r / 1000,
              r % 1000 / 10);
    if (e == cudaErrorNoDevice || (e == cudaSuccess && n == 0)) FG_FAIL(E_NO_DEVICE, "the driver reports no device");
    FG_CUDA(e);
    *driver = d;
    *runtime = r;
    *devices = n;
  });
}

fg_result fg_device_query(int32_t ordinal, fg_device_info* out) {
  return guarded_on(ordinal, [&] {
    cudaDeviceProp p;
    FG_CUDA(cudaGetDeviceProperties(&p, ordinal));
    size_t free = 0, total = 0;
    FG_CUDA(cudaMemGetInfo(&free, &total));
    fg_device_info info{};
    std::snprintf(info.name, sizeof info.name, "%.127s", p.name);
    info.major = p.major;
    info.minor = p.minor;
    info.processors = p.multiProcessorCount;
    cudaFuncAttributes a;
    info.runs = cudaFuncGetAttributes(&a, probe_kernel) == cudaSuccess;
    if (!info.runs) cudaGetLastError();
    info.memory_total = total;
    info.memory_free = free;
    *out = info;
  });
}

void fg_bytes_held(int32_t ordinal, fg_bytes* out) {
  const Counters& c = counters();
  *out = fg_bytes{};
  out->pinned = c.pinned;
  if (ordinal < 0 || ordinal >= MAX_DEVICES) return;
  out->device = c.device[ordinal];
  out->device_peak = c.peak[ordinal];
}

void fg_bytes_reset_peak(int32_t ordinal) {
  if (ordinal >= 0 && ordinal < MAX_DEVICES) counters().peak[ordinal] = counters().device[ordinal].load();
}

void fg_fault_set(int64_t n) { fault_countdown() = n; }
int64_t fg_fault_left(void) { return fault_countdown(); }

fg_result fg_host_register(int32_t ordinal, void* p, uint64_t bytes) {
  return guarded_on(ordinal, [&] {
    if (bytes == 0) return;
    FG_CUDA(cudaHostRegister(p, bytes, cudaHostRegisterPortable));
    counters().pinned += int64_t(bytes);
  });
}

fg_result fg_host_unregister(int32_t ordinal, void* p, uint64_t bytes) {
  // Not counted by the fault hook: giving back is always tried.
  fg_result r{};
  released_on(ordinal, [&] {
    r = guarded([&] {
      check_cuda(cudaHostUnregister(p), "cudaHostUnregister", __FILE__, __LINE__);
      counters().pinned -= int64_t(bytes);
    });
  });
  return r;
}

fg_result fg_device_open(int32_t ordinal, uint64_t budget, fg_device** out) {
  return guarded_on(ordinal, [&] {
    cudaFuncAttributes a;
    if (cudaFuncGetAttributes(&a, probe_kernel) != cudaSuccess) {
      cudaGetLastError();
      cudaDeviceProp p;
      FG_CUDA(cudaGetDeviceProperties(&p, ordinal));
      FG_FAIL(E_ARCH, "device %d (%.60s) has compute capability %d.%d, the library was built for %.60s", ordinal, p.name,
              p.major, p.minor, FG_ARCHITECTURES);
    }
    *out = new fg_device(ordinal, budget);
  });
}

void fg_device_close(fg_device* d) {
  if (!d) return;
  released_on(d->ordinal, [&] { delete d; });
}

fg_result fg_device_trim(fg_device* d) {
  return guarded_on(d->ordinal, [&] { d->trim(); });
}

}  // extern "C"
