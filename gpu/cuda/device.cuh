// Owners of device resources, checked CUDA calls, byte counters and the fault hook. Everything that touches the CUDA
// runtime goes through this header, so that no return code is lost and every failure can be provoked in a test.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

namespace fg {

// Code is the kind of a failure as the C interface reports it; the numbers are part of the ABI.
enum Code : int {
  OK = 0,
  E_CUDA = 1,       // a CUDA call failed
  E_MEMORY = 2,     // device memory does not suffice
  E_ARGUMENT = 3,   // the caller's argument is out of range
  E_CANCELLED = 4,  // the caller's flag was raised
  E_POINT = 5,      // a point of a key is not valid
  E_INTERNAL = 6,   // a bug
  E_HOST_MEMORY = 7,
  E_NO_DEVICE = 8,
  E_NO_DRIVER = 9,
  E_ARCH = 10,      // the library has no code for this device
};

// Error is what every function of the library throws; api.cu turns it into a result.
struct Error : std::exception {
  int code;
  int cuda;
  uint64_t need = 0, have = 0;  // bytes, for E_MEMORY where known
  int64_t index = -1;           // the offending element, for E_POINT
  char text[224];

  Error(int code_, int cuda_, const char* what_, const char* file, int line) noexcept : code(code_), cuda(cuda_) {
    const char* base = file;
    for (const char* p = file; *p; p++)
      if (*p == '/') base = p + 1;
    std::snprintf(text, sizeof text, "%.180s (%.30s:%d)", what_, base, line);
  }
  const char* what() const noexcept override { return text; }
};

#define FG_FAIL(code, ...)                                                    \
  do {                                                                      \
    char fg_text_[200];                                                   \
    std::snprintf(fg_text_, sizeof fg_text_, __VA_ARGS__);                \
    throw ::fg::Error((code), 0, fg_text_, __FILE__, __LINE__);           \
  } while (0)

#define FG_REQUIRE(cond)                                                      \
  do {                                                                      \
    if (!(cond)) FG_FAIL(::fg::E_ARGUMENT, "requirement failed: %s", #cond); \
  } while (0)

// The fault hook, the one global of the library: while it is positive, every checked call counts it down, and the call
// that reaches zero fails without being made. Tests run n = 1, 2, ... until a run sees no fault.
inline std::atomic<int64_t>& fault_countdown() {
  static std::atomic<int64_t> n{0};
  return n;
}

inline bool fault_due() {
  std::atomic<int64_t>& n = fault_countdown();
  if (n.load(std::memory_order_relaxed) <= 0) return false;
  return n.fetch_sub(1) == 1;
}

// Bytes held through the owners below, by device ordinal, and page-locked host memory.
constexpr int MAX_DEVICES = 64;

struct Counters {
  std::atomic<int64_t> device[MAX_DEVICES] = {}, peak[MAX_DEVICES] = {};
  std::atomic<int64_t> pinned{0};
};

inline Counters& counters() {
  static Counters c;
  return c;
}

inline void count_device(int ordinal, int64_t n) {
  if (ordinal < 0 || ordinal >= MAX_DEVICES) return;
  Counters& c = counters();
  int64_t now = c.device[ordinal].fetch_add(n) + n;
  int64_t peak = c.peak[ordinal].load();
  while (now > peak && !c.peak[ordinal].compare_exchange_weak(peak, now)) {
  }
}

inline void check_cuda(cudaError_t e, const char* expr, const char* file, int line) {
  if (e == cudaSuccess) return;
  cudaGetLastError();  // an error that is not sticky must not show up again in an unrelated call
  char text[200];
  std::snprintf(text, sizeof text, "%.50s: %.60s in %.80s", cudaGetErrorName(e), cudaGetErrorString(e), expr);
  throw Error(e == cudaErrorMemoryAllocation ? E_MEMORY : E_CUDA, int(e), text, file, line);
}

#define FG_CUDA(expr)                                                                                       \
  ::fg::check_cuda(::fg::fault_due() ? cudaErrorUnknown : (expr), #expr, __FILE__, __LINE__)

// After a kernel launch: catches a launch that could not start.
#define FG_LAUNCHED() FG_CUDA(cudaGetLastError())

// Buffer is uninitialised device memory for n values of T.
template <typename T>
class Buffer {
  T* p_ = nullptr;
  size_t n_ = 0;
  int ordinal_ = -1;

public:
  Buffer() = default;
  explicit Buffer(size_t n) { alloc(n); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)), ordinal_(o.ordinal_) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(n_, o.n_);
    std::swap(ordinal_, o.ordinal_);
    return *this;
  }
  ~Buffer() { release(); }

  // alloc replaces the contents; n = 0 frees.
  void alloc(size_t n) {
    release();
    if (n == 0) return;
    if (n > (size_t(1) << 44) / sizeof(T)) FG_FAIL(E_ARGUMENT, "allocation of %zu values", n);
    void* p = nullptr;
    FG_CUDA(cudaGetDevice(&ordinal_));
    FG_CUDA(cudaMalloc(&p, n * sizeof(T)));
    p_ = static_cast<T*>(p);
    n_ = n;
    count_device(ordinal_, int64_t(n * sizeof(T)));
  }
  // reserve keeps what is there if it is large enough.
  void reserve(size_t n) {
    if (n > n_) alloc(n);
  }
  void release() noexcept {
    if (!p_) return;
    cudaFree(p_);
    count_device(ordinal_, -int64_t(n_ * sizeof(T)));
    p_ = nullptr;
    n_ = 0;
  }
  T* get() const { return p_; }
  T* data() const { return p_; }
  size_t size() const { return n_; }
  size_t bytes() const { return n_ * sizeof(T); }
};

// Pinned is page-locked host memory for n values of T.
template <typename T>
class Pinned {
  T* p_ = nullptr;
  size_t n_ = 0;

public:
  Pinned() = default;
  explicit Pinned(size_t n) { alloc(n); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  Pinned(Pinned&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
  Pinned& operator=(Pinned&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(n_, o.n_);
    return *this;
  }
  ~Pinned() { release(); }

  void alloc(size_t n) {
    release();
    if (n == 0) return;
    if (n > (size_t(1) << 44) / sizeof(T)) FG_FAIL(E_ARGUMENT, "allocation of %zu values", n);
    void* p = nullptr;
    FG_CUDA(cudaHostAlloc(&p, n * sizeof(T), cudaHostAllocPortable));
    p_ = static_cast<T*>(p);
    n_ = n;
    counters().pinned += int64_t(n * sizeof(T));
  }
  void reserve(size_t n) {
    if (n > n_) alloc(n);
  }
  void release() noexcept {
    if (!p_) return;
    cudaFreeHost(p_);
    counters().pinned -= int64_t(n_ * sizeof(T));
    p_ = nullptr;
    n_ = 0;
  }
  T* get() const { return p_; }
  T* data() const { return p_; }
  size_t size() const { return n_; }
  size_t bytes() const { return n_ * sizeof(T); }
  T& operator[](size_t i) const { return p_[i]; }
};

class Stream {
  cudaStream_t s_ = nullptr;

public:
  Stream() { FG_CUDA(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (!s_) return;
    cudaStreamSynchronize(s_);
    cudaStreamDestroy(s_);
  }
  operator cudaStream_t() const { return s_; }
  void sync() const { FG_CUDA(cudaStreamSynchronize(s_)); }
};

class Event {
  cudaEvent_t e_ = nullptr;
  struct Flags {
    unsigned v;
  };
  explicit Event(Flags f) { FG_CUDA(cudaEventCreateWithFlags(&e_, f.v)); }

public:
  explicit Event(bool timing = false) : Event(Flags{timing ? unsigned(cudaEventDefault) : unsigned(cudaEventDisableTiming)}) {}
  // One for which sync sleeps instead of spinning.
  static Event sleeping() { return Event(Flags{unsigned(cudaEventDisableTiming) | unsigned(cudaEventBlockingSync)}); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&& o) noexcept : e_(std::exchange(o.e_, nullptr)) {}
  ~Event() {
    if (e_) cudaEventDestroy(e_);
  }
  operator cudaEvent_t() const { return e_; }
  void record(cudaStream_t s) const { FG_CUDA(cudaEventRecord(e_, s)); }
  void gate(cudaStream_t s) const { FG_CUDA(cudaStreamWaitEvent(s, e_, 0)); }
  void sync() const { FG_CUDA(cudaEventSynchronize(e_)); }
  // ms is the time from an earlier event to this one; both must have been made with timing and have happened.
  float ms_since(const Event& start) const {
    float t = 0;
    FG_CUDA(cudaEventElapsedTime(&t, start.e_, e_));
    return t;
  }
};

// DrainOnExit waits for a stream when a scope is left, whatever the reason: buffers of the scope that were declared
// before it are then not in use any more when they are freed.
class DrainOnExit {
  cudaStream_t s_;

public:
  explicit DrainOnExit(cudaStream_t s) : s_(s) {}
  DrainOnExit(const DrainOnExit&) = delete;
  DrainOnExit& operator=(const DrainOnExit&) = delete;
  ~DrainOnExit() { cudaStreamSynchronize(s_); }
};

template <typename T>
void upload(T* dst, const T* src, size_t n, cudaStream_t s) {
  if (n) FG_CUDA(cudaMemcpyAsync(dst, src, n * sizeof(T), cudaMemcpyHostToDevice, s));
}

template <typename T>
void download(T* dst, const T* src, size_t n, cudaStream_t s) {
  if (n) FG_CUDA(cudaMemcpyAsync(dst, src, n * sizeof(T), cudaMemcpyDeviceToHost, s));
}

template <typename T>
void clear(T* dst, size_t n, cudaStream_t s) {
  if (n) FG_CUDA(cudaMemsetAsync(dst, 0, n * sizeof(T), s));
}

// Cancel is the caller's flag; work looks at it between chunks.
class Cancel {
  const volatile int32_t* flag_;

public:
  explicit Cancel(const volatile int32_t* flag = nullptr) : flag_(flag) {}
  void check() const {
    if (flag_ && *flag_) throw Error(E_CANCELLED, 0, "cancelled", __FILE__, __LINE__);
  }
};

inline unsigned blocks_for(size_t n, unsigned threads) { return unsigned((n + threads - 1) / threads); }

}  // namespace fg
