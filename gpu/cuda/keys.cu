#include "keys.cuh"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>

namespace fg {

namespace {

enum Fault : unsigned long long { FLAGS = 0, RANGE = 1, INFINITE = 2, CURVE = 3, SUBGROUP = 4, NO_FAULT = ~0ull };

const char* fault_text(unsigned f) {
  switch (f) {
    case FLAGS: return "encoding flags of a point that is not uncompressed";
    case RANGE: return "a coordinate is not below p";
    case INFINITE: return "point at infinity";
    case CURVE: return "not on the curve";
    default: return "not in the prime-order subgroup";
  }
}

__device__ __forceinline__ uint32_t swap_bytes(uint32_t x) {
  return x << 24 | (x & 0xff00) << 8 | ((x >> 8) & 0xff00) | x >> 24;
}

// 48 big-endian bytes, as an integer; the result says whether it is below p.
__device__ __forceinline__ bool read_integer(Fp& r, const uint32_t* w) {
  FG_UNROLL
  for (int i = 0; i < 12; i++) r.v[i] = swap_bytes(w[11 - i]);
  const Modulus<FpParams> p;
  uint32_t t[12];
  return limbs_sub<12>(t, r.v, p.w) != 0;
}

__device__ __forceinline__ void write_integer(uint32_t* w, const Fp& x) {
  const Fp c = x.from_mont();
  FG_UNROLL
  for (int i = 0; i < 12; i++) w[11 - i] = swap_bytes(c.v[i]);
}

__device__ __forceinline__ bool read_value(Fp& r, const uint32_t* w) {
  bool ok = read_integer(r, w);
  r = r.to_mont();
  return ok;
}
// c1 comes first.
__device__ __forceinline__ bool read_value(Fp2& r, const uint32_t* w) {
  bool a = read_value(r.c1, w), b = read_value(r.c0, w + 12);
  return a && b;
}
__device__ __forceinline__ void write_value(uint32_t* w, const Fp& x) { write_integer(w, x); }
__device__ __forceinline__ void write_value(uint32_t* w, const Fp2& x) {
  write_integer(w, x.c1);
  write_integer(w + 12, x.c0);
}

__device__ __forceinline__ Fp curve_b(const Fp&) { return Fp::one().dbl().dbl(); }
__device__ __forceinline__ Fp2 curve_b(const Fp2&) {
  Fp four = Fp::one().dbl().dbl();
  return {four, four};
}

// r*P is infinity.
template <class F>
__device__ bool in_subgroup(const Affine<F>& p) {
  XYZZ<F> t = XYZZ<F>::inf();
  for (int i = 254; i >= 0; i--) {
    t = t.dbl();
    if ((FrParams::mod(i >> 5) >> (i & 31)) & 1) t.add(p);
  }
  return t.is_inf();
}

template <class F>
__device__ unsigned long long read_point(Affine<F>& p, const uint32_t* w, int check) {
  constexpr int WORDS = sizeof(F) / 4;
  const uint32_t flags = w[0] & 0xe0;  // of the first byte
  if (flags) return flags == 0x40 ? INFINITE : FLAGS;
  bool x = read_value(p.x, w), y = read_value(p.y, w + WORDS);
  if (!x || !y) return RANGE;
  if (check >= CHECK_CURVE && p.y.sqr() != p.x.sqr() * p.x + curve_b(p.x)) return CURVE;
  if (check >= CHECK_SUBGROUP && !in_subgroup(p)) return SUBGROUP;
  return NO_FAULT;
}

struct SplitArgs {
  const uint32_t *mask, *rank;  // null: all are tail
};

template <class F>
__global__ void convert_kernel(const uint32_t* raw, size_t first, size_t n, SplitArgs split, Affine<F>* bit_points,
                               size_t bit_base, Affine<F>* tail_points, size_t tail_base, int check,
                               unsigned long long* fault) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const size_t at = first + i;
  constexpr int WORDS = sizeof(Affine<F>) / 4;
  Affine<F> p;
  const unsigned long long f = read_point(p, raw + i * WORDS, check);
  if (f != NO_FAULT) {
    atomicMin(fault, (unsigned long long)(at) << 3 | f);
    return;
  }
  size_t tail = at;
  bool is_tail = true;
  if (split.mask) {
    const uint32_t w = split.mask[at >> 5], below = (1u << (at & 31)) - 1;
    tail = split.rank[at >> 5] + __popc(w & below);
    is_tail = (w >> (at & 31)) & 1;
  }
  if (is_tail)
    tail_points[tail - tail_base] = p;
  else
    bit_points[at - tail - bit_base] = p;
}

template <class F>
__global__ void encode_kernel(uint32_t* raw, const Affine<F>* points, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  constexpr int WORDS = sizeof(Affine<F>) / 4;
  uint32_t* w = raw + i * WORDS;
  const Affine<F> p = points[i];
  if (p.is_inf()) {
    for (int k = 0; k < WORDS; k++) w[k] = 0;
    w[0] = 0x40;
    return;
  }
  write_value(w, p.x);
  write_value(w + WORDS / 2, p.y);
}

void parallel_copy(unsigned char* dst, const unsigned char* src, size_t n, int threads) {
  const size_t least = 1 << 20;
  size_t parts = std::min<size_t>(size_t(threads), n / least + 1);
  if (parts <= 1) {
    std::memcpy(dst, src, n);
    return;
  }
  std::vector<std::thread> t;
  const size_t step = (n / parts + 4095) / 4096 * 4096;
  for (size_t at = step; at < n; at += step)
    t.emplace_back([=] { std::memcpy(dst + at, src + at, std::min(step, n - at)); });
  std::memcpy(dst, src, std::min(step, n));
  for (auto& x : t) x.join();
}

constexpr size_t PIECE = 4 << 20, DIRECT_PIECE = 64 << 20;
constexpr int MAX_WORKERS = 16;

// Half of the cores: a copy is bound by memory, and the others have proofs to prepare.
int copy_workers() { return std::min(MAX_WORKERS, std::max(2, int(std::thread::hardware_concurrency()) / 2)); }

}  // namespace

Staging::Staging(HostMemory kind, size_t piece, size_t pieces) : kind_(kind), piece_(piece ? piece : PIECE) {
  FG_CUDA(cudaGetDevice(&ordinal_));
  if (kind_ == HostMemory::DIRECT) return;
  workers_ = copy_workers();
  if (kind_ == HostMemory::POOL) return;
  if (piece_ > size_t(1) << 30 || pieces > 1024) FG_FAIL(E_ARGUMENT, "a ring of %zu pieces of %zu bytes", pieces, piece_);
  // A piece that is filled and one that is sent for each thread.
  const int count = pieces ? int(pieces) : 2 * workers_;
  workers_ = std::min(workers_, std::max(1, count / 2));
  each_ = count / workers_;
  for (int i = 0; i < workers_ * each_; i++) {
    ring_.emplace_back(piece_);
    free_.push_back(Event::sleeping());  // several threads wait, on cores that others need
  }
}

// One copy through the ring. Pieces are taken in order by whoever is ready.
struct Staging::Job {
  unsigned char* dst;
  const unsigned char* src;
  size_t n;
  cudaStream_t stream;
  const Cancel& cancel;
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr error;  // the first
};

void Staging::work(Job& job, int worker) {
  try {
    if (worker) FG_CUDA(cudaSetDevice(ordinal_));
    for (int turn = 0; !job.stop; turn = (turn + 1) % each_) {
      const size_t at = job.next.fetch_add(1) * piece_;
      if (at >= job.n) return;
      job.cancel.check();
      const int k = each_ * worker + turn;
      const size_t m = std::min(piece_, job.n - at);
      free_[k].sync();  // an event that was never recorded has happened
      std::memcpy(ring_[k].get(), job.src + at, m);
      upload(job.dst + at, ring_[k].get(), m, job.stream);
      free_[k].record(job.stream);
    }
  } catch (...) {
    std::lock_guard<std::mutex> lock(job.mutex);
    if (!job.error) job.error = std::current_exception();
    job.stop = true;
  }
}

void Staging::copy_ring(unsigned char* dst, const unsigned char* src, size_t n, cudaStream_t s, const Cancel& cancel) {
  Job job{dst, src, n, s, cancel};
  std::vector<std::thread> helpers;
  const int workers = int(std::min<size_t>(size_t(workers_), (n + piece_ - 1) / piece_));
  try {
    for (int w = 1; w < workers; w++) helpers.emplace_back([this, &job, w] { work(job, w); });
  } catch (const std::exception&) {
    // No more threads to be had: those that there are do the work.
  }
  work(job, 0);
  for (std::thread& t : helpers) t.join();
  if (!job.error) return;
  cudaStreamSynchronize(s);  // a piece may be under way whose event was not recorded
  std::rethrow_exception(job.error);
}

void Staging::copy(void* to, const void* from, size_t n, cudaStream_t s, const Cancel& cancel) {
  if (n == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  unsigned char* dst = static_cast<unsigned char*>(to);
  const unsigned char* src = static_cast<const unsigned char*>(from);
  if (kind_ == HostMemory::RING) return copy_ring(dst, src, n, s, cancel);
  DrainOnExit drain(s);
  cancel.check();
  if (kind_ == HostMemory::POOL) {
    pool_.reserve(n);
    parallel_copy(pool_.get(), src, n, workers_);
    upload(dst, pool_.get(), n, s);
  } else {
    for (size_t at = 0; at < n; at += DIRECT_PIECE) {
      cancel.check();
      upload(dst + at, src + at, std::min(DIRECT_PIECE, n - at), s);
    }
  }
  FG_CUDA(cudaStreamSynchronize(s));
}

void Staging::reserve(size_t n) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kind_ == HostMemory::POOL) pool_.reserve(n);
}

SectionSplit::SectionSplit(size_t count, const uint64_t* tail_mask, cudaStream_t s) : count_(count) {
  if (count >= size_t(1) << 32) FG_FAIL(E_ARGUMENT, "a section of %zu points", count);
  if (!tail_mask) {
    tails_ = count;
    return;
  }
  const size_t words = (count + 31) / 32;
  host_mask_.assign(words + 1, 0);
  host_rank_.assign(words + 1, 0);
  std::memcpy(host_mask_.data(), tail_mask, words * 4);
  if (count % 32) host_mask_[words - 1] &= (1u << count % 32) - 1;
  for (size_t i = 0; i < words; i++) host_rank_[i + 1] = host_rank_[i] + uint32_t(__builtin_popcount(host_mask_[i]));
  tails_ = host_rank_[words];
  mask_.alloc(words + 1);
  rank_.alloc(words + 1);
  DrainOnExit drain(s);
  upload(mask_.get(), host_mask_.data(), words + 1, s);
  upload(rank_.get(), host_rank_.data(), words + 1, s);
}

size_t SectionSplit::tails_before(size_t i) const {
  if (host_mask_.empty()) return i;
  return host_rank_[i / 32] + size_t(__builtin_popcount(host_mask_[i / 32] & ((1u << i % 32) - 1)));
}

PointFault::PointFault(cudaStream_t s) : cell_(1) { reset(s); }

void PointFault::reset(cudaStream_t s) {
  FG_CUDA(cudaMemsetAsync(cell_.get(), 0xff, sizeof(unsigned long long), s));
}

void PointFault::check(cudaStream_t s) const {
  unsigned long long found = NO_FAULT;
  download(&found, cell_.get(), 1, s);
  FG_CUDA(cudaStreamSynchronize(s));
  if (found == NO_FAULT) return;
  Error e(E_POINT, 0, fault_text(unsigned(found & 7)), __FILE__, __LINE__);
  e.index = int64_t(found >> 3);
  throw e;
}

template <class F>
void convert_points(const unsigned char* raw, size_t first, size_t n, const SectionSplit& split, Affine<F>* bit_points,
                    size_t bit_base, Affine<F>* tail_points, size_t tail_base, PointCheck check, const PointFault& fault,
                    cudaStream_t s) {
  if (n == 0) return;
  if (first + n > split.count()) FG_FAIL(E_ARGUMENT, "points [%zu, %zu) of %zu", first, first + n, split.count());
  convert_kernel<F><<<blocks_for(n, 128), 128, 0, s>>>(reinterpret_cast<const uint32_t*>(raw), first, n,
                                                       SplitArgs{split.mask(), split.rank()}, bit_points, bit_base,
                                                       tail_points, tail_base, int(check), fault.get());
  FG_LAUNCHED();
}

template <class F>
void encode_points(unsigned char* raw, const Affine<F>* points, size_t n, cudaStream_t s) {
  if (n == 0) return;
  encode_kernel<F><<<blocks_for(n, 128), 128, 0, s>>>(reinterpret_cast<uint32_t*>(raw), points, n);
  FG_LAUNCHED();
}

template void convert_points<Fp>(const unsigned char*, size_t, size_t, const SectionSplit&, Affine<Fp>*, size_t, Affine<Fp>*,
                                 size_t, PointCheck, const PointFault&, cudaStream_t);
template void convert_points<Fp2>(const unsigned char*, size_t, size_t, const SectionSplit&, Affine<Fp2>*, size_t,
                                  Affine<Fp2>*, size_t, PointCheck, const PointFault&, cudaStream_t);
template void encode_points<Fp>(unsigned char*, const Affine<Fp>*, size_t, cudaStream_t);
template void encode_points<Fp2>(unsigned char*, const Affine<Fp2>*, size_t, cudaStream_t);

}  // namespace fg
