// A stand-in for the CUDA runtime that runs kernels on the host, one fiber for each thread of a block, so that the
// library's logic can be tested where there is no GPU. It replaces the toolkit's header of the same name (emu.sh puts
// this folder first and turns launches into FG_EMU_LAUNCH). Slow; streams are synchronous; never shipped in a library.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __constant__ static
#define __grid_constant__
#define __restrict__
// Blocks run one after another, so one static copy serves as a block's shared memory.
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }

namespace fg_emu {
struct Fiber {
  ucontext_t ctx;
  bool done;
  dim3 thread;
};
struct Block {
  std::vector<Fiber> fibers;
  ucontext_t main;
  unsigned current = 0;
  const std::function<void()>* body = nullptr;
};
inline Block& block() {
  static Block b;
  return b;
}
inline dim3& grid_dim() { static dim3 d; return d; }
inline dim3& block_dim() { static dim3 d; return d; }
inline dim3& block_idx() { static dim3 d; return d; }
inline dim3& thread_idx() { return block().fibers[block().current].thread; }
inline std::vector<char>& shared() {
  static std::vector<char> s(1 << 20);
  return s;
}
inline void yield() {
  Block& b = block();
  swapcontext(&b.fibers[b.current].ctx, &b.main);
}
inline void entry() {
  Block& b = block();
  (*b.body)();
  b.fibers[b.current].done = true;
  yield();
}
// Barriers are a turn of every fiber: correct for kernels whose barriers all threads of the block reach.
inline void run_block(unsigned threads, const std::function<void()>& body) {
  static std::vector<std::unique_ptr<char[]>> stacks;
  constexpr size_t STACK = 192 << 10;
  Block& b = block();
  b.body = &body;
  b.fibers.resize(threads);
  while (stacks.size() < threads) stacks.emplace_back(new char[STACK]);
  for (unsigned i = 0; i < threads; i++) {
    Fiber& f = b.fibers[i];
    f.done = false;
    f.thread = dim3(i, 0, 0);
    getcontext(&f.ctx);
    f.ctx.uc_stack.ss_sp = stacks[i].get();
    f.ctx.uc_stack.ss_size = STACK;
    f.ctx.uc_link = nullptr;
    makecontext(&f.ctx, entry, 0);
  }
  for (bool live = true; live;) {
    live = false;
    for (unsigned i = 0; i < threads; i++) {
      if (b.fibers[i].done) continue;
      b.current = i;
      swapcontext(&b.main, &b.fibers[i].ctx);
      live = live || !b.fibers[i].done;
    }
  }
}
// One kernel at a time: threads of the host share the state above.
inline void launch(dim3 grid, dim3 threads, size_t shared_bytes, const std::function<void()>& body) {
  static std::mutex one;
  std::lock_guard<std::mutex> lock(one);
  if (shared().size() < shared_bytes) shared().resize(shared_bytes);
  grid_dim() = grid;
  block_dim() = threads;
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        block_idx() = dim3(x, y, z);
        run_block(threads.x, body);
      }
}
}  // namespace fg_emu

#define threadIdx (::fg_emu::thread_idx())
#define blockIdx (::fg_emu::block_idx())
#define blockDim (::fg_emu::block_dim())
#define gridDim (::fg_emu::grid_dim())
inline void __syncthreads() { fg_emu::yield(); }
inline void __syncwarp(unsigned = 0xffffffffu) { fg_emu::yield(); }

// Every thread of the block must take part, as for the barriers.
template <class T>
inline T __shfl_xor_sync(unsigned, T v, int mask, int = 32) {
  static T lane[1024];
  unsigned i = fg_emu::thread_idx().x;
  lane[i] = v;
  fg_emu::yield();
  T r = lane[i ^ unsigned(mask)];
  fg_emu::yield();
  return r;
}

inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= ((x >> i) & 1u) << (31 - i);
  return r;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? (lo >> s) | (hi << (32 - s)) : lo;
}
template <class T>
inline T __ldg(const T* p) { return *p; }
template <class T, class U>
inline T atomicAdd(T* p, U v) { T o = *p; *p = T(o + v); return o; }
template <class T, class U>
inline T atomicMin(T* p, U v) { T o = *p; if (T(v) < o) *p = T(v); return o; }
template <class T, class U>
inline T atomicMax(T* p, U v) { T o = *p; if (T(v) > o) *p = T(v); return o; }
template <class T, class U>
inline T atomicOr(T* p, U v) { T o = *p; *p = T(o | v); return o; }

// The part of the runtime that the library uses.
typedef int cudaError_t;
typedef struct fg_emu_stream* cudaStream_t;
typedef struct fg_emu_event { std::chrono::steady_clock::time_point at; }* cudaEvent_t;
enum {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101, cudaErrorNoKernelImageForDevice = 209,
  cudaErrorHostMemoryAlreadyRegistered = 712, cudaErrorNotReady = 600, cudaErrorUnknown = 999
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
                      cudaMemcpyDefault };
enum { cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2, cudaHostAllocPortable = 1,
       cudaHostAllocDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterDefault = 0,
       cudaHostRegisterReadOnly = 8 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin };
struct cudaFuncAttributes { int binaryVersion, ptxVersion, numRegs; };
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major, minor, multiProcessorCount;
};
inline const char* cudaGetErrorName(cudaError_t e) { return e == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown"; }
inline const char* cudaGetErrorString(cudaError_t e) { return e == 2 ? "out of memory" : "unknown error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaMalloc(void** p, size_t n) { *p = std::aligned_alloc(256, (n + 255) / 256 * 256); return *p ? 0 : 2; }
template <class T>
inline cudaError_t cudaMalloc(T** p, size_t n) { return cudaMalloc(reinterpret_cast<void**>(p), n); }
inline cudaError_t cudaFree(void* p) { std::free(p); return 0; }
inline cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMalloc(p, n); }
inline cudaError_t cudaMallocHost(void** p, size_t n) { return cudaMalloc(p, n); }
inline cudaError_t cudaFreeHost(void* p) { std::free(p); return 0; }
namespace fg_emu {
// Page-locked ranges by their first page, with the address that was given. A page belongs to one range.
struct Registered {
  uintptr_t given, end;
};
inline std::mutex& registered_mutex() {
  static std::mutex m;
  return m;
}
inline std::map<uintptr_t, Registered>& registered() {
  static std::map<uintptr_t, Registered> m;
  return m;
}
}  // namespace fg_emu
inline cudaError_t cudaHostRegister(void* p, size_t n, unsigned) {
  std::lock_guard<std::mutex> lock(fg_emu::registered_mutex());
  auto& m = fg_emu::registered();
  const uintptr_t at = uintptr_t(p), first = at / 4096 * 4096, end = (at + n + 4095) / 4096 * 4096;
  auto next = m.upper_bound(first);
  if (next != m.end() && next->first < end) return cudaErrorHostMemoryAlreadyRegistered;
  if (next != m.begin() && std::prev(next)->second.end > first) return cudaErrorHostMemoryAlreadyRegistered;
  m[first] = {at, end};
  return 0;
}
inline cudaError_t cudaHostUnregister(void* p) {
  std::lock_guard<std::mutex> lock(fg_emu::registered_mutex());
  auto& m = fg_emu::registered();
  auto found = m.find(uintptr_t(p) / 4096 * 4096);
  if (found == m.end() || found->second.given != uintptr_t(p)) return cudaErrorInvalidValue;
  m.erase(found);
  return 0;
}
inline cudaError_t cudaMemcpyAsync(void* d, const void* s, size_t n, cudaMemcpyKind, cudaStream_t = 0) { std::memmove(d, s, n); return 0; }
inline cudaError_t cudaMemcpy(void* d, const void* s, size_t n, cudaMemcpyKind) { std::memmove(d, s, n); return 0; }
inline cudaError_t cudaMemsetAsync(void* d, int v, size_t n, cudaStream_t = 0) { std::memset(d, v, n); return 0; }
inline cudaError_t cudaMemset(void* d, int v, size_t n) { std::memset(d, v, n); return 0; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { *s = reinterpret_cast<cudaStream_t>(std::malloc(1)); return 0; }
inline cudaError_t cudaStreamDestroy(cudaStream_t s) { std::free(s); return 0; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return 0; }
inline cudaError_t cudaDeviceSynchronize() { return 0; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { *e = new fg_emu_event(); return 0; }
inline cudaError_t cudaEventDestroy(cudaEvent_t e) { delete e; return 0; }
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t = 0) { e->at = std::chrono::steady_clock::now(); return 0; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return 0; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return 0; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return 0; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
  return 0;
}
inline cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return 0; }
inline cudaError_t cudaSetDevice(int d) { return d == 0 ? 0 : 101; }
inline cudaError_t cudaGetDevice(int* d) { *d = 0; return 0; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, "host emulation");
  p->totalGlobalMem = size_t(2) << 30;
  p->major = 9;
  p->multiProcessorCount = 2;
  return 0;
}
inline cudaError_t cudaMemGetInfo(size_t* f, size_t* t) { *f = *t = size_t(2) << 30; return 0; }
inline cudaError_t cudaDriverGetVersion(int* v) { *v = 13000; return 0; }
inline cudaError_t cudaRuntimeGetVersion(int* v) { *v = 11080; return 0; }
inline cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) { *v = a == cudaDevAttrMultiProcessorCount ? 2 : 227 << 10; return 0; }
template <class F>
inline cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute, int) { return 0; }
template <class F>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, F) { a->binaryVersion = 90; a->ptxVersion = 90; a->numRegs = 1; return 0; }

// name<<<grid, block, shared, stream>>>(args) becomes FG_EMU_LAUNCH(name, (grid, block, shared, stream), (args)).
namespace fg_emu {
struct Config {
  dim3 grid, block;
  size_t shared;
  Config(dim3 g, dim3 b, size_t s = 0, cudaStream_t = nullptr) : grid(g), block(b), shared(s) {}
};
}  // namespace fg_emu
#define FG_EMU_LAUNCH(kernel, config, args)                                             \
  do {                                                                                  \
    ::fg_emu::Config fg_c_ config;                                                      \
    ::fg_emu::launch(fg_c_.grid, fg_c_.block, fg_c_.shared, [&]() { kernel args; });    \
  } while (0)
#define FG_EMU_SHARED(type, name) type* name = reinterpret_cast<type*>(::fg_emu::shared().data())
