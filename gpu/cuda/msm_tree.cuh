// Second half of an MSM: pairwise addition trees inside the runs of one bucket, level by level. A level
// takes the points of a bucket two by two; an odd one out moves on alone; a bucket with one point left is
// finished and leaves the tree.
#pragma once

#include "batch_add.cuh"
#include "msm_sort.cuh"

namespace fg {

// Additions of the first level: operands are gathered from the caller's points.
template <class F>
struct GatherPairs {
  const uint32_t* total;   // number of pairs
  const Affine<F>* points;
  const uint2* pair;       // two point numbers with signs
  const uint32_t* where;   // place of the sum
  Affine<F>* out;

  FG_D uint32_t count() const { return *total; }
  FG_D void load_x(uint32_t i, F& x1, F& x2) const {
    uint2 k = pair[i];
    x1 = load_vec(&points[k.x & ~DIGIT_SIGN].x);
    x2 = load_vec(&points[k.y & ~DIGIT_SIGN].x);
  }
  FG_D void load(uint32_t i, Affine<F>& p, Affine<F>& q) const {
    uint2 k = pair[i];
    p = load_vec(&points[k.x & ~DIGIT_SIGN]).neg_if(k.x & DIGIT_SIGN);
    q = load_vec(&points[k.y & ~DIGIT_SIGN]).neg_if(k.y & DIGIT_SIGN);
  }
  FG_D void store(uint32_t i, const Affine<F>& r) const { store_vec(&out[where[i]], r); }
};

// Additions of later levels: neighbours of the level before.
template <class F>
struct NeighbourPairs {
  const uint32_t* total;
  const Affine<F>* in;
  const uint2* pair;  // place of the first operand, place of the sum
  Affine<F>* out;

  FG_D uint32_t count() const { return *total; }
  FG_D void load_x(uint32_t i, F& x1, F& x2) const {
    uint32_t k = pair[i].x;
    x1 = load_vec(&in[k].x);
    x2 = load_vec(&in[k + 1].x);
  }
  FG_D void load(uint32_t i, Affine<F>& p, Affine<F>& q) const {
    uint32_t k = pair[i].x;
    p = load_vec(&in[k]);
    q = load_vec(&in[k + 1]);
  }
  FG_D void store(uint32_t i, const Affine<F>& r) const { store_vec(&out[pair[i].y], r); }
};

// One level of one group of windows.
template <class F>
struct TreeLevel {
  uint32_t keys;
  const uint64_t* start;     // positions of the buckets at this level (low words)
  const uint64_t* next;      // msm_next_level
  const uint32_t* bucket;    // of each position, possibly with a sign bit
  uint32_t* next_bucket;     // of each position of the next level
  uint2* pair;
  uint32_t* where;           // first level only
  const Affine<F>* in;       // the caller's points, or the level before
  const uint32_t* point_of;  // point number of each position, first level only
  Affine<F>* out;            // the next level
  Affine<F>* finished;       // sum of each bucket
};

// Lists the pairs of a level and moves points that have no partner.
template <class F, bool FIRST>
__global__ void __launch_bounds__(256) tree_layout_kernel(TreeLevel<F> l) {
  const uint32_t total = uint32_t(l.start[l.keys]);
  for (uint64_t i64 = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i64 < total; i64 += uint64_t(gridDim.x) * blockDim.x) {
    const uint32_t i = uint32_t(i64);
    const uint32_t b = l.bucket[i] & ~DIGIT_SIGN;
    const uint32_t s = uint32_t(l.start[b]), k = uint32_t(l.start[b + 1]) - s, rank = i - s;
    if (rank & 1) continue;
    const uint64_t nx = l.next[b];
    const uint32_t to = uint32_t(nx) + rank / 2;
    if (rank + 1 < k) {
      const uint32_t q = uint32_t(nx >> 32) + rank / 2;
      if (FIRST) {
        l.pair[q] = make_uint2(l.point_of[i] | (l.bucket[i] & DIGIT_SIGN), l.point_of[i + 1] | (l.bucket[i + 1] & DIGIT_SIGN));
        l.where[q] = to;
      } else {
        l.pair[q] = make_uint2(i, to);
      }
      l.next_bucket[to] = b;
      continue;
    }
    Affine<F> p;
    if (FIRST)
      p = load_vec(&l.in[l.point_of[i]]).neg_if(l.bucket[i] & DIGIT_SIGN);
    else
      p = load_vec(&l.in[i]);
    if (k == 1) {
      store_vec(&l.finished[b], p);
    } else {
      store_vec(&l.out[to], p);
      l.next_bucket[to] = b;
    }
  }
}

}  // namespace fg
