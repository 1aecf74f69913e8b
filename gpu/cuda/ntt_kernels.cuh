// Kernels of ntt.cuh, for ntt.cu and ntt_pass.cuh.
#pragma once

#include "ntt.cuh"

namespace fg {
namespace nttk {

constexpr int THREADS = 256;
constexpr int TILE_LOG = 11;  // values of a tile: eight a thread
constexpr int LO_LOG = 13;    // zeta(i) = zeta(i mod 2^13) * zeta(i - i mod 2^13)

// What a zeta is made of: bit i of its index stands for root[i], and level l has the factor coset[l].
struct ZetaArgs {
  Fr root[NTT_MAX_LOG];
  Fr coset[NTT_MAX_LOG + 3];
};

__device__ inline Fr zeta(const ZetaArgs& a, uint32_t index, int level) {
  Fr r = level < 0 ? Fr::one() : a.coset[level];
  for (int i = 0; index; i++, index >>= 1)
    if (index & 1) r = lazy::mul_exact(r, a.root[i]);
  return r;
}

// The seven twiddles of each of the 2^level blocks of a round that starts at the level: one for the level, two for the
// next, four for the one after.
static __global__ void fill_table(Fr* out, int level, ZetaArgs a) {
  uint32_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= 7u << level) return;
  uint32_t h = e / 7, k = e % 7;
  int d = k == 0 ? 0 : k < 3 ? 1 : 2;
  out[e] = zeta(a, (h << d) + k - ((1u << d) - 1), level + d);
}

// out[i] = zeta(i * 2^shift), with the coset factor of the level unless it is negative.
static __global__ void fill_zeta(Fr* out, uint32_t n, int shift, int level, ZetaArgs a) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = zeta(a, i << shift, level);
}

struct PassArgs {
  int n, lo, level0;
  const Fr* table[3];  // twiddles by round, null where they are computed from zlo and zhi
  const Fr* zlo;
  const Fr* zhi[9];    // by level - level0
  Fr eighth[3];        // the 8th roots of order 4, 8 and 8 (i, w, w^3), or their inverses
  bool natural;        // values in natural order (last pass only)
  bool reduce;         // outputs below p
};

template <int Q>
struct Shape {
  static constexpr int ROUNDS = (Q + 2) / 3;
  static constexpr int LOG_COLS = TILE_LOG - Q;
  static constexpr int COLS = 1 << LOG_COLS;
  static constexpr int SKIP = 3 * ROUNDS - Q;  // levels of the last round that the round before has done
  // The lowest of the three position bits that round r works on.
  static FG_HD constexpr int field(int r) { return Q - 3 * (r + 1) > 0 ? Q - 3 * (r + 1) : 0; }
  // Computed twiddles that threads share, over all rounds that may need them.
  static FG_HD constexpr int shared_twiddles(int r) { return 7 * COLS << (Q - 3 - field(r)); }
};

// Where a thread's values are: position p of the tile's column is at base + (p << lo).
template <int Q, bool LAST>
struct Tile {
  unsigned c, u;   // column and thread within the column
  uint32_t block;  // index of the block of level level0 that the column belongs to
  uint32_t row;    // LAST: the column's place in natural order
  uint64_t base;

  __device__ Tile(const PassArgs& a) {
    using S = Shape<Q>;
    c = threadIdx.x & (S::COLS - 1);
    u = threadIdx.x >> S::LOG_COLS;
    if (LAST) {
      // Columns that are neighbours in natural order, so that the permuted side touches whole lines too.
      row = blockIdx.x * S::COLS + c;
      block = __brev(row) >> (32 - (a.n - Q));
      base = uint64_t(block) << Q;
    } else {
      uint32_t groups = a.lo - S::LOG_COLS;
      row = 0;
      block = blockIdx.x >> groups;
      base = (uint64_t(block) << (a.lo + Q)) + ((blockIdx.x & ((1u << groups) - 1)) << S::LOG_COLS) + c;
    }
  }
  __device__ unsigned pos(int f) const { return ((u >> f) << (f + 3)) | (u & ((1u << f) - 1)); }
  __device__ uint64_t at(const PassArgs& a, unsigned p) const { return base + (uint64_t(p) << a.lo); }
  __device__ uint64_t natural_at(const PassArgs& a, unsigned p) const {
    return (uint64_t(__brev(p) >> (32 - Q)) << (a.n - Q)) | row;
  }
};

// Values move from the positions of field `from` to those of field `to` through shared memory, half a value at a time.
template <int Q>
__device__ __forceinline__ void exchange(Fr* x, uint4* sm, unsigned u, unsigned c, int from, int to) {
  using S = Shape<Q>;
  auto pos = [&](int f) { return ((u >> f) << (f + 3)) | (u & ((1u << f) - 1)); };
  auto slot = [&](unsigned p) {
    unsigned s = p * S::COLS + c;
    return S::COLS == 4 ? s ^ (((p >> 3) & 1) << 2) : s;  // neighbours in u use other banks
  };
  const bool wide = (S::COLS << (from > to ? from : to)) > 32;
  const unsigned p0 = pos(from), p1 = pos(to);
  auto sync = [&]() {
    if (wide)
      __syncthreads();
    else
      __syncwarp();
  };
  FG_UNROLL
  for (int half = 0; half < 2; half++) {
    if (half) sync();
    FG_UNROLL
    for (int t = 0; t < 8; t++) {
      const uint32_t* w = x[t].v + 4 * half;
      sm[slot(p0 + (t << from))] = make_uint4(w[0], w[1], w[2], w[3]);
    }
    sync();
    FG_UNROLL
    for (int t = 0; t < 8; t++) {
      uint4 q = sm[slot(p1 + (t << to))];
      uint32_t* w = x[t].v + 4 * half;
      w[0] = q.x, w[1] = q.y, w[2] = q.z, w[3] = q.w;
    }
  }
}

template <bool INVERSE, bool TRIVIAL>
__device__ __forceinline__ void butterfly(Fr& u, Fr& v, const Fr& tw) {
  if (INVERSE) {
    Fr d = lazy::sub(u, v);
    u = lazy::add(u, v);
    v = TRIVIAL ? d : lazy::mul(d, tw);
  } else {
    Fr m = TRIVIAL ? v : lazy::mul(v, tw);
    v = lazy::sub(u, m);
    u = lazy::add(u, m);
  }
}

// The seven twiddles of a thread's round, in memory.
struct ReadTwiddles {
  const Fr* at;
  __device__ __forceinline__ Fr get(int k) const { return at[k]; }
};

// The same derived from y, the first of level + 2.
struct DerivedTwiddles {
  const Fr* eighth;
  Fr y, y2;
  __device__ __forceinline__ Fr get(int k) const {
    switch (k) {
      case 0: return lazy::mul_exact(y2, y2);
      case 1: return y2;
      case 2: return lazy::mul_exact(y2, eighth[0]);
      case 3: return y;
      default: return lazy::mul_exact(y, eighth[k - 4]);
    }
  }
};

// Three levels on eight values, less the first SKIP. TRIVIAL: the first block's twiddles are one. What a round does is
// fixed at compile time: with a branch around a product ptxas splits its multiply-adds in two.
template <bool INVERSE, int SKIP, bool TRIVIAL, class Twiddles>
__device__ __forceinline__ void round8(Fr* x, const Twiddles& tw) {
  FG_UNROLL
  for (int i = 0; i < 3; i++) {
    const int d = INVERSE ? 2 - i : i;  // level within the round
    if (d < SKIP) continue;
    const int half = 4 >> d;
    FG_UNROLL
    for (int b = 0; b < (1 << d); b++) {
      Fr w;
      if (!TRIVIAL || b) w = tw.get((1 << d) - 1 + b);
      FG_UNROLL
      for (int j = 0; j < half; j++) {
        Fr &u = x[2 * half * b + j], &v = x[2 * half * b + half + j];
        if (TRIVIAL && b == 0)
          butterfly<INVERSE, true>(u, v, u);
        else
          butterfly<INVERSE, false>(u, v, w);
      }
    }
  }
}

__device__ inline Fr computed_zeta(const PassArgs& a, int local_level, uint32_t index) {
  return lazy::mul_exact(a.zhi[local_level][index >> LO_LOG], a.zlo[index & ((1u << LO_LOG) - 1)]);
}

// Twiddles that several threads of the tile share and no table holds.
template <int Q>
__device__ void compute_shared(Fr* out, const PassArgs& a) {
  using S = Shape<Q>;
  for (int r = 0; r + 1 < S::ROUNDS; r++) {
    if (a.table[r]) continue;
    const int f = S::field(r), count = S::shared_twiddles(r), lg = Q - 3 - f;
    for (int e = threadIdx.x; e < count; e += THREADS) {
      uint32_t k = e % 7, j = e / 7, col = j >> lg;
      uint32_t h = __brev(blockIdx.x * S::COLS + col) >> (32 - (a.n - Q));
      h = (h << lg) + (j & ((1u << lg) - 1));
      int d = k == 0 ? 0 : k < 3 ? 1 : 2;
      out[e] = computed_zeta(a, lg + d, (h << d) + k - ((1u << d) - 1));
    }
    out += count;
  }
}

// What is special about a pass.
enum Variant {
  PLAIN,
  TRIVIAL,  // it starts at level 0 without a coset, so that the first round's first twiddles are one
  LAST,     // it holds the lowest bits of the index of values: blocks have 2^Q members, columns are different blocks
  DERIVE    // LAST, and no table holds the twiddles of its last round
};

// The rounds of a pass on a thread's values. x is at the positions of the first round on entry, of the last on return;
// the function returns the field of the last.
template <int Q, bool INVERSE, Variant V>
__device__ __forceinline__ int rounds(Fr* x, uint4* sm, const Fr* shared_tw, const Tile<Q, (V >= LAST)>& tile, const PassArgs& a) {
  using S = Shape<Q>;
  constexpr int R = S::ROUNDS;
  constexpr bool OWN_LAST = V == DERIVE || S::SKIP > 0, OWN_FIRST = V == TRIVIAL;  // rounds with code of their own
  int f = S::field(INVERSE ? R - 1 : 0);
  auto move = [&](int r) {
    const int g = S::field(r);
    exchange<Q>(x, sm, tile.u, tile.c, f, g);
    f = g;
  };
  auto twiddles = [&](int r) {
    const uint32_t h = (tile.block << (Q - 3 - f)) + (tile.u >> f);
    if (V < LAST || a.table[r]) return ReadTwiddles{a.table[r] + 7 * uint64_t(h)};
    int before = 0;
    for (int k = 0; k < r; k++) before += a.table[k] ? 0 : S::shared_twiddles(k);
    return ReadTwiddles{shared_tw + before + 7 * ((tile.c << (Q - 3 - f)) + (tile.u >> f))};
  };
  auto last = [&] {
    if (V == DERIVE) {
      DerivedTwiddles tw;
      tw.eighth = a.eighth;
      tw.y = computed_zeta(a, Q - 1, ((tile.block << (Q - 3)) + tile.u) << 2);
      tw.y2 = lazy::mul_exact(tw.y, tw.y);
      round8<INVERSE, S::SKIP, false>(x, tw);
    } else {
      round8<INVERSE, S::SKIP, false>(x, twiddles(R - 1));
    }
  };
  auto first = [&] { round8<INVERSE, 0, V == TRIVIAL>(x, twiddles(0)); };
  constexpr int LO = OWN_FIRST ? 1 : 0, HI = OWN_LAST ? R - 1 : R;
  if (INVERSE) {
    if (OWN_LAST) last();
#pragma unroll 1
    for (int r = HI - 1; r >= LO; r--) {
      if (r < R - 1) move(r);
      round8<INVERSE, 0, false>(x, twiddles(r));
    }
    if (OWN_FIRST) {
      move(0);
      first();
    }
  } else {
    if (OWN_FIRST) first();
#pragma unroll 1
    for (int r = LO; r < HI; r++) {
      if (r > 0) move(r);
      round8<INVERSE, 0, false>(x, twiddles(r));
    }
    if (OWN_LAST) {
      move(R - 1);
      last();
    }
  }
  return f;
}

// A pass over Q levels, from level a.level0 down (forward) or up (inverse).
template <int Q, bool INVERSE, Variant V>
__global__ void __launch_bounds__(THREADS, 2) ntt_pass(const Fr* src, Fr* dst, const PassArgs a) {
  using S = Shape<Q>;
  extern __shared__ uint4 sm[];
  const Tile<Q, (V >= LAST)> tile(a);
  Fr* shared_tw = reinterpret_cast<Fr*>(sm + (1 << TILE_LOG));
  if (V >= LAST) {
    compute_shared<Q>(shared_tw, a);
    __syncthreads();
  }
  Fr x[8];
  int f = S::field(INVERSE ? S::ROUNDS - 1 : 0);
  const bool permute_in = V >= LAST && INVERSE && a.natural, permute_out = V >= LAST && !INVERSE && a.natural;
  FG_UNROLL
  for (int t = 0; t < 8; t++) {
    unsigned p = tile.pos(f) + (t << f);
    x[t] = src[permute_in ? tile.natural_at(a, p) : tile.at(a, p)];
  }
  f = rounds<Q, INVERSE, V>(x, sm, shared_tw, tile, a);
  FG_UNROLL
  for (int t = 0; t < 8; t++) {
    unsigned p = tile.pos(f) + (t << f);
    Fr* to = dst + (permute_out ? tile.natural_at(a, p) : tile.at(a, p));
    *to = a.reduce ? lazy::reduce(x[t]) : x[t];
  }
}

// Transforms of up to 2^11 points, by one block in shared memory.
static __global__ void ntt_small(const Fr* src, Fr* dst, int n, bool inverse, bool natural, ZetaArgs z) {
  extern __shared__ uint4 sm[];
  Fr* x = reinterpret_cast<Fr*>(sm);
  const unsigned size = 1u << n;
  auto rev = [&](unsigned i) { return n ? __brev(i) >> (32 - n) : 0; };
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) x[i] = src[inverse && natural ? rev(i) : i];
  for (int step = 0; step < n; step++) {
    __syncthreads();
    const int level = inverse ? n - 1 - step : step, lo = n - 1 - level;
    for (unsigned i = threadIdx.x; i < size / 2; i += blockDim.x) {
      unsigned h = i >> lo, p = (h << (lo + 1)) + (i & ((1u << lo) - 1));
      Fr u = x[p], v = x[p + (1u << lo)], w = zeta(z, h, level);
      if (inverse)
        butterfly<true, false>(u, v, w);
      else
        butterfly<false, false>(u, v, w);
      x[p] = u;
      x[p + (1u << lo)] = v;
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) dst[i] = lazy::reduce(x[!inverse && natural ? rev(i) : i]);
}

static __global__ void scale(Fr* v, size_t n, Fr k) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) v[i] = lazy::mul_exact(v[i], k);
}

// a = a*b*k, below 2p.
static __global__ void multiply(Fr* a, const Fr* b, size_t n, Fr k) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) a[i] = lazy::mul(lazy::mul(b[i], lazy::reduce(a[i])), k);
}

// d = (d - c)*k, reduced.
static __global__ void subtract_scale(Fr* d, const Fr* c, size_t n, Fr k) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) d[i] = lazy::mul_exact(lazy::sub(d[i], c[i]), k);
}

// Runs a pass of Q levels; last: over the lowest bits of the index of values, trivial: from level 0 without a coset.
template <int Q>
void launch_pass(bool inverse, bool last, bool trivial, const Fr* src, Fr* dst, const PassArgs& a, cudaStream_t s);

}  // namespace nttk
}  // namespace fg
