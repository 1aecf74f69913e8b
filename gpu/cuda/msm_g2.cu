#include "msm_impl.cuh"

namespace fg {

template MsmPlan msm_plan<Fp2>(size_t, const MsmConfig&);
template XYZZ<Fp2> msm_run<Fp2>(const MsmPlan&, MsmContext&, const Affine<Fp2>*, const Fr*, size_t, void*, cudaStream_t,
                                const Cancel&);

}  // namespace fg
