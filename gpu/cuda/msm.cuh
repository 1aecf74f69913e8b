// Multi-scalar multiplication and subset sums over G1 and G2, on data that is resident on the device.
//
// The method: signed windows, one radix sort of (bucket, point) for each group of windows, then a tree of
// batch-affine additions inside every bucket (one shared inversion for many additions), then segmented
// running sums over the buckets. Work is split over pairs of points, never over buckets, so that skewed
// scalars cost no more than uniform ones. Results are exact for every input: infinities, equal and
// opposite points, any scalar.
//
// Nothing here allocates device memory: a plan states the bytes of workspace, the caller owns it. Planning
// and running belong to the same (current) device. The calls are synchronous: they return when the result
// is on the host. F is Fp for G1 and Fp2 for G2.
#pragma once

#include <functional>

#include "device.cuh"
#include "ec.cuh"

namespace fg {

// Multiprocessors of the current device.
inline int device_sms() {
  int dev = 0, sms = 0;
  FG_CUDA(cudaGetDevice(&dev));
  FG_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev));
  return sms;
}

struct MsmConfig {
  int window = 0;     // bits of a window, 1..24; 0 = choose from the size
  size_t budget = 0;  // bytes of workspace that may be planned; 0 = no limit
};

struct MsmPlan {
  size_t n = 0;        // most terms of one call
  size_t chunk = 0;    // terms of one pass; the passes' results are summed
  int window = 0;      // bits
  int windows = 0;     // of one scalar
  int group = 0;       // windows that are sorted and added together
  size_t bytes = 0;    // workspace, 256-byte aligned
};

// Streams, events and the pinned landing zone of one run at a time. Make one for each worker of a device.
class MsmContext {
public:
  MsmContext();
  Stream sort;            // sorts the next group while the main stream adds this one
  Event sorted, consumed;
  Pinned<unsigned char> landing;
  int sms = 0;            // multiprocessors of the device
  // Called after the work of a stage has been put into a stream, to time it; may be empty.
  std::function<void(const char* stage, cudaStream_t)> on_stage;
  void stage(const char* name, cudaStream_t s) const {
    if (on_stage) on_stage(name, s);
  }
};

// msm_plan throws E_MEMORY if the budget does not suffice even for the smallest chunk.
template <class F>
MsmPlan msm_plan(size_t n, const MsmConfig& cfg);

// sum of scalars[i] * points[i], i < n <= plan.n. Points are affine in Montgomery form, infinity all zero;
// scalars are reduced and in Montgomery form. Both stay untouched. Work starts after what is in the stream.
template <class F>
XYZZ<F> msm_run(const MsmPlan& plan, MsmContext& ctx, const Affine<F>* points, const Fr* scalars, size_t n,
                void* workspace, cudaStream_t stream, const Cancel& cancel);

struct BitSumPlan {
  size_t n = 0;      // most points of one call
  size_t chunk = 0;  // points of one pass, a multiple of 64
  size_t bytes = 0;  // workspace
};

template <class F>
BitSumPlan bitsum_plan(size_t n, size_t budget);

// Sum of the points whose bit is set: bit i is bit i%64 of bits[i/64]. Bits at and above n are ignored.
template <class F>
XYZZ<F> bitsum_run(const BitSumPlan& plan, MsmContext& ctx, const Affine<F>* points, const uint64_t* bits, size_t n,
                   void* workspace, cudaStream_t stream, const Cancel& cancel);

extern template MsmPlan msm_plan<Fp>(size_t, const MsmConfig&);
extern template MsmPlan msm_plan<Fp2>(size_t, const MsmConfig&);
extern template XYZZ<Fp> msm_run<Fp>(const MsmPlan&, MsmContext&, const Affine<Fp>*, const Fr*, size_t, void*,
                                     cudaStream_t, const Cancel&);
extern template XYZZ<Fp2> msm_run<Fp2>(const MsmPlan&, MsmContext&, const Affine<Fp2>*, const Fr*, size_t, void*,
                                       cudaStream_t, const Cancel&);
extern template BitSumPlan bitsum_plan<Fp>(size_t, size_t);
extern template BitSumPlan bitsum_plan<Fp2>(size_t, size_t);
extern template XYZZ<Fp> bitsum_run<Fp>(const BitSumPlan&, MsmContext&, const Affine<Fp>*, const uint64_t*, size_t,
                                        void*, cudaStream_t, const Cancel&);
extern template XYZZ<Fp2> bitsum_run<Fp2>(const BitSumPlan&, MsmContext&, const Affine<Fp2>*, const uint64_t*, size_t,
                                          void*, cudaStream_t, const Cancel&);

}  // namespace fg
