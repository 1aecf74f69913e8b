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
  struct Ref {
    uint2 k;
    uint32_t to;
  };
  const uint32_t* total;   // number of pairs
  const Affine<F>* points;
  const uint2* pair;       // two point numbers with signs
  const uint32_t* where;   // place of the sum
  Affine<F>* out;

  FG_D uint32_t count() const { return *total; }
  FG_D Ref ref(uint32_t i) const { return {pair[i], where[i]}; }
  FG_D const Affine<F>* first(const Ref& r) const { return points + (r.k.x & ~DIGIT_SIGN); }
  FG_D const Affine<F>* second(const Ref& r) const { return points + (r.k.y & ~DIGIT_SIGN); }
  FG_D bool negate_first(const Ref& r) const { return r.k.x & DIGIT_SIGN; }
  FG_D bool negate_second(const Ref& r) const { return r.k.y & DIGIT_SIGN; }
  FG_D Affine<F>* target(const Ref& r) const { return &out[r.to]; }
};

// Additions of later levels: neighbours of the level before.
template <class F>
struct NeighbourPairs {
  using Ref = uint2;  // place of the first operand, place of the sum
  const uint32_t* total;
  const Affine<F>* in;
  const uint2* pair;
  Affine<F>* out;

  FG_D uint32_t count() const { return *total; }
  FG_D Ref ref(uint32_t i) const { return pair[i]; }
  FG_D const Affine<F>* first(const Ref& r) const { return in + r.x; }
  FG_D const Affine<F>* second(const Ref& r) const { return in + r.x + 1; }
  FG_D bool negate_first(const Ref&) const { return false; }
  FG_D bool negate_second(const Ref&) const { return false; }
  FG_D Affine<F>* target(const Ref& r) const { return &out[r.y]; }
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

// Where a bucket's points are and go.
struct BucketPlace {
  uint32_t bucket, start, size, first_pair, to;
  template <class F>
  FG_D void find(const TreeLevel<F>& l, uint32_t b) {
    bucket = b;
    start = uint32_t(l.start[b]);
    size = uint32_t(l.start[b + 1]) - start;
    const uint64_t nx = l.next[b];
    first_pair = uint32_t(nx >> 32);
    to = uint32_t(nx);
  }
};

// A point without a partner: moves on, or is its bucket's sum.
template <class F, bool FIRST>
FG_D void move_alone(const TreeLevel<F>& l, const BucketPlace& at, uint32_t i, uint32_t to) {
  Affine<F> p;
  if (FIRST)
    p = load_vec(&l.in[l.point_of[i]]).neg_if(l.bucket[i] & DIGIT_SIGN);
  else
    p = load_vec(&l.in[i]);
  if (at.size == 1) {
    store_vec(&l.finished[at.bucket], p);
  } else {
    store_vec(&l.out[to], p);
    l.next_bucket[to] = at.bucket;
  }
}

constexpr int LAYOUT_RUN = 4;  // positions of one thread

// Lists the pairs of a level and moves points that have no partner.
template <class F, bool FIRST>
__global__ void __launch_bounds__(256) tree_layout_kernel(TreeLevel<F> l) {
  const uint32_t total = uint32_t(l.start[l.keys]);
  const uint64_t stride = uint64_t(gridDim.x) * blockDim.x * LAYOUT_RUN;
  for (uint64_t i0 = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) * LAYOUT_RUN; i0 < total; i0 += stride) {
    const uint32_t n = total - uint32_t(i0) < LAYOUT_RUN ? total - uint32_t(i0) : LAYOUT_RUN;
    const uint4 words = *reinterpret_cast<const uint4*>(l.bucket + i0);
    const uint32_t digit[LAYOUT_RUN] = {words.x, words.y, words.z, words.w};
    uint32_t point[LAYOUT_RUN + 1];
    if (FIRST) {
      const uint4 v = *reinterpret_cast<const uint4*>(l.point_of + i0);
      point[0] = v.x | (words.x & DIGIT_SIGN);
      point[1] = v.y | (words.y & DIGIT_SIGN);
      point[2] = v.z | (words.z & DIGIT_SIGN);
      point[3] = v.w | (words.w & DIGIT_SIGN);
      point[4] = i0 + 4 < total ? l.point_of[i0 + 4] | (l.bucket[i0 + 4] & DIGIT_SIGN) : 0;
    }
    BucketPlace at;
    FG_UNROLL
    for (int e = 0; e < LAYOUT_RUN; e++) {
      if (uint32_t(e) >= n) break;
      const uint32_t i = uint32_t(i0) + e, b = digit[e] & ~DIGIT_SIGN;
      if (e == 0 || b != at.bucket) at.find(l, b);
      const uint32_t rank = i - at.start;
      if (rank & 1) continue;
      const uint32_t to = at.to + rank / 2, pair = at.first_pair + rank / 2;
      if (rank + 1 == at.size) {
        move_alone<F, FIRST>(l, at, i, to);
        continue;
      }
      if (FIRST) {
        l.pair[pair] = make_uint2(point[e], point[e + 1]);
        l.where[pair] = to;
      } else {
        l.pair[pair] = make_uint2(i, to);
      }
      l.next_bucket[to] = b;
    }
  }
}

}  // namespace fg
