#include "bitsum_impl.cuh"

namespace fg {

template BitSumPlan bitsum_plan<Fp2>(size_t, size_t);
template XYZZ<Fp2> bitsum_run<Fp2>(const BitSumPlan&, MsmContext&, const Affine<Fp2>*, const uint64_t*, size_t, void*,
                                 cudaStream_t, const Cancel&);

}  // namespace fg
