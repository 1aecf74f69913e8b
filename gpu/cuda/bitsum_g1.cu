#include "bitsum_impl.cuh"

namespace fg {

template BitSumPlan bitsum_plan<Fp>(size_t, size_t);
template XYZZ<Fp> bitsum_run<Fp>(const BitSumPlan&, MsmContext&, const Affine<Fp>*, const uint64_t*, size_t, void*,
                                 cudaStream_t, const Cancel&);

}  // namespace fg
