// Number-theoretic transforms over Fr on the device.
//
// A transform of 2^n points is a network of butterflies that evaluates a polynomial by splitting its modulus: level l
// has 2^l blocks, block h reduces modulo Y^(2^(n-1-l)) -+ zeta(h), and zeta(h) = w^(bit reversal of h). Consequences
// used here: the twiddle depends on the block only, so that no pass needs twiddles between passes; evaluating on the
// coset 7*H only multiplies the twiddles of a level by a constant, so that a coset costs nothing; the forward network
// takes coefficients in natural order to values in bit-reversed order, and the inverse network runs backwards.
//
// The levels are cut into passes of Q <= 9 levels. A block of 256 threads holds a tile of 2048 values (2^(11-Q)
// transforms of 2^Q points side by side, so that memory is touched 128 bytes at a time), a thread eight of them in
// registers; three levels at a time are done in registers, and values move between threads through shared memory.
#pragma once

#include <vector>

#include "device.cuh"
#include "ntt_field.cuh"

namespace fg {

constexpr int NTT_MAX_LOG = 28;       // largest transform: 2^28 points
#ifndef FG_NTT_TABLE_LEVELS
#define FG_NTT_TABLE_LEVELS 19  // a test lowers it to reach computed twiddles at small sizes; at least 13
#endif
constexpr int NTT_TABLE_LEVELS = FG_NTT_TABLE_LEVELS;  // rounds that start below this level read a table

enum class NttDirection { Forward, Inverse };
enum class NttOrder { Natural, Reversed };  // order of the values; coefficients are always in natural order

// NttPlan holds the twiddles of transforms of one size, direction and coset; immutable, shared by streams.
class NttPlan {
 public:
  // table_levels: rounds that start below this level read their twiddles from a table. More is faster by a few percent,
  // but the last rounds' tables are nearly as large as the vector.
  NttPlan(int log_n, NttDirection dir, bool coset, cudaStream_t s, int table_levels = NTT_TABLE_LEVELS);
  static uint64_t table_bytes(int log_n, int table_levels);

  // Forward: coefficients (natural) to values; Inverse: values to coefficients times 2^n (the caller divides: see
  // scale). Values are in the given order. Inputs may be anywhere in [0, 2p); so are the outputs, unless reduce is set.
  // src == dst is allowed except where values are in natural order (n > 11), and then a forward transform
  // leaves garbage in src.
  void run(const Fr* src, Fr* dst, NttOrder values, bool reduce, cudaStream_t s) const;

  int log_n() const { return n_; }
  size_t bytes() const { return table_.bytes() + lo_.bytes() + hi_.bytes(); }

 private:
  struct Pass {
    int q, lo;
  };
  void build(cudaStream_t s);

  static std::vector<Pass> passes_for(int log_n);

  int n_;
  bool inverse_, coset_;
  int table_levels_;
  std::vector<Pass> passes_;  // from the highest level group (l = 0) on
  Buffer<Fr> table_;          // for each table round: 7 twiddles a block
  std::vector<int64_t> table_at_;  // by level, -1 where there is none
  Buffer<Fr> lo_, hi_;        // zeta(i), i < 2^13; zeta(i*2^13) times the level's coset factor
  std::vector<int64_t> hi_at_;
};

// v[i] = reduce(v[i] * k).
void ntt_scale(Fr* v, size_t n, const Fr& k, cudaStream_t s);

// Quotient turns evaluations a, b, c of rows (natural order, 2^n values each, reduced) into the coefficients of
// h = (a*b - c)/(X^m - 1), m = 2^n, reduced, natural order. Six transforms: c is only brought to coefficients, because
// (A*B - c)/(7^m - 1) is linear in c and the denominator is constant on the coset.
class Quotient {
 public:
  Quotient(int log_n, cudaStream_t s, int table_levels = NTT_TABLE_LEVELS);
  // d[0..3] are four buffers of 2^n values: a, b, c in the first three, the fourth is scratch. The result's index is
  // returned; the other buffers are left with garbage.
  int run(Fr* const d[4], cudaStream_t s, const Cancel& cancel) const;
  // The same in two buffers and three steps, for evaluations in bit-reversed order: a in h before step 0, then b in
  // scratch before step 1, then c there before step 2. All transforms work in place; h is left in natural order.
  void step(int step, Fr* h, Fr* scratch, cudaStream_t s, const Cancel& cancel) const;
  // Buffers of 2^n values that run or the steps need.
  static constexpr int BUFFERS = 4, STEP_BUFFERS = 2;
  static size_t workspace_bytes(int log_n) { return size_t(BUFFERS) * 32 << log_n; }
  // Bytes of the twiddles where all of them are in tables.
  static uint64_t full_table_bytes(int log_n) { return 3 * NttPlan::table_bytes(log_n, NTT_MAX_LOG); }
  // Bytes of the twiddles otherwise, at most.
  static uint64_t small_table_bytes(int log_n) {
    return 3 * (NttPlan::table_bytes(log_n, NTT_TABLE_LEVELS) + (size_t(32) << 13) + (size_t(32) << (log_n > 13 ? log_n - 13 : 0)));
  }
  size_t bytes() const { return inv_.bytes() + coset_fwd_.bytes() + coset_inv_.bytes(); }

 private:
  int n_;
  NttPlan inv_, coset_fwd_, coset_inv_;
  Fr k_product_, k_final_;
};

}  // namespace fg
