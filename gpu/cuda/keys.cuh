// Points of a proving key: from the bytes of a parameter file to affine points in Montgomery form, in two arrays.
//
// A section's points are multiplied by variables some of which are bits. Those of bits make one array, those of field
// elements (the tail) another, each in file order; a mask over the section says which is which.
#pragma once

#include <mutex>
#include <vector>

#include "device.cuh"
#include "ec.cuh"

namespace fg {

// What is looked at besides the encoding: flags, coordinates below p, not infinity.
enum PointCheck { CHECK_ENCODING = 0, CHECK_CURVE = 1, CHECK_SUBGROUP = 2 };

// How host memory that need not be page-locked gets to the device.
enum class HostMemory {
  RING = 0,    // host threads copy it piece by piece into page-locked pieces, which are sent
  DIRECT = 1,  // it is sent from where it is
  POOL = 2     // it is copied whole into a page-locked buffer that grows to the largest copy, and sent at once
};

// Staging moves host memory to the device. Safe for use by several threads, which wait for each other.
class Staging {
 public:
  // For the current device. piece and pieces are a ring's bytes and number; 0: as it suits the machine's cores.
  Staging(HostMemory kind, size_t piece, size_t pieces);
  // Copies n bytes; returns when src may be reused. dst is complete in the order of the stream. An error leaves
  // nothing under way. cancel is looked at between pieces.
  void copy(void* dst, const void* src, size_t n, cudaStream_t s, const Cancel& cancel = Cancel());
  // Makes a pool large enough for copies of so many bytes.
  void reserve(size_t n);

 private:
  struct Job;
  void work(Job& job, int worker);
  void copy_ring(unsigned char* dst, const unsigned char* src, size_t n, cudaStream_t s, const Cancel& cancel);

  const HostMemory kind_;
  int ordinal_ = 0;
  int workers_ = 1, each_ = 0;  // threads, and pieces of each
  size_t piece_ = 0;
  std::mutex mutex_;
  std::vector<Pinned<unsigned char>> ring_;
  std::vector<Event> free_;
  Pinned<unsigned char> pool_;
};

// The split of one section on the device.
class SectionSplit {
 public:
  SectionSplit() = default;
  // tail_mask has a bit for each of count points, on the host; null: all of them are tail.
  SectionSplit(size_t count, const uint64_t* tail_mask, cudaStream_t s);
  size_t count() const { return count_; }
  size_t tails() const { return tails_; }
  size_t bits() const { return count_ - tails_; }
  // How many of the first i points are tail.
  size_t tails_before(size_t i) const;
  size_t bytes() const { return mask_.bytes() + rank_.bytes(); }
  const uint32_t* mask() const { return mask_.get(); }
  const uint32_t* rank() const { return rank_.get(); }

 private:
  size_t count_ = 0, tails_ = 0;
  std::vector<uint32_t> host_mask_, host_rank_;  // for tails_before
  Buffer<uint32_t> mask_, rank_;
};

// PointFault collects the first invalid point of a series of conversions.
class PointFault {
 public:
  explicit PointFault(cudaStream_t s);
  // Begins another series.
  void reset(cudaStream_t s);
  unsigned long long* get() const { return cell_.get(); }
  // Waits for the stream; throws E_POINT with the index (in the section) if a point was not valid.
  void check(cudaStream_t s) const;

 private:
  Buffer<unsigned long long> cell_;
};

// Encoded points to converted ones, on the device, asynchronously: points [first, first + n) of the section from raw, 96
// or 192 bytes each. Those of bits go to bit_points[k - bit_base] if they are the k-th of bits, those of the tail likewise.
template <class F>
void convert_points(const unsigned char* raw, size_t first, size_t n, const SectionSplit& split, Affine<F>* bit_points,
                    size_t bit_base, Affine<F>* tail_points, size_t tail_base, PointCheck check, const PointFault& fault,
                    cudaStream_t s);

// The inverse: affine points to the file's encoding.
template <class F>
void encode_points(unsigned char* raw, const Affine<F>* points, size_t n, cudaStream_t s);

}  // namespace fg
